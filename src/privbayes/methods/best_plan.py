"""The plan of `best`: the whole fit, rehearsed on an imagined table with noise of the real scale."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbayes.core.domain import Domain
from privbayes.counts.backend import CountingBackend
from privbayes.methods.imagined import ImaginedTable, RehearsedNoise
from privbayes.methods.plan import Plan
from privbayes.methods.rehearsal import rehearsal_generator
from privbayes.model.joint import JointModel
from privbayes.privacy.budget import PrivacyBudget
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.released import Receipt
from privbayes.privacy.unit import PrivacyUnit

__all__ = ["rehearse"]

_PURPOSES = {"number": "number of rows", "errors": "errors of all pairs"}
_TIMES = 3
_WIDE = 60  # columns, above which once has to do
_WORST = 5
_EACH = 100_000  # pairs listed one by one


def rehearse(
    fit: Callable[[CountingBackend, Ledger], tuple[JointModel, int]],
    domain: Domain,
    *,
    n: int,
    budget: PrivacyBudget,
    unit: PrivacyUnit,
    encoding: str,
) -> Plan:
    """What ``fit`` buys of a table of ``n`` made-up rows, and how far the model then is from them: the mean of a few
    rehearsals, of which the last one's purchases are shown.
    """
    rng = rehearsal_generator()
    columns, pairs = np.zeros(len(domain)), np.zeros(0)
    times = _TIMES if len(domain) <= _WIDE else 1
    for _ in range(times):
        table = ImaginedTable(domain, n, rng)
        ledger = Ledger(budget, unit, RehearsedNoise(rng))
        model, _ = fit(table, ledger)
        columns = columns + _column_errors(table, model) / times
        pairs = (pairs if len(pairs) else 0.0) + _pair_errors(table, model) / times
    tables = [released for _, released in model.tables]
    costs = _by_purpose(ledger.receipts)
    noise = sorted(released.expected_absolute_noise for released in tables)
    bought = costs["noisy tables"]
    return Plan(
        method="best",
        n_rows=n,
        epsilon=budget.epsilon,
        delta=budget.delta,
        rho=None if budget.is_pure else float(budget.total()),
        neighbours=unit.neighbours,
        form="joint",
        encoding=encoding,
        tables=len(tables),
        share_a_table=float(bought / len(tables)) if tables else 0.0,
        noise="discrete laplace" if budget.is_pure else "discrete gaussian",
        noise_scale=float(np.median([released.scale * released.unit for released in tables])) if tables else 0.0,
        expected_cell_noise=float(np.median(noise)) if noise else 0.0,
        columns=tuple(
            {"name": name, "values": size, "expected_error": float(error)}
            for name, size, error in zip(domain.names, domain.cardinalities, columns, strict=True)
        ),
        pairs=_pairs(model, pairs),
        details=_details(costs, ledger.total, model),
        notes=tuple(_notes(unit, noise, n)),
    )


def _purpose(receipt: Receipt) -> str:
    return _PURPOSES.get(receipt.label.partition(" ")[0], "noisy tables")


def _by_purpose(receipts: Sequence[Receipt]) -> Mapping[str, Fraction]:
    costs: dict[str, Fraction] = defaultdict(Fraction)
    for receipt in receipts:
        costs[_purpose(receipt)] += receipt.cost
    return costs


def _details(costs: Mapping[str, Fraction], total: Fraction, model: JointModel) -> dict[str, Any]:
    shares = {
        f"budget for {purpose}": f"{float(cost / total):.0%}"
        for purpose, cost in costs.items()
        if purpose != "noisy tables" and cost
    }
    sets = [frozenset(axes) for axes, _ in model.tables]
    named = {"one column": (1, 1), "two columns": (2, 2), "more columns": (3, len(model.domain))}
    found = {f"tables of {name}": [s for s in sets if low <= len(s) <= high] for name, (low, high) in named.items()}
    return {
        **shares,
        **{
            what: f"{len(set(some))}" + (f", in {len(some)} purchases" if len(some) > len(set(some)) else "")
            for what, some in found.items()
            if some
        },
        "largest clique": f"{max(map(len, model.tree.cliques)) if len(model.domain) else 0} columns",
    }


def _distance(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return 0.5 * float(np.abs(one - other).sum())


def _column_errors(table: ImaginedTable, model: JointModel) -> NDArray[np.float64]:
    return np.array([_distance(model.marginal([a]), table.shares((a,))) for a in range(len(model.domain))])


def _pair_errors(table: ImaginedTable, model: JointModel) -> NDArray[np.float64]:
    pairs, flat = model.pairs, model.pair_tables
    return np.array([_distance(pairs.table(flat, k), table.shares(pair)) for k, pair in enumerate(pairs.members)])


def _pairs(model: JointModel, errors: NDArray[np.float64]) -> dict[str, Any]:
    domain = model.domain
    together = {
        frozenset((int(domain.axis_attribute[a]), int(domain.axis_attribute[b])))
        for axes, _ in model.tables
        for i, a in enumerate(axes)
        for b in axes[:i]
    }
    order = np.argsort(-errors, kind="stable")
    each = [
        {"columns": [domain.names[a] for a in model.pairs.members[k]], "expected_error": float(errors[k])}
        for k in order.tolist()
    ]
    return {
        "together_in_a_table": len(together),
        "of": len(domain) * (len(domain) - 1) // 2,
        "mean_expected_error": float(errors.mean()) if len(errors) else None,
        "mean_is_over": "all pairs",
        "worst": each[:_WORST],
        "each": each[:_EACH],
    }


def _notes(unit: PrivacyUnit, noise: Sequence[float], n: int) -> list[str]:
    notes = [
        "which tables are bought depends on what the table shows: this is a rehearsal on a made-up one with this"
        " schema, and its errors are those of the rehearsal"
    ]
    if not unit.n_is_public:
        notes.append("the number of rows is private: a part of the budget buys a noisy one")
    if noise and min(noise) > n:
        notes.append("the noise is larger than the table: raise epsilon or collect more rows")
    return notes
