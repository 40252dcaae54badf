"""The verb `synthesize`: fit and sample in one go."""

from __future__ import annotations

from typing import Annotated

import typer

from privbayes.cli.console import show_json
from privbayes.cli.fit import fit_model
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
    Neighbours,
    Network,
    Phi,
    Prior,
    PriorOf,
    Rows,
    Score,
    Seed,
    SourceTable,
    TableOut,
    Target,
    Theta,
    UsedSchema,
    Weight,
    Where,
    Workload,
    check_target,
    conditions,
    read_edges,
    read_network,
    read_weights,
    read_workload,
)
from privbayes.cli.sample import write_sample

__all__ = ["synthesize"]


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
    """Fit a table and draw synthetic rows in one go.

    Keep the model with --model: fitting again would spend the budget again.
    """
    check_target(output, table=True, as_json=json)
    if model is not None:
        check_target(model, table=False, option="--model")
    wanted = conditions(where)
    fitted = fit_model(
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
    if model is not None:
        fitted.save(model)
    result = write_sample(fitted, output, rows, wanted, seed)
    if json:
        show_json({**result, "model": model, **fitted.describe()})
