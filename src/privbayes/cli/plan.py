"""The verb `plan`: what a fit would buy and how far off it would be, before any row is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privbayes.cli.console import counted, heading, number, paragraph, show_json, show_pairs, show_table
from privbayes.cli.knobs import with_knobs
from privbayes.cli.options import (
    Delta,
    Epsilon,
    HowManyRows,
    Json,
    Method,
    Neighbours,
    UsedSchema,
    check_method,
)

__all__ = ["plan"]


@with_knobs
def plan(
    schema: UsedSchema,
    rows: HowManyRows,
    epsilon: Epsilon,
    delta: Delta = None,
    method: Method = "best",
    neighbours: Neighbours = "replace",
    json: Json = False,
    *,
    knobs: dict[str, Any],
) -> None:
    """Show what a fit would buy, and the error to expect, before any row is read.

    Needs only the schema, the number of rows and the budget. Nothing is spent.
    """
    from privbayes import api

    check_method(method, api.METHODS)
    result = api.plan(
        api.Schema.load(schema), rows, epsilon=epsilon, delta=delta, method=method, neighbours=neighbours, **knobs
    ).to_dict()
    if json:
        show_json(result)
    else:
        _show(result)


def _show(plan: Mapping[str, Any]) -> None:
    budget = f"epsilon {number(plan['epsilon'])}" + (f", delta {plan['delta']:g}" if plan["delta"] else "")
    print(f"A {plan['method']} fit of {counted(plan['n_rows'], 'row')} with {budget} ({plan['neighbours']}) would buy:")
    show_pairs(_bought(plan))
    heading("Error to expect of each column (total variation distance: 0 is exact, 1 is useless)")
    show_table(
        ("column", "values", "expected error"),
        [(column["name"], number(column["values"]), f"{column['expected_error']:.4f}") for column in plan["columns"]],
        right=(1, 2),
    )
    pairs = plan["pairs"]
    if pairs["worst"]:
        shared = f"{number(pairs['together_in_a_table'])} of {number(pairs['of'])} pairs of columns"
        mean = f"{pairs['mean_expected_error']:.4f} on average; the largest:"
        if pairs.get("mean_is_over") == "all pairs":
            heading(f"Error of a pair of columns, whether bought ({shared}) or inferred: {mean}")
        else:
            heading(f"Error of the {shared} that share a noisy table: {mean}")
        show_table(
            ("columns", "expected error"),
            [(" x ".join(pair["columns"]), f"{pair['expected_error']:.4f}") for pair in pairs["worst"]],
            right=(1,),
        )
    print()
    for note in plan["notes"]:
        paragraph(f"Note: {note}.")


def _bought(plan: Mapping[str, Any]) -> list[tuple[str, str]]:
    unit = "epsilon" if plan["rho"] is None else "rho"
    draws = "none" if not plan["draws"] else f"{number(plan['draws'])}, {unit} {number(plan['share_a_draw'])} each"
    thinned = " (thinned without reading rows)" if plan["candidates_thinned"] else ""
    rows = [("choices of links", draws)]
    if plan["draws"]:
        rows.append(("candidates", f"{number(plan['candidates'])} in all, compared by score {plan['score']}{thinned}"))
    if plan["degree"] is not None:
        rows.append(("parents a column", f"at most {number(plan['degree'])}"))
    if plan["cell_limit"] is not None:
        rows.append(("largest table", f"{number(plan['cell_limit'])} cells"))
    rows.append(("noisy tables", f"{number(plan['tables'])}, {unit} {number(plan['share_a_table'])} each"))
    noise = f"{plan['noise']} of scale {number(plan['noise_scale'])}: {number(plan['expected_cell_noise'])} rows off"
    rows.append(("noise in a cell", f"{noise} on average"))
    rows += [(name.replace("_", " "), _plain(value)) for name, value in plan["details"].items()]
    return rows


def _plain(value: object) -> str:
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
