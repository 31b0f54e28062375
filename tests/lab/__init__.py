"""The lab: the real agents, offline, against a scripted model on loopback.

    install.py      the programs, from npm, pinned and cached
    script.py       what the model says
    model.py        the server that says it, in the three model APIs (apis/)
    amp_server.py   the rest of the server that Amp needs
    mcp_server.py   a tool server for agents that take one
    agents/         each agent: its configuration and the names of its tools
"""
