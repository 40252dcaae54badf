"""PrivBayes (Zhang, Cormode, Procopiuc, Srivastava, Xiao; SIGMOD 2014, TODS 2017): algorithms 1 to 6.

Follows the paper: the binary form (every attribute has two values) is algorithm 2 with a fixed degree k and algorithm
1, which buys d - k tables and derives the first k pairs from the (k+1)-th; the general form is algorithms 3 to 6 with
maximal generalised parent sets. Differs from it: scores are integers with proved bounds (R by 6(n-1) or 4(n-1) in
units of 2n^2 R instead of 3/n + 2/n^2), draws are permute-and-flip under pure epsilon, noise is exact and on integer
counts, a parent value without mass takes the child's overall distribution, and with nothing to select the whole
budget goes to the tables. Under ``add-remove`` the number of rows is bought first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privbayes.core.domain import Domain
from privbayes.core.network import BayesianNetwork
from privbayes.counts.backend import CountingBackend
from privbayes.errors import BudgetError, UnsupportedError
from privbayes.measure.marginals import MeasuredTable, measure_marginals, measure_total, table_sensitivity
from privbayes.methods.plan import Plan
from privbayes.model.bayes_net import BayesNetModel
from privbayes.privacy.budget import PrivacyBudget
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.noise import public_generator
from privbayes.privacy.unit import PrivacyUnit
from privbayes.structure.candidates import FixedDegree, MaximalParentSets, ParentSets
from privbayes.structure.greedy import grow_network
from privbayes.structure.usefulness import cell_limit, expected_noise, largest_degree

__all__ = ["PrivBayesSpec", "Shape", "choose_shape", "fit", "plan", "tables_to_buy"]

TOTAL_FRACTION = Fraction(1, 50)  # of the budget, for the number of rows under add-remove
MAX_CELLS = 50_000_000  # of all tables bought; 8 bytes each, several times that while the noise is drawn
DEFAULT_CELLS = 4_000_000  # where theta alone sets the limit: exact noise takes some ten microseconds a cell

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class PrivBayesSpec:
    """Every knob of PrivBayes. ``beta`` is the share for structure, ``theta`` the usefulness a table must have."""

    score: str = "auto"
    encoding: str = "hierarchical"
    beta: float = 0.3
    theta: float = 4.0
    max_parents: int | None = None
    first: str | None = None
    network: Mapping[str, Sequence[str | tuple[str, int]]] | None = None
    max_candidates: int | None = None

    def __post_init__(self) -> None:
        if self.score not in ("auto", "I", "F", "R"):
            raise UnsupportedError(f"score must be auto, I, F or R, not {self.score!r}")
        if self.encoding not in ("hierarchical", "vanilla", "binary", "gray"):
            raise UnsupportedError(f"encoding must be hierarchical, vanilla, binary or gray, not {self.encoding!r}")
        if not 0 < self.beta < 1:
            raise BudgetError(
                f"beta must lie strictly between 0 and 1, not {self.beta}; to spend nothing on structure give a network"
            )
        if not self.theta > 0:
            raise BudgetError(f"theta must be positive, not {self.theta}")
        if self.max_parents is not None and self.max_parents < 0:
            raise UnsupportedError(f"max_parents must be 0 or more, not {self.max_parents}")
        if self.max_candidates is not None and self.max_candidates < 1:
            raise UnsupportedError(f"max_candidates must be 1 or more, not {self.max_candidates}")


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What public facts decide before a row is read: the form, its limit, the score and the split of the budget."""

    form: str  # "binary", "general", "given"
    score: str
    degree: int | None
    limit: int | None
    tables: int
    draws: int
    candidates_a_round: int
    structure: Fraction
    marginals: Fraction

    def parent_sets(self, domain: Domain, spec: PrivBayesSpec, rng: np.random.Generator) -> ParentSets:
        """The candidates of the form."""
        if self.form == "binary":
            return FixedDegree(domain, self.degree or 0, self.candidates_a_round, rng)
        return MaximalParentSets(
            domain,
            self.limit or 0,
            self.candidates_a_round,
            rng,
            max_parents=spec.max_parents,
            generalise=spec.encoding == "hierarchical",
        )


def choose_shape(
    domain: Domain, spec: PrivBayesSpec, *, n: int, pure: bool, unit: PrivacyUnit, budget: Fraction
) -> Shape:
    """theta-usefulness and the split beta, from the schema, the number of rows and the budget alone."""
    d = len(domain)
    sensitivity = table_sensitivity(unit.neighbours).for_rows(unit.rows_per_person)
    beta = Fraction(spec.beta)
    marginals = budget * (1 - beta)
    score = spec.score if spec.score != "auto" else "F" if domain.is_binary and d > 1 else "R"
    if score == "F" and not domain.is_binary:
        raise UnsupportedError("score F needs every attribute binary; use score R, or encoding binary or gray")
    if score == "I" and not unit.n_is_public:
        raise UnsupportedError(
            "score I has no finite bound when the number of rows is private (add-remove); use R or F"
        )
    if spec.network is not None or d <= 1:
        return Shape(
            form="given", score=score, degree=None, limit=None, tables=d, draws=0, candidates_a_round=0,
            structure=Fraction(0), marginals=budget,
        )  # fmt: skip
    degree = limit = None
    if domain.is_binary:
        degree = spec.max_parents
        if degree is None:
            degree = largest_degree(n=n, d=d, theta=spec.theta, pure=pure, sensitivity=sensitivity, share=marginals)
            while (d - degree) * 2 ** (degree + 1) > DEFAULT_CELLS:
                degree -= 1
        degree = min(degree, d - 1)
        tables, selects, cells = d - degree, degree > 0, 2 ** (degree + 1)
        refuse_too_large(tables * cells)
    else:
        noise = expected_noise(pure=pure, sensitivity=sensitivity, tables=d, share=marginals)
        limit = min(cell_limit(n=n, noise=noise, theta=spec.theta), DEFAULT_CELLS // d)
        tables, cells = d, min(limit, domain.cells(tuple(domain.first_axis.tolist())))
        selects = spec.max_parents != 0 and _smallest_pair(domain, spec.encoding) <= limit
        refuse_too_large(sum(domain.cardinalities))
    if not selects:
        beta, tables = Fraction(0), d
    return Shape(
        form="binary" if domain.is_binary else "general",
        score=score,
        degree=degree,
        limit=limit,
        tables=tables,
        draws=d - 1 if selects else 0,
        candidates_a_round=spec.max_candidates or _default_cap(n, d, cells, domain.is_binary),
        structure=budget * beta,
        marginals=budget * (1 - beta),
    )


def fit(
    spec: PrivBayesSpec,
    counts: CountingBackend,
    ledger: Ledger,
    progress: Progress | None = None,
) -> tuple[BayesNetModel, int]:
    """Select, buy, infer. Also returns the number of rows: public, or as bought."""
    domain = counts.domain
    n = measure_total(counts, ledger, ledger.total * TOTAL_FRACTION)
    shape = choose_shape(domain, spec, n=n, pure=ledger.budget.is_pure, unit=ledger.unit, budget=ledger.remaining)
    network = _select(spec, shape, counts, ledger, progress)
    tables = tables_to_buy(domain, network, shape)
    refuse_too_large(sum(domain.cells(axes) for axes in tables))
    bought = measure_marginals(counts, ledger, tables, ledger.remaining, _stage(progress, "tables"))  # BUY
    return infer(domain, network, bought), n  # free from here on


def plan(spec: PrivBayesSpec, domain: Domain, *, n: int, budget: PrivacyBudget, unit: PrivacyUnit) -> Plan:
    """What a fit would buy, from public facts alone."""
    from privbayes.methods.rehearsal import plan as rehearse  # it needs this module's pieces

    return rehearse(spec, domain, n=n, budget=budget, unit=unit)


def infer(domain: Domain, network: BayesianNetwork, bought: Sequence[MeasuredTable]) -> BayesNetModel:
    """INFER: conditionals from the noisy tables."""
    return BayesNetModel(domain, network, [(table.axes, table.measurement) for table in bought])


def tables_to_buy(domain: Domain, network: BayesianNetwork, shape: Shape) -> list[tuple[int, ...]]:
    """Algorithm 3: every (X_i, Pi_i). Algorithm 1: from i = k + 1 on, as that table contains the first k pairs."""
    skip = shape.degree or 0 if shape.form == "binary" else 0
    return [pair.axes(domain) for pair in network.pairs[skip:]]


def _select(
    spec: PrivBayesSpec, shape: Shape, counts: CountingBackend, ledger: Ledger, progress: Progress | None
) -> BayesianNetwork:
    domain = counts.domain
    if spec.network is not None:
        try:
            return BayesianNetwork.of_names(domain, spec.network)
        except (ValueError, TypeError) as error:
            raise UnsupportedError(f"the given network does not fit the schema: {error}") from None
    if len(domain) == 0:
        return BayesianNetwork(())
    rng = public_generator()
    return grow_network(
        counts,
        ledger,
        shape.structure,
        candidates=shape.parent_sets(domain, spec, rng),
        score=shape.score,
        first=first_attribute(domain, spec, rng),
        rng=rng,
        progress=_stage(progress, "structure"),
    )


def first_attribute(domain: Domain, spec: PrivBayesSpec, rng: np.random.Generator) -> int:
    """The attribute the network starts from: as asked for, or uniform."""
    if spec.first is None:
        return int(rng.integers(len(domain)))
    if spec.first not in domain.names:
        raise UnsupportedError(
            f"first = {spec.first!r} is not a modelled attribute; there are: {', '.join(domain.names)}"
        )
    return domain.names.index(spec.first)


def _stage(progress: Progress | None, name: str) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    report = progress
    return lambda done, total: report(name, done, total)


def _smallest_pair(domain: Domain, encoding: str) -> int:
    """Cells of the smallest table with a child and one (generalised) parent."""
    coarsest = [a.level_sizes[-1] if encoding == "hierarchical" else a.cardinality for a in domain.attributes]
    pairs = ((x, p) for x in range(len(domain)) for p in range(len(domain)) if x != p)
    return min(domain.cardinalities[x] * coarsest[p] for x, p in pairs)


def _default_cap(n: int, d: int, cells: int, binary: bool) -> int:
    """Candidates a round such that selection takes some ten seconds on two cores, by measured costs of one table."""
    counting = 1e-10 * n / 64 * cells if binary else 3e-10 * n
    return max(d, int(30 / (counting + 2e-8 * cells + 5e-6) / d))


def refuse_too_large(cells: int) -> None:
    """Refuse more cells than fit in memory, with their number, before anything is counted."""
    if cells > MAX_CELLS:
        raise UnsupportedError(
            f"the tables would have {cells:,} cells, more than the {MAX_CELLS:,} that fit in memory; "
            "lower max_parents, use fewer bins or a smaller network"
        )
