"""The verb `inspect`: what a model file holds, promises and cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from privbayes.cli.console import counted, heading, number, printable, show_json, show_pairs, show_table
from privbayes.cli.options import Json, ModelFile

__all__ = ["inspect", "show_spending"]

_PURPOSES = {
    "choice": "choosing links",
    "pair": "choosing pairs of columns",
    "errors": "errors of all pairs",
    "table": "noisy tables",
    "number": "number of rows",
}


def inspect(model: ModelFile, json: Json = False) -> None:
    """Show what a model promises, what it cost and how it links the columns."""
    from privbayes import api

    fitted = api.load(model)
    description = fitted.describe()
    if json:
        show_json(description)
        return
    print(f"{printable(model)}: {description['method']}, {len(fitted.schema.columns)} columns, ", end="")
    print(f"fitted to {counted(description['n_rows'], 'row')}")
    show_pairs([("guarantee", description["guarantee"]["sentence"])])
    show_spending(description)
    if "network" in description:
        heading("Links: each column and what it is drawn from (a level means its groups in the schema)")
        for child, parents in description["network"].items():
            names = ", ".join(f"{name} (level {level})" if level else name for name, level in parents)
            print(printable(f"  {child} <- {names}" if names else f"  {child}"))
    if "trees" in description:
        _show_trees(description["trees"])
    if "cliques" in description:
        heading("Cliques: columns that are drawn together, each set after what it shares with those above")
        for clique in description["cliques"]:
            print(printable("  " + ", ".join(clique)))
    heading("Noisy tables: the only counts in the model")
    show_table(
        ("columns", "cells", "noise per cell (rows, on average)"),
        [
            (" x ".join(table["columns"]), number(table["cells"]), number(table["expected_absolute_noise"]))
            for table in description["tables"]
        ],
        right=(1, 2),
    )


def _show_trees(trees: Sequence[Mapping[str, Any]]) -> None:
    """Which columns are modelled together, and whether the fits had come to rest."""
    heading("Groups of columns that the rows are drawn by, each given what it shares with one before it")
    for clique in trees[0]["cliques"]:
        print(printable("  " + ", ".join(clique)))
    heading("Fits (further trees correct pairs that no group holds; slope: in deviations of a count, 0 at rest)")
    show_table(
        ("tree", "cells", "passes", "slope left", ""),
        [
            (
                k + 1,
                number(tree["fit"]["cells"]),
                number(tree["fit"]["passes"]),
                f"{tree['fit']['slope']:.2g}",
                "converged" if tree["fit"]["converged"] else "stopped after its passes",
            )
            for k, tree in enumerate(trees)
        ],
        right=(0, 1, 2, 3),
    )


def _purpose(label: str) -> str:
    """What a receipt was for; interaction parts of tables are told apart by how many columns they have."""
    word, _, rest = label.partition(" ")
    if word == "interaction":
        return "noisy tables" if " x " in rest else "noisy columns"
    return _PURPOSES.get(word, label)


def show_spending(description: Mapping[str, Any]) -> None:
    """What was bought, grouped by purpose, and the part of the budget that each took."""
    groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for receipt in description["receipts"]:
        groups[_purpose(receipt["label"])].append(receipt)
    unit = description["spent"]["unit"]
    heading(f"What was bought ({number(description['spent']['sum_of_receipts'])} {unit} in all)")
    show_table(
        ("for", "spends", unit, "by"),
        [
            (
                purpose,
                number(len(receipts)),
                f"{sum(receipt['cost'] for receipt in receipts):.4f}",
                ", ".join(sorted({receipt["mechanism"] for receipt in receipts})),
            )
            for purpose, receipts in groups.items()
        ],
        right=(1, 2),
    )
