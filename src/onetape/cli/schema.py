"""`onetape schema`: the events for programs, as JSON Schema or as TypeScript."""

from typing import Annotated

import typer


def schema(
    typescript: Annotated[bool, typer.Option("--typescript", help="TypeScript types instead of JSON Schema.")] = False,
) -> None:
    """Print the JSON Schema of the events."""
    from onetape import schemas

    print(schemas.typescript() if typescript else schemas.json_schema())
