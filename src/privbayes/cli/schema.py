"""The verbs `schema draft` and `schema check`: propose a schema from a table, and compare a table with one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privbayes.cli.console import printable, remark, show_json
from privbayes.cli.options import Json, SourceTable, UsedSchema, check_target

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Draft a schema from a table, or check a table against one.")


@app.command("draft")
def draft(
    table: SourceTable,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The schema file to write, or - for stdout.")
    ] = "-",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing schema file.")] = False,
    json: Json = False,
) -> None:
    """Propose a schema from a table.

    This reads the rows: the draft is not private until you have reviewed it.
    """
    if output != "-":
        check_target(output, table=False, reads=[table])
        if Path(output).exists() and not force:
            hint = "give another name, or --force to replace it"
            raise typer.BadParameter(f"{output!r} exists and may hold your review; {hint}", param_hint="--output")
    from privbayes import api

    schema = api.draft_schema(table)
    if output != "-":
        schema.save(output)
        remark(f"Wrote {output}. Review every line, then: privbayes schema check {table} -s {output}")
    if json:
        show_json({"schema": schema.to_dict(), "output": None if output == "-" else output, "private": False})
    elif output == "-":
        print(schema.to_yaml(), end="")


@app.command("check")
def check(table: SourceTable, schema: UsedSchema, json: Json = False) -> None:
    """Say whether a table fits a schema.

    Each problem names a column and a rule, never a cell. The exit code is 1 if there are any.
    """
    from privbayes import api

    problems = [str(problem) for problem in api.check_schema(table, api.Schema.load(schema))]
    if json:
        show_json({"ok": not problems, "problems": problems})
    elif problems:
        for problem in problems:
            print(printable(problem))
    else:
        print("The table fits the schema.")
    if problems:
        raise typer.Exit(1)
