"""`best`, the third order: what pairs cannot say about three attributes, bought where it is worth its noise.

A model of the pairs is fitted first. The triples are compared with what it says of them, all at once in one noisy
vector; what is left of the budget is offered to their three-way interactions, and once more to pairs and columns, at
one common price. Where the model's trees hold too few of the triples that are worth it, they are grown again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from privbayes.core.clique_tree import CliqueTree
from privbayes.core.residuals import Coordinates
from privbayes.core.workload import Workload
from privbayes.counts.backend import CountingBackend
from privbayes.measure.allocate import Offer, allocate, exact_shares, noise_harm, unit_variance
from privbayes.measure.marginals import MeasuredTable
from privbayes.measure.residuals import measure_residuals
from privbayes.model.columns import Columns
from privbayes.model.joint import JointModel
from privbayes.model.observations import Observation
from privbayes.privacy.ledger import Ledger
from privbayes.structure.links import Links
from privbayes.structure.pair_errors import GRID, pair_error_sensitivity
from privbayes.structure.triples import measured_triples, most_promising

__all__ = ["HELD", "Beyond", "buy_triples", "select_triples", "worth_a_clique"]

HELD = Fraction(15, 100)  # of what tables may cost, kept for triples and for a second look at pairs
LEAST, MOST = Fraction(2, 100), Fraction(50, 100)  # of that, for the errors
SHARPER = 0.5  # errors are seen through this part of the harm that noise would do
AGAIN = 4.0  # a pair is part of many triples, so that money for it does good in all of them
CELLS = 2**16  # of one triple's table, at most
CANDIDATES = 3_000
ENOUGH = 0.5  # of what triples are worth, held by the draft's first tree, for it to stay
LISTED = 200_000  # wanted triples, above which only those inside a clique are looked at

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Beyond:
    """Triples, how far each is from what a draft says of it, and the counts of its cells as the draft has them."""

    links: Links
    expected: Mapping[tuple[int, ...], Vector]

    def within(self, tree: CliqueTree) -> Beyond:
        """Those that a clique of the tree holds."""
        return Beyond(self.links.within(tree.cliques), self.expected)


def select_triples(
    counts: CountingBackend,
    ledger: Ledger,
    draft: JointModel,
    links: Links,
    seen: Sequence[Observation],
    columns: Columns,
    workload: Workload,
) -> Beyond:
    """The wanted triples with the errors that they are believed to have beyond their pairs."""
    sizes = counts.domain.cardinalities
    cliques = draft.tree.cliques if workload.number_of_triples() > LISTED else [tuple(range(len(sizes)))]
    possible = [
        triple
        for triple in workload.triples_within(cliques)
        if min(sizes[a] for a in triple) > 1 and prod(sizes[a] for a in triple) <= CELLS
    ]
    triples = most_promising(possible, dict(zip(links.pairs, links.errors.tolist(), strict=True)), CANDIDATES)
    if not triples:
        return Beyond(Links(pairs=(), errors=np.zeros(0), deviation=0.0), {})
    expected = [columns.total * table.ravel() for table in draft.triple_tables(triples)]
    part = _for_errors(ledger, [tuple(sizes[a] for a in triple) for triple in triples], expected)
    bias = _noise_of_pairs(triples, seen, columns)
    links = measured_triples(counts, ledger, triples, expected, bias, part)
    return Beyond(links, dict(zip(triples, expected, strict=True)))


def worth_a_clique(
    ledger: Ledger,
    trees: Sequence[CliqueTree],
    triples: Beyond,
    seen: Sequence[Observation],
    columns: Columns,
    workload: Workload,
) -> dict[tuple[int, ...], float]:
    """The triples that would be bought if a tree could hold them all, and what each would take away; none where the
    first of these trees holds most of that.
    """
    offers = _offers(ledger, triples, seen, columns, workload)
    if not offers:
        return {}
    shares = allocate(offers, float(ledger.remaining))
    found: dict[tuple[int, ...], float] = {
        triple: float(offer.gain(np.array([share]))[0])
        for triple, offer, share in zip(triples.links.pairs, offers, shares, strict=False)
        if share > 0
    }
    cliques = [set(clique) for clique in trees[0].cliques]
    held = sum(gain for triple, gain in found.items() if any(clique.issuperset(triple) for clique in cliques))
    return found if held < ENOUGH * sum(found.values()) else {}


def buy_triples(
    counts: CountingBackend,
    ledger: Ledger,
    triples: Beyond,
    seen: Sequence[Observation],
    columns: Columns,
    workload: Workload,
    report: Callable[[int, int], None] | None,
) -> tuple[MeasuredTable, ...]:
    """All that is left of the budget: triples, and pairs and columns once more, over the same values or groups."""
    offers = _offers(ledger, triples, seen, columns, workload)
    if not offers:
        return ()
    shares = allocate(offers, float(ledger.remaining))
    kept = np.flatnonzero(shares > 0)
    sets = [*triples.links.pairs, *(one.attributes for one in seen)]
    groups = [*(None for _ in triples.links.pairs), *(one.groups for one in seen)]
    tables = [tuple(counts.domain.axis(a) for a in sets[k]) for k in kept]
    spend = exact_shares(shares[kept], ledger.remaining)
    return measure_residuals(counts, ledger, tables, spend, report, [groups[k] for k in kept])


def _for_errors(ledger: Ledger, shapes: Sequence[tuple[int, ...]], expected: Sequence[Vector]) -> Fraction:
    """How much of what is left goes to the errors: enough to see them through half the harm that noise would do to the
    tables, were all bought alike. Small tables are spoilt little, so that it takes much to tell which are worth it.
    """
    left = ledger.remaining
    harms = []
    for shape, counts in zip(shapes, expected, strict=True):
        unit = unit_variance(Coordinates.of(shape, pure=False), ledger.unit)
        harms.append(noise_harm(shape, counts, np.array([unit * len(shapes) / float(left)]))[0])
    bound = pair_error_sensitivity(ledger.unit.neighbours, len(shapes)).for_rows(ledger.unit.rows_per_person)
    variance = (SHARPER * float(np.median(harms)) * GRID) ** 2
    return min(max(Fraction(float(bound.l2_squared or 0) / (2 * variance)), left * LEAST), left * MOST)


def _noise_of_pairs(triples: Sequence[tuple[int, ...]], seen: Sequence[Observation], columns: Columns) -> Vector:
    """The error that the noise in its three pairs puts into a triple, in quadrature."""
    harms: dict[tuple[int, ...], float] = {}
    for one in seen:
        if len(one.attributes) == 2:
            expected = columns.expected(one.attributes, one.groups)
            harms[one.attributes] = noise_harm(one.table.shape, expected, np.array([one.variance]))[0]
    return np.array([sum(harms.get(pair, 0.0) ** 2 for pair in combinations(triple, 2)) for triple in triples]) ** 0.5


def _offers(
    ledger: Ledger, triples: Beyond, seen: Sequence[Observation], columns: Columns, workload: Workload
) -> list[Offer]:
    """First the triples, then what was bought before, of which only the noise is left to take away."""
    offers: list[Offer] = []

    def offer(shape: Sequence[int], expected: Vector, error: float, weight: float, precision: float) -> None:
        coordinates = Coordinates.of(shape, pure=False)
        offers.append(
            Offer(
                item=len(offers),
                shape=coordinates.shape,
                expected=expected,
                error=error,
                weight=weight,
                unit=unit_variance(coordinates, ledger.unit),
                precision=precision,
            )
        )

    for triple, error in zip(triples.links.pairs, triples.links.errors.tolist(), strict=True):
        shape = [len(columns.shares[a]) for a in triple]
        offer(shape, triples.expected[triple], error, workload.of_triple(triple), 0.0)
    for one in seen:
        weight = AGAIN * workload.of_table(one.attributes)
        offer(one.table.shape, columns.expected(one.attributes, one.groups), 0.0, weight, 1 / one.variance)
    return offers
