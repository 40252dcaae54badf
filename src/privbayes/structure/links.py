"""SELECT: which pairs of attributes seem to belong together, and how far each is from independence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from privbayes.counts.backend import CountingBackend
from privbayes.privacy.ledger import Ledger
from privbayes.structure.pair_errors import GRID, Reference, measure_errors
from privbayes.structure.strengths import posterior_errors

__all__ = ["Links", "measured_links"]

Vector = NDArray[np.float64]
Pair = tuple[int, int]


@dataclass(frozen=True, kw_only=True, eq=False)
class Links:
    """Pairs (or triples) that may be worth a table, each with the L1 error (in rows) that independence (or a model of
    pairs) is believed to make on it. ``deviation``: of the noise through which errors were seen; a smaller one may be
    anything.
    """

    pairs: tuple[tuple[int, ...], ...]
    errors: Vector
    deviation: float

    def within(self, cliques: Iterable[Sequence[int]]) -> Links:
        """Those that lie inside one of these cliques."""
        sets = [frozenset(clique) for clique in cliques]
        kept = [k for k, pair in enumerate(self.pairs) if any(clique.issuperset(pair) for clique in sets)]
        return Links(pairs=tuple(self.pairs[k] for k in kept), errors=self.errors[kept], deviation=self.deviation)


def measured_links(
    counts: CountingBackend,
    ledger: Ledger,
    pairs: Sequence[Pair],
    shares: Sequence[Vector],
    total: int,
    bias: Vector,
    share: Fraction,
    reference: Reference | None = None,
) -> Links:
    """All errors as one noisy vector; its noise grows as the root of their number under zCDP, otherwise with it."""
    released = measure_errors(counts, ledger, pairs, shares, total, share, reference)
    deviation = sqrt(released.variance) / GRID
    errors = posterior_errors(released.values / GRID, deviation, bias, laplace=ledger.budget.is_pure)
    return Links(pairs=tuple(pairs), errors=errors, deviation=deviation)
