"""`best` under pure epsilon: a few tables over many columns, the joint fit as ever.

Laplace noise on T tables grows with T, not with its root, so that a table for every pair is out of reach. A table over
a block of columns holds all their pairs at once.

    BUY     the number of rows (where it is private), and blocks that cover columns and pairs evenly
    SELECT  how far pairs are from the product of their columns: small pairs by what the blocks show; the others, where
            the noise allows, by one noisy vector of errors. From that the blocks worth their noise
    BUY     these
    INFER   every block as the interaction parts of its columns and pairs, then as under zCDP
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from privbayes.core.domain import Domain
from privbayes.core.pairs import Pairs
from privbayes.core.residuals import centred
from privbayes.core.workload import Workload
from privbayes.counts.backend import CountingBackend
from privbayes.measure.allocate import exact_shares, noise_harm
from privbayes.measure.blocks import MOST_CELLS, Block, Knowledge, choose_blocks
from privbayes.measure.marginals import MeasuredTable, measure_marginals, table_sensitivity
from privbayes.measure.residuals import measure_residuals
from privbayes.model.columns import Columns
from privbayes.model.interactions import observations_of
from privbayes.model.joint import JointModel
from privbayes.model.joint_fit import fit_trees
from privbayes.model.observations import Observation
from privbayes.model.smooth import is_ordered, smoothed
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.unit import PrivacyUnit
from privbayes.structure.links import Links, measured_links
from privbayes.structure.strengths import column_bias, shown_errors
from privbayes.structure.tree_growth import grow_trees

if TYPE_CHECKING:
    from privbayes.methods.best import Effort

__all__ = ["fit", "infer"]

FIRST = Fraction(10, 100)  # of what there is after the number of rows
SUPPOSED = 0.1  # of all rows: the error of independence on a pair of which nothing is known
ERRORS = Fraction(15, 100)  # at most, for the vector of errors
_SHARP = 0.05  # of all rows: a vector with less noise than this is not worth more budget
_BLURRED = 0.2  # of all rows: a vector with more noise than this is not worth any
_NARROW = 4  # cells: pairs that blocks show well
_LEAST = 1e-4  # of all rows: a pair with less error counts as independent

Report = Callable[[int, int], None]
Pair = tuple[int, int]


def fit(
    effort: Effort,
    counts: CountingBackend,
    ledger: Ledger,
    n: int,
    total_variance: float,
    workload: Workload,
    progress: Callable[[str], Report | None],
) -> JointModel:
    """Buy evenly, select, buy what is worth it, infer."""
    domain, unit = counts.domain, _cell_variance(ledger.unit)
    first = ledger.remaining * FIRST
    nothing = Knowledge.none(domain.cardinalities, float(n), workload.matrix, SUPPOSED)
    evenly = choose_blocks(nothing, float(first), unit, even=True)
    bought = _buy(counts, ledger, evenly, first, progress("columns"))
    seen = _seen(domain, bought)
    columns = Columns.of(domain.cardinalities, seen, float(n), total_variance)
    links = _look(counts, ledger, columns)
    known = _known(columns, seen, links, workload)
    chosen = choose_blocks(known, float(ledger.remaining), unit, even=False)
    bought += _buy(counts, ledger, chosen, ledger.remaining, progress("tables"))
    return infer(effort, domain, bought, links, float(n), total_variance, workload, progress("fit"))


def infer(
    effort: Effort,
    domain: Domain,
    bought: Sequence[MeasuredTable],
    links: Links,
    total: float,
    total_variance: float,
    workload: Workload,
    report: Report | None = None,
) -> JointModel:
    """From what was released to the model: all of it is post-processing."""
    seen = _seen(domain, bought)
    columns = Columns.of(domain.cardinalities, seen, total, total_variance)
    errors = _known(columns, seen, links, workload).errors
    observations, gains = [], {}
    for one in seen:
        if len(one.attributes) == 2:
            error = float(errors[one.attributes])
            if error < _LEAST * total:
                continue
            harm = noise_harm(one.table.shape, columns.expected(one.attributes), np.array([one.variance]))
            gains[one.attributes] = workload.of_table(one.attributes) * max(error - float(harm[0]), 1.0)
            one = replace(one, strength=max(error, 1.0) / total)
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
    tables = [(table.axes, table.measurement) for table in bought]
    return JointModel(domain, tables, form="blocks", total=total, fits=fits, workload=workload)


def _seen(domain: Domain, bought: Sequence[MeasuredTable]) -> list[Observation]:
    """Blocks as their parts, purchases of one part as one; columns with an order smoothed along it."""
    found = observations_of(domain, [(table.axes, table.measurement) for table in bought], "blocks")
    ordered = [is_ordered(attribute) for attribute in domain.attributes]
    return [smoothed(one) if len(one.attributes) == 1 and ordered[one.attributes[0]] else one for one in found]


def _cell_variance(unit: PrivacyUnit) -> float:
    """Of the noise on a cell of a table bought with a share of 1."""
    return 2.0 * float(table_sensitivity(unit.neighbours).for_rows(unit.rows_per_person).l1 or 0) ** 2


def _buy(
    counts: CountingBackend, ledger: Ledger, blocks: Sequence[Block], share: Fraction, report: Report | None
) -> list[MeasuredTable]:
    """Whole tables of counts; of a single column what its deviations from the mean need."""
    bought: list[MeasuredTable] = []
    if blocks:
        for block, part in zip(blocks, exact_shares(np.array([b.share for b in blocks]), share), strict=True):
            axes = tuple(counts.domain.axis(a) for a in block.attributes)
            if len(axes) == 1:
                bought += measure_residuals(counts, ledger, [axes], [part])
            else:
                bought += measure_marginals(counts, ledger, [axes], part)
            if report is not None:
                report(len(bought), len(blocks))
    return bought


def _look(counts: CountingBackend, ledger: Ledger, columns: Columns) -> Links:
    """The errors of the pairs that are too large for blocks to show them, if a share of the budget can tell them apart:
    how much noise it leaves is public.
    """
    sizes = counts.domain.cardinalities
    small = Pairs.of(sizes, most_cells=MOST_CELLS, most_in_all=np.inf).members
    pairs = [(a, b) for a, b in small if sizes[a] * sizes[b] > _NARROW and min(sizes[a], sizes[b]) > 1]
    most = ERRORS * ledger.total
    share = min(most, Fraction(sqrt(_cell_variance(ledger.unit)) * len(pairs) / (_SHARP * columns.total)))
    deviation = sqrt(_cell_variance(ledger.unit)) * len(pairs) / float(share) if pairs else 0.0
    if not pairs or deviation > _BLURRED * columns.total:
        return Links(pairs=(), errors=np.zeros(0), deviation=0.0)
    bias = column_bias(pairs, columns.shares, columns.count_variances(), columns.total)
    return measured_links(counts, ledger, pairs, columns.shares, int(columns.total), bias, share)


def _known(columns: Columns, seen: Sequence[Observation], links: Links, workload: Workload) -> Knowledge:
    """What the tables bought so far say of every pair; where its error was looked at itself, what that says."""
    d = len(columns.shares)
    known = Knowledge(
        total=columns.total,
        shares=columns.shares,
        weights=workload.matrix,
        errors=np.full((d, d), SUPPOSED * columns.total),
        pair_precision=np.zeros((d, d)),
        column_precision=np.zeros(d),
    )
    pairs = [one for one in seen if len(one.attributes) == 2]
    for one in seen:
        if len(one.attributes) == 1:
            known.column_precision[one.attributes] = 1 / one.variance
    roots, freedom, units = np.array([_shown(columns, one) for one in pairs], np.float64).reshape(-1, 3).T
    errors = shown_errors(roots, freedom, units, 1.2 * columns.total)
    if len(errors):
        known.errors[:] = errors.mean()  # of pairs that were not seen
    for one, error in zip(pairs, errors.tolist(), strict=True):
        for a, b in (one.attributes, one.attributes[::-1]):
            known.errors[a, b], known.pair_precision[a, b] = error, 1 / one.variance
    for (a, b), error in zip(links.pairs, links.errors.tolist(), strict=True):
        known.errors[a, b] = known.errors[b, a] = error
    return known


def _shown(columns: Columns, one: Observation) -> tuple[float, int, float]:
    """The root of a pair's sum of squares beyond independence, in units of its noise; its degrees of freedom; and the
    squared L1 error that one such unit stands for. Noise in the columns counts as noise of the table.
    """
    (a, b), (r, s) = one.attributes, one.table.shape
    qa, qb = columns.shares[a], columns.shares[b]
    freedom = (r - 1) * (s - 1)
    noise = one.variance * freedom
    noise += columns.variances[a] * (r - 1) * float(((qb - 1 / s) ** 2).sum())
    noise += columns.variances[b] * (s - 1) * float(((qa - 1 / r) ** 2).sum())
    expected = columns.expected(one.attributes).reshape(r, s)
    squares = float(((one.table - centred(expected)) ** 2).sum())
    # In proportion to the expected counts (E|x| of a normal x is 0.8 of its deviation); four cells are equal anyway.
    spread = 4.0 if freedom == 1 else (0.8 * columns.total) ** 2 / float((expected**2).sum())
    return sqrt(squares / noise * freedom), freedom, spread * noise / freedom
