"""The plan of PrivBayes: rehearse a fit with choices drawn at random, and price the tables it would buy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import pi, sqrt
from typing import Any

import numpy as np

from privbayes.core.domain import Domain
from privbayes.core.network import AttributeParents, BayesianNetwork, Parent
from privbayes.errors import UnsupportedError
from privbayes.measure.marginals import table_sensitivity
from privbayes.methods.plan import Plan
from privbayes.methods.privbayes import (
    TOTAL_FRACTION,
    PrivBayesSpec,
    Shape,
    choose_shape,
    first_attribute,
    refuse_too_large,
    tables_to_buy,
)
from privbayes.privacy.budget import PrivacyBudget
from privbayes.privacy.unit import PrivacyUnit
from privbayes.structure.usefulness import expected_noise

__all__ = ["PricedTables", "plan", "price_tables", "rehearsal_generator"]

_REHEARSAL = 20_261_118  # a fixed, public seed: the same plan each time


def plan(spec: PrivBayesSpec, domain: Domain, *, n: int, budget: PrivacyBudget, unit: PrivacyUnit) -> Plan:
    """Rehearse the fit with choices drawn at random, and price its tables."""
    total = budget.total()
    for_tables = total if unit.n_is_public else total * (1 - TOTAL_FRACTION)
    shape = choose_shape(domain, spec, n=n, pure=budget.is_pure, unit=unit, budget=for_tables)
    network, candidates, thinned = _rehearse(domain, spec, shape)
    tables = tables_to_buy(domain, network, shape)
    refuse_too_large(sum(domain.cells(axes) for axes in tables))
    priced = price_tables(domain, tables, shape.marginals, n=n, budget=budget, unit=unit)
    return Plan(
        method="privbayes",
        form=shape.form,
        score=shape.score,
        encoding=spec.encoding,
        degree=shape.degree,
        cell_limit=shape.limit,
        candidates=candidates,
        candidates_a_round=shape.candidates_a_round,
        candidates_thinned=thinned,
        draws=shape.draws,
        share_a_draw=float(shape.structure / shape.draws) if shape.draws else 0.0,
        notes=(*_notes(shape, thinned), *priced.notes),
        **priced.facts,
    )


@dataclass(frozen=True, kw_only=True)
class PricedTables:
    """What a plan says about noisy tables, whichever method buys them."""

    facts: Mapping[str, Any]
    notes: tuple[str, ...]


def price_tables(
    domain: Domain,
    tables: list[tuple[int, ...]],
    share: Fraction,
    *,
    n: int,
    budget: PrivacyBudget,
    unit: PrivacyUnit,
) -> PricedTables:
    """The budget, the noise when ``share`` of it is cut over the tables, and the errors that makes."""
    each = share / max(1, len(tables))
    cell_noise = expected_noise(
        pure=budget.is_pure,
        sensitivity=table_sensitivity(unit.neighbours).for_rows(unit.rows_per_person),
        tables=1,
        share=each,
    )
    scale = cell_noise if budget.is_pure else cell_noise * sqrt(pi / 2)
    deviation = scale * sqrt(2) if budget.is_pure else scale
    notes = []
    if not unit.n_is_public:
        notes.append(f"the number of rows is private: {float(TOTAL_FRACTION):.0%} of the budget buys a noisy one")
    if scale > n:
        notes.append("the noise is larger than the table: raise epsilon or collect more rows")
    facts = {
        "n_rows": n,
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "rho": None if budget.is_pure else float(budget.total()),
        "neighbours": unit.neighbours,
        "tables": len(tables),
        "share_a_table": float(each),
        "noise": "discrete laplace" if budget.is_pure else "discrete gaussian",
        "noise_scale": scale,
        "expected_cell_noise": cell_noise,
        "columns": _column_errors(domain, tables, deviation, n),
        "pairs": _pair_errors(domain, tables, deviation, n),
    }
    return PricedTables(facts=facts, notes=tuple(notes))


def rehearsal_generator() -> np.random.Generator:
    """The same public choices each time, so that the same question has the same plan."""
    return np.random.default_rng(_REHEARSAL)


def _rehearse(domain: Domain, spec: PrivBayesSpec, shape: Shape) -> tuple[BayesianNetwork, int, bool]:
    """A network as a fit could choose it, the number of candidates met on the way, and whether they were thinned."""
    if spec.network is not None:
        try:
            return BayesianNetwork.of_names(domain, spec.network), 0, False
        except (ValueError, TypeError) as error:
            raise UnsupportedError(f"the given network does not fit the schema: {error}") from None
    if len(domain) == 0:
        return BayesianNetwork(()), 0, False
    rng = rehearsal_generator()
    parent_sets = shape.parent_sets(domain, spec, rng)
    first = first_attribute(domain, spec, rng)
    pairs = [AttributeParents(first)]
    parent_sets.place(first)
    left = [a for a in range(len(domain)) if a != first]
    met = 0
    while left:
        offered = {x: parent_sets.for_child(x, len(left)) for x in left}
        met += sum(map(len, offered.values()))
        child = left.pop(int(rng.integers(len(left))))
        axes = offered[child][int(rng.integers(len(offered[child])))]
        parents = tuple(Parent(int(domain.axis_attribute[a]), domain.axis_level(a)) for a in axes)
        pairs.append(AttributeParents(child, parents))
        parent_sets.place(child)
    return BayesianNetwork(tuple(pairs)), met, parent_sets.thinned


def _error(cells: int, kept: int, deviation: float, n: int) -> float:
    """Half of E|noise| summed over ``kept`` cells, each the sum of cells / kept noisy ones, over n; at most 1."""
    return min(1.0, 0.5 * sqrt(2 / pi) * deviation * sqrt(cells * kept) / n)


def _column_errors(
    domain: Domain, tables: list[tuple[int, ...]], deviation: float, n: int
) -> tuple[dict[str, Any], ...]:
    best: dict[int, float] = {}
    for axes in tables:
        for axis in axes:
            attribute = int(domain.axis_attribute[axis])
            if domain.axis_level(axis) == 0:
                error = _error(domain.cells(axes), domain.cardinalities[attribute], deviation, n)
                best[attribute] = min(best.get(attribute, 1.0), error)
    return tuple(
        {"name": name, "values": domain.cardinalities[a], "expected_error": best.get(a, 1.0)}
        for a, name in enumerate(domain.names)
    )


def _pair_errors(domain: Domain, tables: list[tuple[int, ...]], deviation: float, n: int) -> dict[str, Any]:
    errors: dict[tuple[str, str], float] = {}
    for axes in tables:
        owners = [int(domain.axis_attribute[axis]) for axis in axes]
        for i, a in enumerate(owners):
            for j in range(i):
                kept = int(domain.axis_size[axes[i]] * domain.axis_size[axes[j]])
                pair = (domain.names[min(a, owners[j])], domain.names[max(a, owners[j])])
                errors[pair] = min(errors.get(pair, 1.0), _error(domain.cells(axes), kept, deviation, n))
    each = [
        {"columns": list(pair), "expected_error": error}
        for pair, error in sorted(errors.items(), key=lambda item: (-item[1], item[0]))
    ]
    return {
        "together_in_a_table": len(errors),
        "of": len(domain) * (len(domain) - 1) // 2,
        "mean_expected_error": sum(errors.values()) / len(errors) if errors else None,
        "worst": each[:5],
        "each": each,
    }


def _notes(shape: Shape, thinned: bool) -> tuple[str, ...]:
    notes = ["which tables are bought depends on private choices: this is a rehearsal with random ones"]
    if thinned:
        notes.append(
            f"there are more candidates than {shape.candidates_a_round:,} a round; "
            "they are thinned at random, without looking at the data (max_candidates)"
        )
    if shape.form != "given" and not shape.draws:
        notes.append("no table of two columns would stand out from the noise: columns are modelled as independent")
    return tuple(notes)
