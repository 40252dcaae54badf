"""The options of all methods, declared once: every verb that fits or plans has them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_type_hints

import typer

from privbayes.cli.options import a_number, count_from, open_unit, option, positive

__all__ = ["with_knobs"]


def _share(text: str) -> float:
    value = a_number(text)
    if not 0 <= value < 1:
        raise typer.BadParameter(f"{text} does not lie between 0 and 1")
    return value


def _links(value: str | None) -> str | None:
    if value is not None and value != "tree" and not (value.isascii() and value.isdigit()):
        raise typer.BadParameter(f"{value!r} is neither a whole number nor tree")
    return value


def _expert(*names: str, help: str, **settings: Any) -> Any:
    return option(*names, help=help, rich_help_panel="Method (the defaults are sound)", **settings)


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
        parser=open_unit,
        help="Share of the budget spent on finding links; 0.3 if not given.",
    ),
]
Theta = Annotated[
    float | None,
    _expert(
        "--theta",
        metavar="NUMBER",
        parser=positive,
        help="How far counts must stand above their noise; 4 if not given.",
    ),
]
MaxParents = Annotated[
    int | None,
    _expert("--max-parents", metavar="N", parser=count_from(0), help="At most so many parents for a column."),
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
    _expert("--phi", metavar="NUMBER", parser=_share, help="jtree: how strong a link has to be; 0.2 if not given."),
]
Merge = Annotated[
    Literal["auto", "cccp", "none"] | None,
    _expert("--merge", help="jtree: how cliques are merged before their tables are bought; auto if not given."),
]
MaxCandidates = Annotated[
    int | None,
    _expert(
        "--max-candidates",
        metavar="N",
        parser=count_from(1),
        help="At most so many links compared; thinned without reading rows.",
    ),
]
Infer = Annotated[
    Literal["paper", "consistent", "joint"] | None,
    _expert(
        "--infer", help="What is made of the noisy tables: paper (as they are), consistent, or joint (one fit to all)."
    ),
]
Effort = Annotated[
    Literal["quick", "normal", "thorough"] | None,
    _expert("--effort", help="How much time method best may spend for accuracy; normal if not given."),
]
Prior = Annotated[
    str | None,
    option("--prior", metavar="MODEL", help="Start from this model: an earlier release, or of another table."),
]
PriorOf = Annotated[
    Literal["this-table", "another-table"] | None,
    option("--prior-of", help="What the prior is a model of. Budgets of releases of one table add up."),
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


def _read_workload(texts: Sequence[str] | None) -> str | list[list[str]] | None:
    """``pairs`` and ``triples`` as they are; ``age,income`` as a list of columns."""
    if not texts:
        return None
    if len(texts) == 1 and "," not in texts[0]:
        return texts[0]
    return [[name.strip() for name in text.split(",")] for text in texts]


def _read_weights(texts: Sequence[str] | None) -> dict[str, float] | None:
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


def _read_network(path: str | None) -> dict[str, Any] | None:
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


def _read_edges(value: str | None) -> int | str | None:
    """A number of links, or "tree"."""
    return int(value) if value is not None and value != "tree" else value


class _Knob(NamedTuple):
    """An option of the command line, the knob of methods that it sets, and what turns one into the other."""

    annotation: Any
    name: str
    read: Callable[[Any], Any] = lambda value: value


# By the parameter that typer sees, in the order in which --help lists them.
_KNOBS = {
    "encoding": _Knob(Encoding, "encoding"),
    "score": _Knob(Score, "score"),
    "beta": _Knob(Beta, "beta"),
    "theta": _Knob(Theta, "theta"),
    "max_parents": _Knob(MaxParents, "max_parents"),
    "first": _Knob(First, "first"),
    "network": _Knob(Network, "network", _read_network),
    "max_candidates": _Knob(MaxCandidates, "max_candidates"),
    "infer": _Knob(Infer, "infer"),
    "effort": _Knob(Effort, "effort"),
    "edges": _Knob(Edges, "edges", _read_edges),
    "phi": _Knob(Phi, "phi"),
    "merge": _Knob(Merge, "merge"),
    "workload": _Knob(Workload, "workload", _read_workload),
    "target": _Knob(Target, "target"),
    "weight": _Knob(Weight, "weights", _read_weights),
    "prior": _Knob(Prior, "prior"),
    "prior_of": _Knob(PriorOf, "prior_of"),
}


def with_knobs(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb with all knobs as options. It is called with ``knobs``, those that were given; the others are left to
    the method's own defaults.
    """
    own = inspect.signature(verb)
    types = get_type_hints(verb, include_extras=True)
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD

    @wraps(verb)
    def run(**values: Any) -> None:
        read = {knob.name: knob.read(values.pop(parameter)) for parameter, knob in _KNOBS.items()}
        verb(**values, knobs={name: value for name, value in read.items() if value is not None})

    run.__annotations__ = {
        **{name: hint for name, hint in types.items() if name != "knobs"},
        **{parameter: knob.annotation for parameter, knob in _KNOBS.items()},
    }
    run.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=[
            *(p.replace(annotation=types[name]) for name, p in own.parameters.items() if name != "knobs"),
            *(
                inspect.Parameter(parameter, positional, default=None, annotation=knob.annotation)
                for parameter, knob in _KNOBS.items()
            ),
        ],
        return_annotation=None,
    )
    return run
