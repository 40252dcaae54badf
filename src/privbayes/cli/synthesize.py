"""The verb `synthesize`: fit and sample in one go."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from privbayes.cli.console import show_json
from privbayes.cli.fit import fit_model
from privbayes.cli.knobs import with_knobs
from privbayes.cli.options import (
    Delta,
    Engine,
    Epsilon,
    Json,
    Method,
    Neighbours,
    Rows,
    Seed,
    SourceTable,
    TableOut,
    UsedSchema,
    Where,
    check_target,
    conditions,
)
from privbayes.cli.sample import write_sample

__all__ = ["synthesize"]


@with_knobs
def synthesize(
    table: SourceTable,
    schema: UsedSchema,
    epsilon: Epsilon,
    output: TableOut,
    model: Annotated[str | None, typer.Option("--model", metavar="MODEL", help="Keep the model in this file.")] = None,
    rows: Rows = None,
    where: Where = None,
    seed: Seed = None,
    delta: Delta = None,
    method: Method = "best",
    neighbours: Neighbours = "replace",
    engine: Engine = "memory",
    json: Json = False,
    *,
    knobs: dict[str, Any],
) -> None:
    """Fit a table and draw synthetic rows in one go.

    Keep the model with --model: fitting again would spend the budget again.
    """
    check_target(output, table=True, as_json=json, reads=[table, schema])
    if model is not None:
        check_target(model, table=False, option="--model", reads=[table, schema, output])
    wanted = conditions(where)
    fitted = fit_model(
        table,
        schema,
        method=method,
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
        engine=engine,
        **knobs,
    )
    if model is not None:
        fitted.save(model)
    result = write_sample(fitted, output, rows, wanted, seed)
    if json:
        show_json({**result, "model": model, **fitted.describe()})
