"""The page in a real browser, on a real daemon.

A package, so that its fixtures can end with its last test: Playwright's event loop runs as long as its browser does, and no
other test could have one.
"""
