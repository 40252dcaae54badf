"""The verb `fit`: learn a private model from a table and save it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from privbayes.cli.console import progress, remark, show_json
from privbayes.cli.knobs import with_knobs
from privbayes.cli.options import (
    Delta,
    Engine,
    Epsilon,
    Json,
    Method,
    ModelOut,
    Neighbours,
    SourceTable,
    UsedSchema,
    check_engine,
    check_method,
    check_target,
)

if TYPE_CHECKING:
    from privbayes.api import Model

__all__ = ["fit", "fit_model"]


@with_knobs
def fit(
    table: SourceTable,
    schema: UsedSchema,
    epsilon: Epsilon,
    output: ModelOut,
    delta: Delta = None,
    method: Method = "best",
    neighbours: Neighbours = "replace",
    engine: Engine = "memory",
    json: Json = False,
    *,
    knobs: dict[str, Any],
) -> None:
    """Learn a private model from a table.

    Every fit spends its whole budget: two fits of a table with epsilon 1 are one release with epsilon 2.
    """
    check_target(output, table=False, reads=[table, schema])
    model = fit_model(
        table,
        schema,
        method=method,
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
        engine=engine,
        **knobs,
    )
    model.save(output)
    if json:
        show_json({"output": output, **model.describe()})
    else:
        remark(f"Wrote {output}. Next: privbayes inspect {output}, or privbayes sample {output} -o synthetic.csv")


def fit_model(table: str, schema: str, *, method: str, **settings: Any) -> Model:
    """Fit with a progress bar."""
    from privbayes import api

    check_method(method, api.METHODS)
    check_engine(str(settings["engine"]), api.engine_names())
    with progress() as report:
        return api.fit(table, api.Schema.load(schema), method=method, progress=report, **settings)
