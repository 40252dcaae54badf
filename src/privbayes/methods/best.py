"""`best`: noisy columns, the errors of all pairs at once, interaction tables at one price, one fit to all of them.

    BUY     the number of rows (where it is private) and the columns' deviations from their mean
    SELECT  how far every pair is from the product of its columns, and from that what to buy, at one common price
    BUY     interaction parts of tables, and the columns once more
    INFER   maximum entropy under a ridge on a junction tree that holds as much of what was bought as it can, and on
            further trees for the rest; rows are dealt from the first and polished toward all

The research behind it, and what each step is worth, is told in docs/best.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from privbayes.core.domain import Domain
from privbayes.core.pairs import Pairs
from privbayes.counts.backend import CountingBackend
from privbayes.errors import UnsupportedError
from privbayes.measure.allocate import allocate, exact_shares, noise_harm
from privbayes.measure.marginals import MeasuredTable, measure_total
from privbayes.measure.residuals import measure_residuals
from privbayes.methods import best_pure
from privbayes.methods.plan import Plan
from privbayes.methods.wares import FINENESSES, column_wares, pair_wares
from privbayes.model.columns import Columns
from privbayes.model.joint import PAIR_CELLS, PAIRS_CELLS, JointModel
from privbayes.model.joint_fit import fit_trees
from privbayes.model.observations import Form, combined, excess_error, observed
from privbayes.privacy.budget import PrivacyBudget
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.unit import PrivacyUnit
from privbayes.structure.links import Links, drawn_links, measured_links
from privbayes.structure.strengths import column_bias
from privbayes.structure.tree_growth import grow_trees

__all__ = ["EFFORTS", "BestSpec", "Effort", "fit", "infer", "plan"]

# Shares of the budget; the rest buys tables, and the columns once more. The error hardly depends on them.
TOTAL = Fraction(4, 100)
COLUMNS = Fraction(10, 100)
ERRORS = Fraction(7, 100)
CHOICES = Fraction(15, 100)
DRAWS = 1.5  # pairs drawn, times the number of columns

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

    def __post_init__(self) -> None:
        if self.encoding not in ("hierarchical", "vanilla"):
            raise UnsupportedError(
                f"method best models whole columns: encoding must be hierarchical or vanilla, not {self.encoding!r}"
            )
        if self.effort not in EFFORTS:
            raise UnsupportedError(f"effort must be one of {', '.join(EFFORTS)}, not {self.effort!r}")


def fit(
    spec: BestSpec, counts: CountingBackend, ledger: Ledger, progress: Progress | None = None
) -> tuple[JointModel, int]:
    """Buy columns, select, buy tables, infer. Also returns the number of rows: public, or as bought."""
    n = measure_total(counts, ledger, ledger.total * TOTAL)
    if ledger.budget.is_pure:
        stages = partial(_stage, progress)
        return best_pure.fit(EFFORTS[spec.effort], counts, ledger, n, _total_variance(ledger), stages), n
    bought = list(_buy_columns(counts, ledger, _stage(progress, "columns")))
    columns = _known_columns(counts.domain, bought, n, ledger)
    links = _select(counts, ledger, columns, n)
    bought += _buy_tables(counts, ledger, columns, links, _stage(progress, "tables"))
    columns = _known_columns(counts.domain, bought, n, ledger)
    return infer(spec, counts.domain, bought, columns, links, _form(ledger), _stage(progress, "fit")), n


def infer(
    spec: BestSpec,
    domain: Domain,
    bought: Sequence[MeasuredTable],
    columns: Columns,
    links: Links,
    form: Form,
    report: Callable[[int, int], None] | None = None,
) -> JointModel:
    """From what was released to the model: all of it is post-processing."""
    effort = EFFORTS[spec.effort]
    seen = combined([observed(domain, table.axes, table.measurement, form, table.groups) for table in bought])
    believed = dict(zip(links.pairs, links.errors.tolist(), strict=True))
    observations, gains = [], {}
    for one in seen:
        if len(one.attributes) == 2:
            expected = columns.expected(one.attributes, one.groups)
            error = believed[one.attributes] if links.deviation else excess_error(one, expected)
            harm = noise_harm(one.table.shape, expected, np.array([one.variance]))
            gains[one.attributes] = max(error - float(harm[0]), 1.0)
            one = replace(one, strength=max(error, links.deviation, 1.0) / columns.total)
        observations.append(one)
    trees = grow_trees(
        domain.cardinalities,
        list(gains),
        np.array(list(gains.values())),
        clique_cells=effort.clique_cells,
        total_cells=effort.tree_cells,
        most=effort.trees,
    )
    fits = fit_trees(trees, columns, observations, passes=effort.passes, progress=report)
    return JointModel(
        domain,
        [(table.axes, table.measurement) for table in bought],
        form=form,
        total=columns.total,
        fits=fits,
        groups=[table.groups for table in bought],
    )


def _buy_columns(
    counts: CountingBackend, ledger: Ledger, report: Callable[[int, int], None] | None
) -> tuple[MeasuredTable, ...]:
    """Every column's deviations from its mean: the least squared error in all for the money."""
    tables = _single_columns(counts.domain)
    sizes = np.array([counts.domain.cells(table) for table in tables], np.float64)
    share = ledger.total * COLUMNS
    return _buy(counts, ledger, tables, (np.sqrt(sizes) * (sizes - 1)) ** (2 / 3), share, report)


def _select(counts: CountingBackend, ledger: Ledger, columns: Columns, n: int) -> Links:
    sizes = counts.domain.cardinalities
    known = Pairs.of(sizes, most_cells=PAIR_CELLS, most_in_all=PAIRS_CELLS).members
    pairs = [pair for pair in known if min(sizes[a] for a in pair) > 1]
    if not pairs:
        return Links(pairs=(), errors=np.zeros(0), deviation=0.0)
    if ledger.budget.is_pure:
        draws = int(DRAWS * len(sizes))
        return drawn_links(counts, ledger, pairs, columns.shares, n, ledger.total * CHOICES, draws)
    bias = column_bias(pairs, columns.shares, columns.count_variances(), n)
    return measured_links(counts, ledger, pairs, columns.shares, n, bias, ledger.total * ERRORS)


def _buy_tables(
    counts: CountingBackend,
    ledger: Ledger,
    columns: Columns,
    links: Links,
    report: Callable[[int, int], None] | None,
) -> tuple[MeasuredTable, ...]:
    """What is left of the budget, shared over interaction tables of pairs and columns at one price."""
    domain, pure = counts.domain, ledger.budget.is_pure
    wares = pair_wares(domain, columns, links, ledger.unit, pure=pure, finenesses=() if pure else FINENESSES)
    wares += column_wares(domain, columns, ledger.unit, pure=pure, first_item=len(links.pairs))
    if not wares:
        return ()
    shares = allocate([ware.offer for ware in wares], float(ledger.remaining), pure=pure)
    if not shares.sum() > 0:
        shares = np.array([float(len(ware.axes) == 1) for ware in wares])
    kept = [ware for ware, share in zip(wares, shares, strict=True) if share > 0]
    spend = exact_shares(shares[shares > 0], ledger.remaining)
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


def _known_columns(domain: Domain, bought: Sequence[MeasuredTable], n: int, ledger: Ledger) -> Columns:
    singles = [
        observed(domain, table.axes, table.measurement, _form(ledger)) for table in bought if len(table.axes) == 1
    ]
    return Columns.of(domain.cardinalities, combined(singles), float(n), _total_variance(ledger))


def _total_variance(ledger: Ledger) -> float:
    """Of the noise in the number of rows, where that was bought."""
    for receipt in ledger.receipts[:1]:
        if not ledger.unit.n_is_public:
            return 2 * receipt.scale**2 if ledger.budget.is_pure else receipt.scale**2
    return 0.0


def _form(ledger: Ledger) -> Form:
    return "whole" if ledger.budget.is_pure else "residual"


def _stage(progress: Progress | None, name: str) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    report = progress
    return lambda done, total: report(name, done, total)


def plan(spec: BestSpec, domain: Domain, *, n: int, budget: PrivacyBudget, unit: PrivacyUnit) -> Plan:
    """What a fit would buy, rehearsed on a made-up table with the same schema and number of rows."""
    from privbayes.methods.best_plan import rehearse

    return rehearse(partial(fit, spec), domain, n=n, budget=budget, unit=unit, encoding=spec.encoding)
