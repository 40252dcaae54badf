"""`best`: noisy columns, the errors of all pairs at once, a junction tree, residual tables in and out of it, one fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray

from privbayes.core.clique_tree import CliqueTree
from privbayes.core.domain import Domain
from privbayes.core.pairs import Pairs
from privbayes.core.residuals import Coordinates
from privbayes.counts.backend import CountingBackend
from privbayes.errors import UnsupportedError
from privbayes.measure.allocate import Offer, allocate, exact_shares, unit_variance
from privbayes.measure.marginals import MeasuredTable, measure_total
from privbayes.measure.residuals import measure_residuals
from privbayes.methods.plan import Plan
from privbayes.model.columns import column_distribution
from privbayes.model.joint import PAIR_CELLS, PAIRS_CELLS, JointModel
from privbayes.model.max_entropy import Observation, combined, fit_potentials
from privbayes.model.propagation import Propagation
from privbayes.privacy.budget import PrivacyBudget
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.released import Measurement
from privbayes.privacy.unit import PrivacyUnit
from privbayes.structure.pair_errors import GRID, measure_errors
from privbayes.structure.strengths import column_bias, posterior_errors
from privbayes.structure.tree_growth import grow_tree

__all__ = ["BestSpec", "fit", "plan"]

Progress = Callable[[str, int, int], None]
Vector = NDArray[np.float64]

TOTAL = Fraction(4, 100)
COLUMNS = Fraction(10, 100)
ERRORS = Fraction(7, 100)
OUTSIDE = 0.8
CLIQUE_CELLS = 10_000
TREE_CELLS = 200_000


@dataclass(frozen=True, kw_only=True)
class BestSpec:
    """Every knob."""

    encoding: str = "hierarchical"
    clique_cells: int = CLIQUE_CELLS


def observation(domain: Domain, bought: MeasuredTable, strength: float = 0.1) -> Observation:
    axes = bought.axes
    shape = [int(domain.axis_size[a]) for a in axes]
    m = bought.measurement
    coordinates = Coordinates.of(shape, pure=m.noise == "discrete laplace")
    return Observation(
        attributes=tuple(int(domain.axis_attribute[a]) for a in axes),
        table=coordinates.decode(m.values),
        variance=max(m.variance * coordinates.variance_factor, 1e-12),
        strength=strength,
        groups=tuple(domain.axis_codes(a) for a in axes) if any(domain.axis_level(a) for a in axes) else None,
    )


def fit(
    spec: BestSpec, counts: CountingBackend, ledger: Ledger, progress: Progress | None = None
) -> tuple[JointModel, int]:
    domain = counts.domain
    pure = ledger.budget.is_pure
    d = len(domain)
    sizes = domain.cardinalities
    bought: list[MeasuredTable] = []
    n = measure_total(counts, ledger, ledger.total * TOTAL)
    rho_total = None if ledger.unit.n_is_public else float(ledger.total * TOTAL)

    def buy(tables: Sequence[tuple[int, ...]], weights: Vector, share: Fraction) -> None:
        bought.extend(measure_residuals(counts, ledger, tables, exact_shares(weights, share)))

    ones = [(domain.axis(a),) for a in range(d) if sizes[a] > 1]
    first = np.array([(sqrt(sizes[domain.axis_attribute[a]]) * (sizes[domain.axis_attribute[a]] - 1)) ** (2 / 3) for (a,) in ones])
    buy(ones, first, ledger.total * COLUMNS)

    def columns() -> tuple[list[Vector], list[float]]:
        seen = {o.attributes[0]: o for o in combined([observation(domain, b) for b in bought if len(b.axes) == 1])}
        qs, vs = [], []
        for a in range(d):
            if a in seen:
                qs.append(column_distribution(seen[a].table, seen[a].variance, float(n)))
                vs.append(seen[a].variance)
            else:
                qs.append(np.ones(1))
                vs.append(0.0)
        return qs, vs

    q, v = columns()
    pairs = Pairs.of(sizes, most_cells=PAIR_CELLS, most_in_all=PAIRS_CELLS)
    members = [p for p in pairs.members if min(sizes[p[0]], sizes[p[1]]) > 1]
    errors = np.zeros(len(members))
    deviation = 1.0
    if members:
        released = measure_errors(counts, ledger, members, q, n, ledger.total * ERRORS)
        deviation = sqrt(released.variance) / GRID
        noise_total = 0.0 if rho_total is None else 1 / (2 * rho_total)
        variances = [vv * (1 - 1 / r) + noise_total * (qq - 1 / r) ** 2 for qq, vv, r in zip(q, v, sizes, strict=True)]
        bias = column_bias(members, q, variances, n)
        errors = posterior_errors(released.values / GRID, deviation, bias)

    left = float(ledger.remaining)

    def offer(table: tuple[int, ...], error: float, weight: float, precision: float = 0.0) -> Offer:
        shape = tuple(sizes[a] for a in table)
        expected = np.array([float(n)])
        for a in table:
            expected = np.multiply.outer(expected, q[a]).reshape(-1)
        unit = unit_variance(Coordinates.of(shape, pure=pure), ledger.unit, pure=pure)
        return Offer(shape=shape, expected=expected, error=error, weight=weight, unit=unit, precision=precision)

    guess = left / max(1.5 * d, 1)
    weights = np.array([offer(p, e, 1.0).gain(np.array([guess]), pure=pure)[0] for p, e in zip(members, errors, strict=True)])
    tree = grow_tree(sizes, members, weights, clique_cells=spec.clique_cells, total_cells=TREE_CELLS)
    engine = Propagation(tree, sizes)
    inside = [engine.home(p) is not None for p in members]
    offers, keys = [], []
    for p, e, within in zip(members, errors, inside, strict=True):
        if e > 0:
            offers.append(offer(p, e if within else OUTSIDE * e, 1.0))
            keys.append(tuple(domain.axis(a) for a in p))
    for (axis,) in ones:
        a = int(domain.axis_attribute[axis])
        offers.append(offer((a,), 0.0, float(max(1, d - 1)), 1 / v[a]))
        keys.append((axis,))
    shares = allocate(offers, left, pure=pure)
    if shares.sum() <= 0:
        shares = np.array([float(len(k) == 1) for k in keys])
    kept = np.flatnonzero(shares > 0)
    buy([keys[i] for i in kept], shares[kept], ledger.remaining)
    q, v = columns()
    strengths = {p: max(e, deviation) / n for p, e in zip(members, errors, strict=True)}
    observations = combined([
        observation(domain, b, strengths.get(tuple(int(domain.axis_attribute[a]) for a in b.axes), 0.1)) for b in bought
    ])
    within = [o for o in observations if len(o.attributes) == 1 or engine.home(o.attributes) is not None]
    outside = [o for o in observations if len(o.attributes) > 1 and engine.home(o.attributes) is None]
    slots, potentials, report = fit_potentials(engine, q, n, within)
    model = JointModel(domain, [(b.axes, b.measurement) for b in bought], tree=tree, slots=slots.attributes, potentials=potentials, total=float(n), outside=outside, report=report)
    return model, n


def plan(spec: BestSpec, domain: Domain, *, n: int, budget: PrivacyBudget, unit: PrivacyUnit) -> Plan:
    raise UnsupportedError("later")
