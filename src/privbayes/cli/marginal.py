"""The verb `marginal`: a table of probabilities straight from a model, without sampling error."""

from __future__ import annotations

from typing import Annotated

import typer

from privbayes.cli.console import remark, show_json, show_table
from privbayes.cli.options import Json, ModelFile, check_target

__all__ = ["marginal"]


def marginal(
    model: ModelFile,
    columns: Annotated[
        list[str],
        typer.Argument(metavar="COLUMNS", help="One or more columns, such as age,income.", show_default=False),
    ],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the table to a file instead.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Show how likely each combination of values is under a model.

    The answer is exact for the model, without sampling error, and costs nothing more.
    """
    if output is not None:
        check_target(output, table=True, as_json=json, reads=[model])
    from privbayes import api

    fitted = api.load(model)
    names = _split(columns, tuple(fitted.schema.columns))
    table = fitted.marginal(names, as_="arrow")
    if output is not None:
        api.write_table(table, output)
        remark(f"Wrote {table.num_rows:,} probabilities to {output}.")
    if json:
        show_json({"columns": names, "cells": table.to_pylist()})
    elif output is None:
        rows = [(*(row[name] for name in names), f"{row['probability']:.6f}") for row in table.to_pylist()]
        show_table((*names, "probability"), rows, right=(len(names),))


def _split(arguments: list[str], known: tuple[str, ...]) -> list[str]:
    """Column names parted by commas, unless a comma belongs to the name."""
    names = [part for given in arguments for part in ([given] if given in known else given.split(","))]
    return [name if name in known else name.strip() for name in names]
