"""The arguments that several verbs share: declared, explained and checked once."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

__all__ = [
    "Delta",
    "Engine",
    "Epsilon",
    "HowManyRows",
    "Json",
    "Method",
    "ModelFile",
    "ModelOut",
    "Neighbours",
    "Rows",
    "Seed",
    "SourceTable",
    "TableOut",
    "UsedSchema",
    "Where",
    "a_number",
    "check_engine",
    "check_method",
    "check_target",
    "conditions",
    "count_from",
    "open_unit",
    "option",
    "positive",
]

TABLE_ENDINGS = (".csv", ".csv.gz", ".parquet", ".arrow", ".feather")


def positive(text: str) -> float:
    """Budgets and thresholds: finite and above 0."""
    value = a_number(text)
    if not (math.isfinite(value) and value > 0):
        raise typer.BadParameter(f"{text} is not a finite number above 0")
    return value


def open_unit(text: str) -> float:
    """Strictly between 0 and 1."""
    value = a_number(text)
    if not 0 < value < 1:
        raise typer.BadParameter(f"{text} does not lie strictly between 0 and 1")
    return value


def a_number(text: str) -> float:
    """Any number."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None


def count_from(least: int) -> Callable[[str], int]:
    """A parser of whole numbers that are not below ``least``."""

    def whole(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise typer.BadParameter(f"{text!r} is not a whole number") from None
        if value < least:
            raise typer.BadParameter(f"{value} is less than {least}")
        return value

    return whole


def _argument(metavar: str, help: str) -> Any:
    return typer.Argument(metavar=metavar, help=help, show_default=False)


def option(*names: str, help: str, **settings: Any) -> Any:
    """An option whose default goes without saying."""
    return typer.Option(*names, help=help, **{"show_default": False, **settings})


SourceTable = Annotated[
    str, _argument("TABLE", "The private table: .csv, .csv.gz, .parquet, .arrow, or - for CSV on stdin.")
]
ModelFile = Annotated[str, _argument("MODEL", "A model file, made by `privbayes fit`.")]
UsedSchema = Annotated[str, option("--schema", "-s", metavar="FILE", help="The schema file that describes the table.")]
TableOut = Annotated[
    str,
    option(
        *("--output", "-o"),
        metavar="FILE",
        help="Where the rows go: .csv, .csv.gz, .parquet, .arrow, or - for CSV on stdout.",
    ),
]
ModelOut = Annotated[str, option("--output", "-o", metavar="MODEL", help="The model file to write, such as m.pbm.")]
Rows = Annotated[
    int | None,
    option(
        "--rows", "-n", metavar="N", parser=count_from(1), help="How many rows; as many as were fitted if not given."
    ),
]
HowManyRows = Annotated[int, option("--rows", metavar="N", parser=count_from(1), help="How many rows the table has.")]
Where = Annotated[
    list[str] | None,
    option("--where", metavar="COLUMN=VALUE", help="Only such rows; repeat for more. COLUMN= means a missing value."),
]
Seed = Annotated[
    int | None,
    option("--seed", metavar="N", parser=count_from(0), help="Draw the same rows again from the same model."),
]
Json = Annotated[bool, option("--json", help="Print the result as JSON, for programs.")]

Epsilon = Annotated[
    float,
    option(
        "--epsilon",
        "-e",
        metavar="NUMBER",
        parser=positive,
        help="Privacy budget: smaller protects more; 1 is common.",
    ),
]
Delta = Annotated[
    float | None,
    option(
        "--delta",
        metavar="NUMBER",
        parser=open_unit,
        help="Accept more leakage with this tiny chance (1e-9), for less noise.",
    ),
]
Neighbours = Annotated[
    Literal["replace", "add-remove"],
    option(
        "--neighbours", help="What to hide of a person: what a row says, or also that it is there.", show_default=True
    ),
]
Method = Annotated[
    str,
    option(
        "--method",
        metavar="NAME",
        help="How the model is made: best, privbayes, jtree, privabn, histogram or independent.",
        show_default=True,
    ),
]
Engine = Annotated[str, option("--engine", metavar="NAME", help="What counts the rows.", show_default=True)]


def conditions(texts: Sequence[str] | None) -> dict[str, str | None] | None:
    """From ``sex=Female`` to ``{"sex": "Female"}``; an empty value stands for a missing one."""
    if not texts:
        return None
    where: dict[str, str | None] = {}
    for text in texts:
        column, equals, value = text.partition("=")
        if not (column and equals):
            raise typer.BadParameter(f"{text!r} is not of the form COLUMN=VALUE", param_hint="--where")
        if column in where:
            raise typer.BadParameter(f"column {column!r} is given twice", param_hint="--where")
        where[column] = value or None
    return where


def check_method(method: str, known: Iterable[str]) -> None:
    """An unknown method is wrong use, known before anything is read."""
    if method not in known:
        raise typer.BadParameter(f"there is no method {method!r}; there are: {', '.join(known)}", param_hint="--method")


def check_engine(engine: str, known: Iterable[str]) -> None:
    """An unknown engine is wrong use too."""
    if engine not in known:
        raise typer.BadParameter(f"there is no engine {engine!r}; there are: {', '.join(known)}", param_hint="--engine")


def check_target(
    path: str, *, table: bool, option: str = "--output", as_json: bool = False, reads: Sequence[str] = ()
) -> None:
    """Refuse a file that cannot be written before any work is done, or any budget spent. ``reads`` are the files that
    the command reads: none of them may be replaced by what it writes.
    """
    if path == "-":
        if not table:
            raise typer.BadParameter("a model cannot go to stdout; name a file", param_hint=option)
        if as_json:
            raise typer.BadParameter("rows and --json cannot share stdout; name a file", param_hint=option)
        return
    target = Path(path)
    if not path:
        raise typer.BadParameter("name a file", param_hint=option)
    if target.is_dir():
        raise typer.BadParameter(f"{path!r} is a folder; name a file in it", param_hint=option)
    if not target.parent.is_dir():
        raise typer.BadParameter(f"the folder {str(target.parent)!r} does not exist; make it first", param_hint=option)
    if table and not target.name.lower().endswith(TABLE_ENDINGS):
        raise typer.BadParameter(f"{target.name!r} does not end in {', '.join(TABLE_ENDINGS)}", param_hint=option)
    if any(read != "-" and os.path.realpath(read) == os.path.realpath(path) for read in reads):
        raise typer.BadParameter(f"{path!r} is read by this very command; give another name", param_hint=option)
