"""The arguments that several verbs share: declared, explained and checked once."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

__all__ = [
    "Beta",
    "Delta",
    "Edges",
    "Effort",
    "Encoding",
    "Engine",
    "Epsilon",
    "First",
    "Infer",
    "Json",
    "MaxCandidates",
    "MaxParents",
    "Merge",
    "Method",
    "ModelFile",
    "ModelOut",
    "Neighbours",
    "Network",
    "Phi",
    "Prior",
    "PriorOf",
    "Rows",
    "Score",
    "Seed",
    "SourceTable",
    "TableOut",
    "Target",
    "Theta",
    "UsedSchema",
    "Weight",
    "Where",
    "Workload",
    "check_method",
    "check_positive",
    "check_target",
    "conditions",
    "given",
    "read_edges",
    "read_network",
    "read_weights",
    "read_workload",
]

TABLE_ENDINGS = (".csv", ".csv.gz", ".parquet", ".arrow", ".feather")


def check_positive(value: float | None) -> float | None:
    """Budgets and thresholds: finite and above 0."""
    if value is not None and not (math.isfinite(value) and value > 0):
        raise typer.BadParameter(f"{value} is not a finite number above 0")
    return value


def _open_unit(value: float | None) -> float | None:
    if value is not None and not 0 < value < 1:
        raise typer.BadParameter(f"{value} does not lie strictly between 0 and 1")
    return value


def _share(value: float | None) -> float | None:
    if value is not None and not 0 <= value < 1:
        raise typer.BadParameter(f"{value} does not lie between 0 and 1")
    return value


def _links(value: str | None) -> str | None:
    if value is not None and value != "tree" and not (value.isascii() and value.isdigit()):
        raise typer.BadParameter(f"{value!r} is neither a whole number nor tree")
    return value


def _argument(metavar: str, help: str) -> Any:
    return typer.Argument(metavar=metavar, help=help, show_default=False)


def _option(*names: str, help: str, **settings: Any) -> Any:
    return typer.Option(*names, help=help, **{"show_default": False, **settings})


def _expert(*names: str, help: str, **settings: Any) -> Any:
    return _option(*names, help=help, rich_help_panel="Method (the defaults are sound)", **settings)


SourceTable = Annotated[
    str, _argument("TABLE", "The private table: .csv, .csv.gz, .parquet, .arrow, or - for CSV on stdin.")
]
ModelFile = Annotated[str, _argument("MODEL", "A model file, made by `privbayes fit`.")]
UsedSchema = Annotated[str, _option("--schema", "-s", metavar="FILE", help="The schema file that describes the table.")]
TableOut = Annotated[
    str,
    _option(
        *("--output", "-o"),
        metavar="FILE",
        help="Where the rows go: .csv, .csv.gz, .parquet, .arrow, or - for CSV on stdout.",
    ),
]
ModelOut = Annotated[str, _option("--output", "-o", metavar="MODEL", help="The model file to write, such as m.pbm.")]
Rows = Annotated[
    int | None, _option("--rows", "-n", metavar="N", min=1, help="How many rows; as many as were fitted if not given.")
]
Where = Annotated[
    list[str] | None,
    _option("--where", metavar="COLUMN=VALUE", help="Only such rows; repeat for more. COLUMN= means a missing value."),
]
Seed = Annotated[
    int | None, _option("--seed", metavar="N", min=0, help="Draw the same rows again from the same model.")
]
Json = Annotated[bool, _option("--json", help="Print the result as JSON, for programs.")]

Epsilon = Annotated[
    float,
    _option(
        "--epsilon",
        "-e",
        metavar="NUMBER",
        callback=check_positive,
        help="Privacy budget: smaller protects more; 1 is common.",
    ),
]
Delta = Annotated[
    float | None,
    _option(
        "--delta",
        metavar="NUMBER",
        callback=_open_unit,
        help="Accept more leakage with this tiny chance (1e-9), for less noise.",
    ),
]
Neighbours = Annotated[
    Literal["replace", "add-remove"],
    _option(
        "--neighbours", help="What to hide of a person: what a row says, or also that it is there.", show_default=True
    ),
]
Method = Annotated[str, _option("--method", metavar="NAME", help="How the model is made.", show_default=True)]
Engine = Annotated[str, _option("--engine", metavar="NAME", help="What counts the rows.", show_default=True)]

Encoding = Annotated[
    Literal["hierarchical", "vanilla", "binary", "gray"] | None,
    _expert("--encoding", help="How columns become attributes; hierarchical if not given."),
]
Score = Annotated[
    Literal["auto", "I", "F", "R"] | None,
    _expert("--score", help="How links are compared: I, F or R; F if all columns have two values, else R."),
]
Beta = Annotated[
    float | None,
    _expert(
        "--beta",
        metavar="NUMBER",
        callback=_open_unit,
        help="Share of the budget spent on finding links; 0.3 if not given.",
    ),
]
Theta = Annotated[
    float | None,
    _expert(
        "--theta",
        metavar="NUMBER",
        callback=check_positive,
        help="How far counts must stand above their noise; 4 if not given.",
    ),
]
MaxParents = Annotated[
    int | None, _expert("--max-parents", metavar="N", min=0, help="At most so many parents for a column.")
]
First = Annotated[str | None, _expert("--first", metavar="COLUMN", help="The column that the network starts from.")]
Network = Annotated[
    str | None,
    _expert("--network", metavar="FILE", help="Use these links (JSON: each column and its parents); none are bought."),
]
Edges = Annotated[
    str | None,
    _expert("--edges", metavar="N|tree", callback=_links, help="jtree: so many links, or as many as make a tree."),
]
Phi = Annotated[
    float | None,
    _expert("--phi", metavar="NUMBER", callback=_share, help="jtree: how strong a link has to be; 0.2 if not given."),
]
Merge = Annotated[
    Literal["auto", "cccp", "none"] | None,
    _expert("--merge", help="jtree: how cliques are merged before their tables are bought; auto if not given."),
]
Infer = Annotated[
    Literal["paper", "consistent", "joint"] | None,
    _expert("--infer", help="How noisy tables become a model; as in the method's paper if not given."),
]
MaxCandidates = Annotated[
    int | None,
    _expert(
        "--max-candidates", metavar="N", min=1, help="At most so many links compared; thinned without reading rows."
    ),
]
Effort = Annotated[
    Literal["quick", "normal", "thorough"] | None,
    _expert("--effort", help="How much time method best may spend for accuracy; normal if not given."),
]
Prior = Annotated[
    str | None,
    _option("--prior", metavar="MODEL", help="Start from this model: an earlier release, or of another table."),
]
PriorOf = Annotated[
    Literal["this-table", "another-table"] | None,
    _option("--prior-of", help="What the prior is a model of. Budgets of releases of one table add up."),
]

Workload = Annotated[
    list[str] | None,
    _expert(
        *("--workload",),
        metavar="WHAT",
        help="What is to be right: pairs (the default), triples, or two or three columns, as A,B; repeat for more.",
    ),
]
Target = Annotated[
    str | None, _expert("--target", metavar="COLUMN", help="A column that is to be predicted from the others.")
]
Weight = Annotated[
    list[str] | None,
    _expert("--weight", metavar="COLUMN=NUMBER", help="How much a column counts, 1 if not given; repeat for more."),
]


def given(**options: Any) -> dict[str, Any]:
    """The options that were given; the others are left to the method's own defaults."""
    return {name: value for name, value in options.items() if value is not None}


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


def read_workload(texts: Sequence[str] | None) -> str | list[list[str]] | None:
    """``pairs`` and ``triples`` as they are; ``age,income`` as a list of columns."""
    if not texts:
        return None
    if len(texts) == 1 and "," not in texts[0]:
        return texts[0]
    return [[name.strip() for name in text.split(",")] for text in texts]


def read_weights(texts: Sequence[str] | None) -> dict[str, float] | None:
    """From ``age=2`` to ``{"age": 2.0}``."""
    weights: dict[str, float] = {}
    for text in texts or ():
        column, _, number = text.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            column = ""
        if not column:
            raise typer.BadParameter(f"{text!r} is not of the form COLUMN=NUMBER", param_hint="--weight")
        if column in weights:
            raise typer.BadParameter(f"column {column!r} is given twice", param_hint="--weight")
        weights[column] = weight
    return weights or None


def read_network(path: str | None) -> dict[str, Any] | None:
    """Links from a JSON file, such as ``{"age": [], "income": ["age"]}`` or what `inspect --json` printed."""
    if path is None:
        return None
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError:
        raise typer.BadParameter(f"{path!r} is not a JSON file", param_hint="--network") from None
    links = found.get("network", found) if isinstance(found, dict) else None
    if not isinstance(links, dict) or not all(isinstance(parents, list) for parents in links.values()):
        example = '{"age": [], "income": ["age"]}'
        raise typer.BadParameter(f"{path!r} must give each column a list of parents: {example}", param_hint="--network")
    return {
        child: [parent if isinstance(parent, str) else _generalised(parent, path) for parent in parents]
        for child, parents in links.items()
    }


def _generalised(parent: object, path: str) -> tuple[str, int]:
    match parent:
        case [str(name), int(level)] if not isinstance(level, bool):
            return name, level
    raise typer.BadParameter(f'{path!r}: a parent is a name, or a pair like ["age", 1]', param_hint="--network")


def read_edges(value: str | None) -> int | str | None:
    """A number of links, or "tree"."""
    return int(value) if value is not None and value != "tree" else value


def check_method(method: str, known: Iterable[str]) -> None:
    """An unknown method is wrong use, known before anything is read."""
    if method not in known:
        raise typer.BadParameter(f"there is no method {method!r}; there are: {', '.join(known)}", param_hint="--method")


def check_engine(engine: str, known: Iterable[str]) -> None:
    """An unknown engine is wrong use too."""
    if engine not in known:
        raise typer.BadParameter(f"there is no engine {engine!r}; there are: {', '.join(known)}", param_hint="--engine")


def check_target(path: str, *, table: bool, option: str = "--output", as_json: bool = False) -> None:
    """Refuse a file that cannot be written before any work is done, or any budget spent."""
    if path == "-":
        if not table:
            raise typer.BadParameter("a model cannot go to stdout; name a file", param_hint=option)
        if as_json:
            raise typer.BadParameter("rows and --json cannot share stdout; name a file", param_hint=option)
        return
    target = Path(path)
    if not path or target.is_dir():
        raise typer.BadParameter(f"{path!r} is a folder; name a file in it", param_hint=option)
    if not target.parent.is_dir():
        raise typer.BadParameter(f"the folder {str(target.parent)!r} does not exist; make it first", param_hint=option)
    if table and not target.name.lower().endswith(TABLE_ENDINGS):
        raise typer.BadParameter(f"{target.name!r} does not end in {', '.join(TABLE_ENDINGS)}", param_hint=option)
