"""`best`: noisy columns, the errors of all pairs at once, interaction tables at one price, one fit to all of them.

    BUY     the number of rows (where it is private) and the columns' deviations from their mean
    SELECT  how far every pair is from the product of its columns, and from that what to buy, at one common price
    BUY     interaction parts of tables, and the columns once more (where triples are wanted too: `methods/triples.py`)
    INFER   maximum entropy under a ridge on a junction tree that holds as much of what was bought as it can, and on
            further trees for the rest; rows are dealt from the first and polished toward all

The research behind it, and what each step is worth, is told in docs/best.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbayes.core.clique_tree import CliqueTree
from privbayes.core.domain import Domain
from privbayes.core.pairs import Pairs
from privbayes.core.workload import Workload
from privbayes.counts.backend import CountingBackend
from privbayes.errors import UnsupportedError
from privbayes.measure.allocate import allocate, exact_shares, noise_harm
from privbayes.measure.marginals import MeasuredTable, measure_total
from privbayes.measure.residuals import measure_residuals
from privbayes.methods import best_pure
from privbayes.methods.plan import Plan
from privbayes.methods.prior import PRIOR_OF, choose_guide, take_up
from privbayes.methods.triples import HELD, buy_triples, select_triples, worth_a_clique
from privbayes.methods.wanted import check_wanted, wanted
from privbayes.methods.wares import FINENESSES, column_wares, pair_wares
from privbayes.model.columns import Columns
from privbayes.model.guide import Guide
from privbayes.model.joint import PAIR_CELLS, PAIRS_CELLS, JointModel
from privbayes.model.joint_fit import fit_trees
from privbayes.model.observations import Observation, combined, excess_error, observed
from privbayes.model.smooth import is_ordered, smoothed
from privbayes.privacy.budget import PrivacyBudget
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.unit import PrivacyUnit
from privbayes.structure.links import Links, measured_links
from privbayes.structure.strengths import column_bias
from privbayes.structure.tree_growth import grow_trees

__all__ = ["EFFORTS", "BestSpec", "Effort", "fit", "infer", "plan"]

# Shares of the budget; the rest buys tables, and the columns once more. The error hardly depends on them.
TOTAL = Fraction(5, 100)
COLUMNS = Fraction(13, 100)
ERRORS = Fraction(5, 100)

Progress = Callable[[str, int, int], None]
Vector = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Effort:
    """What time is spent on: cells of a clique and of all in a tree, and how many trees are fitted at most."""

    clique_cells: int
    tree_cells: int
    trees: int
    passes: int


EFFORTS = {
    "quick": Effort(clique_cells=1_000, tree_cells=20_000, trees=2, passes=150),
    "normal": Effort(clique_cells=4_000, tree_cells=60_000, trees=4, passes=300),
    "thorough": Effort(clique_cells=100_000, tree_cells=600_000, trees=6, passes=800),
}


@dataclass(frozen=True, kw_only=True)
class BestSpec:
    """The knobs of the method."""

    encoding: str = "hierarchical"
    effort: str = "normal"
    workload: str | Sequence[Sequence[str]] = "pairs"
    target: str | None = None
    weights: Mapping[str, float] | None = None
    prior: Any = None  # a model or a file of one, which `api.Best.ready` turns into a `Prior`
    prior_of: str | None = None

    def __post_init__(self) -> None:
        if self.encoding not in ("hierarchical", "vanilla"):
            raise UnsupportedError(
                f"method best models whole columns: encoding must be hierarchical or vanilla, not {self.encoding!r}"
            )
        if self.effort not in EFFORTS:
            raise UnsupportedError(f"effort must be one of {', '.join(EFFORTS)}, not {self.effort!r}")
        check_wanted(self.workload, self.target, self.weights)
        if self.prior is not None and self.prior_of not in PRIOR_OF:
            raise UnsupportedError(f"prior_of must be one of {', '.join(PRIOR_OF)}, not {self.prior_of!r}")
        if self.prior is None and self.prior_of is not None:
            raise UnsupportedError("prior_of says what the prior is a model of, and no prior is given")

    def wanted(self, domain: Domain) -> Workload:
        """What the table is wanted for, in attributes."""
        return wanted(self.workload, self.target, self.weights, domain.names)


def fit(
    spec: BestSpec, counts: CountingBackend, ledger: Ledger, progress: Progress | None = None
) -> tuple[JointModel, int]:
    """Buy columns, select, buy tables, infer. Also returns the number of rows: public, or as bought."""
    domain, workload = counts.domain, spec.wanted(counts.domain)
    n = measure_total(counts, ledger, ledger.total * TOTAL)
    bought, guide, n = take_up(spec.prior, domain, ledger, n)
    if ledger.budget.is_pure:
        effort, stages = EFFORTS[spec.effort], partial(_stage, progress)
        return best_pure.fit(effort, counts, ledger, n, _total_variance(ledger), workload, stages), n
    bought += _buy_columns(counts, ledger, _stage(progress, "columns"))
    columns = _known_columns(domain, bought, n, ledger, guide)
    guide = choose_guide(guide, counts, ledger, columns, n)
    links = _select(counts, ledger, columns, n, guide)
    held = ledger.remaining * HELD if workload.wants_triples else Fraction(0)
    share, report = ledger.remaining - held, _stage(progress, "tables")
    bought += _buy_tables(counts, ledger, columns, links, workload, share, report, bought, guide)
    columns = _known_columns(domain, bought, n, ledger, guide)
    trees, triples = None, None
    if held:
        draft = infer(spec, domain, bought, columns, links, _stage(progress, "draft"), guide=guide)
        trees = [one.tree for one in draft.fits]
        seen = _seen(domain, bought)
        beyond = select_triples(counts, ledger, draft, links, seen, columns, workload)
        more = worth_a_clique(ledger, trees, beyond, seen, columns, workload)
        if more:
            trees = _grow(spec, domain, _believed(seen, columns, links, workload)[1], more)
        beyond = beyond.within(trees[0])
        bought += buy_triples(counts, ledger, beyond, seen, columns, workload, _stage(progress, "triples"))
        triples = beyond.links
        columns = _known_columns(domain, bought, n, ledger, guide)
    return infer(spec, domain, bought, columns, links, _stage(progress, "fit"), triples, trees, guide), n


def infer(
    spec: BestSpec,
    domain: Domain,
    bought: Sequence[MeasuredTable],
    columns: Columns,
    links: Links,
    report: Callable[[int, int], None] | None = None,
    triples: Links | None = None,
    trees: Sequence[CliqueTree] | None = None,
    guide: Guide | None = None,
) -> JointModel:
    """From what was released to the model: all of it is post-processing. Triples lie in trees that are given."""
    workload = spec.wanted(domain)
    observations, gains = _believed(_seen(domain, bought), columns, links, workload, triples)
    references: list[Observation] = []
    if guide is not None:
        observations = guide.settled(columns, observations)
        references = guide.observations(columns)
        for one in references:
            if len(one.attributes) == 2:
                worth = workload.of_table(one.attributes) * one.strength * columns.total
                gains[one.attributes] = gains.get(one.attributes, 0.0) + worth
    trees = trees or _grow(spec, domain, gains)
    passes = EFFORTS[spec.effort].passes
    fits = fit_trees(trees, columns, observations, passes=passes, progress=report, references=references)
    return JointModel(
        domain,
        [(table.axes, table.measurement) for table in bought],
        form="residual",
        total=columns.total,
        fits=fits,
        workload=workload,
        groups=[table.groups for table in bought],
        references=None if guide is None else guide.references(columns),
    )


def _believed(
    seen: Sequence[Observation], columns: Columns, links: Links, workload: Workload, triples: Links | None = None
) -> tuple[list[Observation], dict[tuple[int, ...], float]]:
    """What was bought, with how far it is thought to lie from what columns (or pairs) say; and what each pair is worth
    to a tree.
    """
    believed: dict[tuple[int, ...], float] = {}
    for found in (links, triples) if triples else (links,):
        believed.update(zip(found.pairs, found.errors.tolist(), strict=True))
    observations: list[Observation] = []
    gains: dict[tuple[int, ...], float] = {}
    for one in seen:
        error = believed.get(one.attributes, 0.0)
        if len(one.attributes) == 2:
            expected = columns.expected(one.attributes, one.groups)
            error = error if links.deviation else excess_error(one, expected)
            harm = noise_harm(one.table.shape, expected, np.array([one.variance]))
            gain = workload.of_table(one.attributes) * max(error - float(harm[0]), 1.0)
            gains[one.attributes] = max(gain, gains.get(one.attributes, 0.0))
            error = max(error, links.deviation)
        if len(one.attributes) > 1:
            one = replace(one, strength=max(error, 1.0) / columns.total)
        observations.append(one)
    return observations, gains


def _grow(
    spec: BestSpec,
    domain: Domain,
    gains: Mapping[tuple[int, ...], float],
    triples: Mapping[tuple[int, ...], float] | None = None,
) -> list[CliqueTree]:
    """Trees that hold much of what pairs are worth. What a triple is worth counts for all its pairs."""
    worth: dict[tuple[int, ...], float] = dict(gains)
    for triple, gain in (triples or {}).items():
        for pair in combinations(triple, 2):
            worth[pair] = worth.get(pair, 0.0) + gain
    effort = EFFORTS[spec.effort]
    return grow_trees(
        domain.cardinalities,
        [(a, b) for a, b in worth],
        np.array(list(worth.values())),
        clique_cells=effort.clique_cells,
        total_cells=effort.tree_cells,
        most=effort.trees,
    )


def _buy_columns(
    counts: CountingBackend, ledger: Ledger, report: Callable[[int, int], None] | None
) -> tuple[MeasuredTable, ...]:
    """Every column's deviations from its mean: the least squared error in all for the money."""
    tables = _single_columns(counts.domain)
    sizes = np.array([counts.domain.cells(table) for table in tables], np.float64)
    share = ledger.total * COLUMNS
    return _buy(counts, ledger, tables, (np.sqrt(sizes) * (sizes - 1)) ** (2 / 3), share, report)


def _select(counts: CountingBackend, ledger: Ledger, columns: Columns, n: int, guide: Guide | None = None) -> Links:
    sizes = counts.domain.cardinalities
    known = Pairs.of(sizes, most_cells=PAIR_CELLS, most_in_all=PAIRS_CELLS).members
    pairs = [pair for pair in known if min(sizes[a] for a in pair) > 1]
    if not pairs:
        return Links(pairs=(), errors=np.zeros(0), deviation=0.0)
    bias = column_bias(pairs, columns.shares, columns.count_variances(), n)
    reference = None if guide is None else partial(guide.reference, columns)
    return measured_links(counts, ledger, pairs, columns.shares, n, bias, ledger.total * ERRORS, reference)


def _buy_tables(
    counts: CountingBackend,
    ledger: Ledger,
    columns: Columns,
    links: Links,
    workload: Workload,
    share: Fraction,
    report: Callable[[int, int], None] | None,
    earlier: Sequence[MeasuredTable] = (),
    guide: Guide | None = None,
) -> tuple[MeasuredTable, ...]:
    """A share of the budget, spread over interaction tables of pairs and columns at one price."""
    domain, seen = counts.domain, _seen(counts.domain, earlier)
    wares = pair_wares(domain, columns, links, workload, ledger.unit, finenesses=FINENESSES, seen=seen, guide=guide)
    wares += column_wares(domain, columns, workload, ledger.unit, first_item=len(links.pairs))
    if not wares:
        return ()
    shares = allocate([ware.offer for ware in wares], float(share))
    if not shares.sum() > 0:
        shares = np.array([float(len(ware.axes) == 1) for ware in wares])
    kept = [ware for ware, part in zip(wares, shares, strict=True) if part > 0]
    spend = exact_shares(shares[shares > 0], share)
    return measure_residuals(
        counts, ledger, [ware.axes for ware in kept], spend, report, [ware.groups for ware in kept]
    )


def _buy(
    counts: CountingBackend,
    ledger: Ledger,
    tables: Sequence[tuple[int, ...]],
    weights: Vector,
    share: Fraction,
    report: Callable[[int, int], None] | None,
) -> tuple[MeasuredTable, ...]:
    if not tables:
        return ()
    return measure_residuals(counts, ledger, tables, exact_shares(weights, share), report)


def _single_columns(domain: Domain) -> list[tuple[int, ...]]:
    """A column of one value has nothing to tell."""
    return [(domain.axis(a),) for a, size in enumerate(domain.cardinalities) if size > 1]


def _known_columns(
    domain: Domain, bought: Sequence[MeasuredTable], n: int, ledger: Ledger, guide: Guide | None = None
) -> Columns:
    seen = _seen(domain, [table for table in bought if len(table.axes) == 1])
    columns = Columns.of(domain.cardinalities, seen, float(n), _total_variance(ledger))
    return columns if guide is None else guide.known_columns(columns, seen)


def _seen(domain: Domain, bought: Sequence[MeasuredTable]) -> list[Observation]:
    """What was bought, read back, purchases of one table as one; columns with an order smoothed along it."""
    found = combined([observed(domain, table.axes, table.measurement, "residual", table.groups) for table in bought])
    ordered = [is_ordered(attribute) for attribute in domain.attributes]
    return [smoothed(one) if len(one.attributes) == 1 and ordered[one.attributes[0]] else one for one in found]


def _total_variance(ledger: Ledger) -> float:
    """Of the noise in the number of rows, where that was bought."""
    for receipt in ledger.receipts[:1]:
        if not ledger.unit.n_is_public:
            return 2 * receipt.scale**2 if ledger.budget.is_pure else receipt.scale**2
    return 0.0


def _stage(progress: Progress | None, name: str) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    report = progress
    return lambda done, total: report(name, done, total)


def plan(spec: BestSpec, domain: Domain, *, n: int, budget: PrivacyBudget, unit: PrivacyUnit) -> Plan:
    """What a fit would buy, rehearsed on a made-up table with the same schema and number of rows."""
    from privbayes.methods.best_plan import rehearse

    alone = replace(spec, prior=None, prior_of=None)  # what a prior is worth is not known before the table is
    return rehearse(partial(fit, alone), domain, n=n, budget=budget, unit=unit, encoding=spec.encoding)
