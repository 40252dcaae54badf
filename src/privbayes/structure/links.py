"""SELECT: which pairs of attributes seem to belong together, and how far each is from independence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from privbayes.counts.backend import CountingBackend
from privbayes.privacy.ledger import Ledger
from privbayes.structure.pair_errors import GRID, draw_pairs, measure_errors
from privbayes.structure.strengths import posterior_errors

__all__ = ["Links", "drawn_links", "measured_links"]

Vector = NDArray[np.float64]
Pair = tuple[int, int]


@dataclass(frozen=True, kw_only=True, eq=False)
class Links:
    """Pairs that may be worth a table, each with the L1 error (in rows) that independence is believed to make on it.
    ``deviation``: of the noise through which errors were seen; a smaller one may be anything.
    """

    pairs: tuple[Pair, ...]
    errors: Vector
    deviation: float


def measured_links(
    counts: CountingBackend,
    ledger: Ledger,
    pairs: Sequence[Pair],
    shares: Sequence[Vector],
    total: int,
    bias: Vector,
    share: Fraction,
) -> Links:
    """All errors as one noisy vector; its noise grows as the root of their number under zCDP, otherwise with it."""
    released = measure_errors(counts, ledger, pairs, shares, total, share)
    deviation = sqrt(released.variance) / GRID
    errors = posterior_errors(released.values / GRID, deviation, bias, laplace=ledger.budget.is_pure)
    return Links(pairs=tuple(pairs), errors=errors, deviation=deviation)


def drawn_links(
    counts: CountingBackend,
    ledger: Ledger,
    pairs: Sequence[Pair],
    shares: Sequence[Vector],
    total: int,
    share: Fraction,
    draws: int,
) -> Links:
    """Pure epsilon: noise on a vector would grow with its length, so the pairs with large errors are drawn, one by one.
    How large their errors are stays unknown: all count as half of the table.
    """
    if draws < len(pairs):
        pairs = [pairs[k] for k in draw_pairs(counts, ledger, pairs, shares, total, share, draws)]
    return Links(pairs=tuple(pairs), errors=np.full(len(pairs), 0.5 * total), deviation=0.0)
