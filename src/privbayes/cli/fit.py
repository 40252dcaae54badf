"""The verb `fit`: learn a private model from a table and save it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from privbayes.cli.console import progress, remark, show_json
from privbayes.cli.options import (
    Beta,
    Delta,
    Edges,
    Effort,
    Encoding,
    Engine,
    Epsilon,
    First,
    Infer,
    Json,
    MaxCandidates,
    MaxParents,
    Merge,
    Method,
    ModelOut,
    Neighbours,
    Network,
    Phi,
    Prior,
    PriorOf,
    Score,
    SourceTable,
    Target,
    Theta,
    UsedSchema,
    Weight,
    Workload,
    check_engine,
    check_method,
    check_target,
    given,
    read_edges,
    read_network,
    read_weights,
    read_workload,
)

if TYPE_CHECKING:
    from privbayes.api import Model

__all__ = ["fit", "fit_model"]


def fit(
    table: SourceTable,
    schema: UsedSchema,
    epsilon: Epsilon,
    output: ModelOut,
    delta: Delta = None,
    method: Method = "best",
    neighbours: Neighbours = "replace",
    engine: Engine = "memory",
    encoding: Encoding = None,
    score: Score = None,
    beta: Beta = None,
    theta: Theta = None,
    max_parents: MaxParents = None,
    first: First = None,
    network: Network = None,
    max_candidates: MaxCandidates = None,
    effort: Effort = None,
    edges: Edges = None,
    phi: Phi = None,
    merge: Merge = None,
    infer: Infer = None,
    workload: Workload = None,
    target: Target = None,
    weight: Weight = None,
    prior: Prior = None,
    prior_of: PriorOf = None,
    json: Json = False,
) -> None:
    """Learn a private model from a table.

    Every fit spends its whole budget: two fits of a table with epsilon 1 are one release with epsilon 2.
    """
    check_target(output, table=False)
    model = fit_model(
        table,
        schema,
        method=method,
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
        engine=engine,
        encoding=encoding,
        score=score,
        beta=beta,
        theta=theta,
        max_parents=max_parents,
        first=first,
        network=read_network(network),
        max_candidates=max_candidates,
        effort=effort,
        edges=read_edges(edges),
        phi=phi,
        merge=merge,
        infer=infer,
        workload=read_workload(workload),
        target=target,
        weights=read_weights(weight),
        prior=prior,
        prior_of=prior_of,
    )
    model.save(output)
    if json:
        show_json({"output": output, **model.describe()})
    else:
        remark(f"Wrote {output}. Next: privbayes inspect {output}, or privbayes sample {output} -o synthetic.csv")


def fit_model(table: str, schema: str, *, method: str, **settings: Any) -> Model:
    """Fit with a progress bar; settings that were not given are left to the method's own defaults."""
    from privbayes import api

    check_method(method, api.METHODS)
    check_engine(str(settings["engine"]), api.engine_names())
    with progress() as report:
        return api.fit(table, api.Schema.load(schema), method=method, progress=report, **given(**settings))
