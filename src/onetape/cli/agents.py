"""`onetape agents`: which there are, what they speak, and what is shown to work."""

from typing import Annotated

import typer


def agents(
    matrix: Annotated[bool, typer.Option("--matrix", help="The coverage matrix, as a Markdown table.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """List the agents: dialects, tested versions, witnessed features."""
    from onetape import coverage
    from onetape.agents import registry
    from onetape.schema import to_json

    if matrix:
        print(coverage.matrix((agent.name, agent.title) for agent in registry.every()))
        return
    known = [
        {
            "name": agent.name,
            "title": agent.title,
            "dialects": [translator.dialect for translator in agent.translators],
            "versions": list(agent.versions),
            "features": sorted(coverage.of(agent.name)),
        }
        for agent in registry.every()
    ]
    if json:
        for told in known:
            print(to_json(told).decode())
        return
    from rich.console import Console
    from rich.table import Column, Table

    table = Table(Column("agent", no_wrap=True), "", "dialects", "tested with", "features", box=None, pad_edge=False)
    for told in known:
        table.add_row(
            str(told["name"]), str(told["title"]), ", ".join(told["dialects"]), ", ".join(told["versions"]),
            f"{len(told['features'])} of {len(coverage.FEATURES)}",
        )  # fmt: skip
    Console().print(table)
