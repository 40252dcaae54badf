"""PrivABN (Lan, Hong, Chen, Cai, Wang; 2021): an adaptive Bayesian network for tables of hundreds of columns.

Follows the paper: one attribute is placed a step, its parents are chosen together with it, parent sets grow from those
of earlier steps by the attribute placed last, no degree is fixed, d - 1 draws share eps_1 equally, and rows are drawn
along the network. Differs from it, because the printed algorithms 3 and 4 do not keep their promise: candidates depend
on released choices alone (the paper compares parent sets exactly), noise goes on joint counts (the paper adds it to
conditionals, which one row can turn over), and theta-usefulness bounds the cells of a table, and so the degree. Goes
beyond it: columns of any kind, with generalised parents where that makes them fit; scores F and R besides I; the
attributes and parent sets that are in the network stay on offer; a table contained in another is not bought.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privbayes.core.domain import Domain
from privbayes.core.network import AttributeParents, BayesianNetwork, Parent
from privbayes.counts.backend import CountingBackend
from privbayes.errors import BudgetError, UnsupportedError
from privbayes.measure.marginals import measure_marginals, measure_total, table_sensitivity
from privbayes.methods.plan import Plan
from privbayes.methods.privbayes import TOTAL_FRACTION
from privbayes.model.bayes_net import BayesNetModel
from privbayes.privacy.budget import PrivacyBudget
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.noise import public_generator
from privbayes.privacy.unit import PrivacyUnit
from privbayes.structure.adaptive import AdaptiveSets, grow_adaptively
from privbayes.structure.usefulness import cell_limit, expected_noise

__all__ = ["PrivABNSpec", "fit", "plan", "tables_to_buy"]

MAX_CELLS = 2**24  # of all tables bought

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class PrivABNSpec:
    """Every knob of PrivABN. ``beta`` is the share for structure, ``theta`` the usefulness a table must have."""

    score: str = "auto"
    encoding: str = "hierarchical"
    beta: float = 0.3
    theta: float = 4.0
    max_parents: int | None = None
    first: str | None = None
    max_candidates: int | None = None

    def __post_init__(self) -> None:
        if self.score not in ("auto", "I", "F", "R"):
            raise UnsupportedError(f"score must be auto, I, F or R, not {self.score!r}")
        if self.encoding not in ("hierarchical", "vanilla", "binary", "gray"):
            raise UnsupportedError(f"encoding must be hierarchical, vanilla, binary or gray, not {self.encoding!r}")
        if not 0 < self.beta < 1:
            raise BudgetError(f"beta must lie strictly between 0 and 1, not {self.beta}; max_parents=0 spends nothing")
        if not self.theta > 0:
            raise BudgetError(f"theta must be positive, not {self.theta}")
        if self.max_parents is not None and self.max_parents < 0:
            raise UnsupportedError(f"max_parents must be 0 or more, not {self.max_parents}")
        if self.max_candidates is not None and self.max_candidates < 1:
            raise UnsupportedError(f"max_candidates must be 1 or more, not {self.max_candidates}")


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What public facts decide before a row is read: the cell limit, the score and the split of the budget."""

    score: str
    limit: int
    candidates_a_round: int
    selects: bool
    structure: Fraction
    marginals: Fraction

    def sets(self, domain: Domain, spec: PrivABNSpec, rng: np.random.Generator) -> AdaptiveSets:
        """The sets on offer, before any attribute is placed."""
        return AdaptiveSets(
            domain,
            self.limit,
            self.candidates_a_round,
            rng,
            max_parents=spec.max_parents,
            generalise=spec.encoding == "hierarchical",
        )


def choose_shape(
    domain: Domain, spec: PrivABNSpec, *, n: int, pure: bool, unit: PrivacyUnit, budget: Fraction
) -> Shape:
    """theta-usefulness and the split beta, from the schema, the number of rows and the budget alone."""
    d = len(domain)
    score = spec.score if spec.score != "auto" else "R"
    if score == "F" and not domain.is_binary:
        raise UnsupportedError("score F needs every attribute binary; use score R, or encoding binary or gray")
    if score == "I" and not unit.n_is_public:
        raise UnsupportedError(
            "score I has no finite bound when the number of rows is private (add-remove); use R or F"
        )
    if sum(domain.cardinalities) > MAX_CELLS:
        raise UnsupportedError(
            f"the columns alone have {sum(domain.cardinalities):,} values, more than the {MAX_CELLS:,} cells that fit "
            "in memory; use fewer bins"
        )
    beta = Fraction(spec.beta)
    sensitivity = table_sensitivity(unit.neighbours).for_rows(unit.rows_per_person)
    noise = expected_noise(pure=pure, sensitivity=sensitivity, tables=d, share=budget * (1 - beta))
    limit = min(cell_limit(n=n, noise=noise, theta=spec.theta), MAX_CELLS // max(1, d))
    selects = d > 1 and spec.max_parents != 0 and _smallest_pair(domain, spec.encoding) <= limit
    return Shape(
        score=score,
        limit=limit,
        candidates_a_round=spec.max_candidates or _default_cap(n, d, limit, domain.is_binary),
        selects=selects,
        structure=budget * beta if selects else Fraction(0),
        marginals=budget * (1 - beta) if selects else budget,
    )


def fit(
    spec: PrivABNSpec, counts: CountingBackend, ledger: Ledger, progress: Progress | None = None
) -> tuple[BayesNetModel, int]:
    """Select, buy, infer. Also returns the number of rows: public, or as bought."""
    domain = counts.domain
    n = measure_total(counts, ledger, ledger.total * TOTAL_FRACTION)
    shape = choose_shape(domain, spec, n=n, pure=ledger.budget.is_pure, unit=ledger.unit, budget=ledger.remaining)
    rng = public_generator()
    first = first_attribute(domain, spec, rng)
    if shape.selects:
        network = grow_adaptively(  # SELECT
            counts,
            ledger,
            shape.structure,
            sets=shape.sets(domain, spec, rng),
            score=shape.score,
            first=first,
            rng=rng,
            progress=_stage(progress, "structure"),
        )
    else:
        network = BayesianNetwork(tuple(AttributeParents(a) for a in range(len(domain))))
    tables = tables_to_buy(domain, network)
    bought = measure_marginals(counts, ledger, tables, ledger.remaining, _stage(progress, "tables"))  # BUY
    return BayesNetModel(domain, network, [(table.axes, table.measurement) for table in bought]), n  # INFER


def plan(spec: PrivABNSpec, domain: Domain, *, n: int, budget: PrivacyBudget, unit: PrivacyUnit) -> Plan:
    """What a fit would buy, from public facts alone."""
    from privbayes.methods.rehearsal import price_tables, rehearsal_generator

    total = budget.total()
    left = total if unit.n_is_public else total * (1 - TOTAL_FRACTION)
    shape = choose_shape(domain, spec, n=n, pure=budget.is_pure, unit=unit, budget=left)
    network, candidates, thinned = _rehearse(domain, spec, shape, rehearsal_generator())
    priced = price_tables(domain, tables_to_buy(domain, network), shape.marginals, n=n, budget=budget, unit=unit)
    draws = len(domain) - 1 if shape.selects else 0
    notes = ["which tables are bought depends on private choices: this is a rehearsal with random ones"]
    if thinned:
        notes.append(
            f"there are more new candidates than {shape.candidates_a_round:,} a round; "
            "they are thinned at random, without looking at the data (max_candidates)"
        )
    if not draws:
        notes.append("no table of two columns would stand out from the noise: columns are modelled as independent")
    return Plan(
        method="privabn",
        form="adaptive",
        score=shape.score,
        encoding=spec.encoding,
        cell_limit=shape.limit,
        candidates=candidates,
        candidates_a_round=shape.candidates_a_round,
        candidates_thinned=thinned,
        draws=draws,
        share_a_draw=float(shape.structure / draws) if draws else 0.0,
        notes=(*notes, *priced.notes),
        **priced.facts,
    )


def tables_to_buy(domain: Domain, network: BayesianNetwork) -> list[tuple[int, ...]]:
    """Every (X_i, Pi_i), without those whose axes another one contains: it can be summed out of that."""
    axes = [pair.axes(domain) for pair in network.pairs]
    members = [frozenset(one) for one in axes]
    return [
        one
        for i, one in enumerate(axes)
        if not any(members[i] < other or (members[i] == other and j < i) for j, other in enumerate(members))
    ]


def first_attribute(domain: Domain, spec: PrivABNSpec, rng: np.random.Generator) -> int:
    """As given, or drawn uniformly."""
    if spec.first is None:
        return int(rng.integers(len(domain)))
    if spec.first not in domain.names:
        raise UnsupportedError(
            f"first = {spec.first!r} is not a modelled attribute; there are: {', '.join(domain.names)}"
        )
    return domain.names.index(spec.first)


def _rehearse(
    domain: Domain, spec: PrivABNSpec, shape: Shape, rng: np.random.Generator
) -> tuple[BayesianNetwork, int, bool]:
    """A network as a fit could choose it, the number of candidates met on the way, and whether they were thinned."""
    if not shape.selects:
        return BayesianNetwork(tuple(AttributeParents(a) for a in range(len(domain)))), 0, False
    sets = shape.sets(domain, spec, rng)
    child = first_attribute(domain, spec, rng)
    pairs = [AttributeParents(child)]
    left = [a for a in range(len(domain)) if a != child]
    sets.place(child, (), len(left))
    met = 0
    while left:
        offers = {room: sets.offer(room) for room in {sets.room(a) for a in left}}
        met += sum(len(offers[sets.room(a)]) for a in left)
        child = left.pop(int(rng.integers(len(left))))
        offer = offers[sets.room(child)]
        axes = offer[int(rng.integers(len(offer)))]
        pairs.append(
            AttributeParents(child, tuple(Parent(int(domain.axis_attribute[a]), domain.axis_level(a)) for a in axes))
        )
        sets.place(child, axes, len(left))
    return BayesianNetwork(tuple(pairs)), met, sets.thinned


def _stage(progress: Progress | None, name: str) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    report = progress
    return lambda done, total: report(name, done, total)


def _smallest_pair(domain: Domain, encoding: str) -> int:
    """Cells of the smallest table with a child and one (generalised) parent."""
    coarsest = [
        min(s for s in a.level_sizes if s > 1 or a.cardinality == 1) if encoding == "hierarchical" else a.cardinality
        for a in domain.attributes
    ]
    pairs = ((x, p) for x in range(len(domain)) for p in range(len(domain)) if x != p)
    return min(domain.cardinalities[x] * coarsest[p] for x, p in pairs)


def _default_cap(n: int, d: int, cells: int, binary: bool) -> int:
    """New candidates a round such that selection takes about a minute on two cores, by measured costs of a table."""
    cells = min(cells, 2 ** (d if binary else 30))
    counting = 1e-10 * n / 64 * cells if binary else 3e-10 * n
    return max(d, int(60 / (counting + 2e-8 * cells + 3e-6) / d))
