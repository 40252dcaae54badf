"""BUY under pure epsilon: which blocks of columns to take as one table each. Public and released facts only.

T tables share the budget, so that the noise on each grows with T; a table of m cells tells its pairs of columns (a, b)
with m / (r_a r_b) times the variance of its own cells. A few tables over many columns therefore tell more about all
pairs than one table a pair. How many, and over which columns, is searched for: what counts is the error expected to be
left in all pairs, their dependence and their columns taken together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from privbayes.measure.allocate import noise_harm

__all__ = ["MOST_CELLS", "Block", "Knowledge", "choose_blocks"]

MOST_CELLS = 4096  # of a block
_WIDEST = 8  # columns
_STARTS = 8  # of every block: the columns that need it most
_SWEEPS = 2
_COARSE, _FINE = 1.6, 1.25  # steps in the number of blocks that is searched for
_POINTS = 48
_SHARPNESS = 8.0
_ROUNDS = 20
_LEAST = 1e-3  # of the budget: a block for less is left out

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Block:
    """Columns to be bought as one table, and the share of the budget it takes."""

    attributes: tuple[int, ...]
    share: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Knowledge:
    """What released values say so far of ``total`` rows. ``shares``: of the values of each column. ``weights[a, b]``:
    how much a pair matters. ``errors[a, b]``: the L1 error (in rows) that independence is believed to make on it.
    Precisions: one over the variance with which a cell of a pair, or of a column, is known.
    """

    total: float
    shares: Sequence[Vector]
    weights: Vector
    errors: Vector
    pair_precision: Vector
    column_precision: Vector

    @staticmethod
    def none(sizes: Sequence[int], total: float, weights: Vector, supposed: float) -> Knowledge:
        """Nothing is known: columns are taken for uniform, the error of every pair for this part of all rows."""
        d = len(sizes)
        return Knowledge(
            total=total,
            shares=tuple(np.full(size, 1 / size) for size in sizes),
            weights=weights,
            errors=np.full((d, d), supposed * total),
            pair_precision=np.zeros((d, d)),
            column_precision=np.zeros(d),
        )


@dataclass(frozen=True, eq=False)
class _Risks:
    """The L1 error expected in every pair and column, as a function of its precision: on a grid of logarithms, after
    one entry for no knowledge. Noise does the harm it does, but never more than leaving the pair alone.
    """

    grid: Vector
    pair: Vector
    column: Vector

    @staticmethod
    def of(known: Knowledge, attributes: Sequence[int], *, blind: bool) -> _Risks:
        d, counts = len(attributes), [known.total * known.shares[a] for a in attributes]
        sizes = [len(q) for q in counts]
        grid = np.linspace(-2 * log(30 * known.total + 30), log(100), _POINTS)  # deviations of 30 n to 0.1 rows
        variances = np.exp(-grid)
        pair, column = np.zeros((d, d, _POINTS + 1)), np.zeros((d, _POINTS + 1))
        for i, a in enumerate(attributes):
            filled = np.full(sizes[i], 1e30) if blind else counts[i]  # known columns are spared harm on rare values
            weight = known.weights[a].sum() or 1.0  # a column is part of all its pairs
            column[i, 1:] = weight * noise_harm(sizes[i : i + 1], filled, variances)
            column[i, 0] = column[i, 1]
            for j, b in enumerate(attributes[:i]):
                error, weight = known.errors[a, b], known.weights[a, b]
                if error * weight > 0 and sizes[i] * sizes[j] <= MOST_CELLS:
                    expected = np.multiply.outer(counts[i], known.shares[b]).ravel()
                    harm = noise_harm((sizes[i], sizes[j]), expected, variances) / error
                    pair[i, j, 0] = weight * error
                    pair[i, j, 1:] = weight * error * harm / (1 + harm**_SHARPNESS) ** (1 / _SHARPNESS)
                    pair[j, i] = pair[i, j]
        return _Risks(grid, pair, column)

    @property
    def step(self) -> float:
        """Between points of the grid."""
        return float(self.grid[1] - self.grid[0])

    def slopes(self, pair_precision: Vector, column_precision: Vector) -> tuple[float, Vector, Vector]:
        """The error left in all, and how it moves with every precision."""
        d = len(column_precision)
        pairs, by_pair = self._read(self.pair.reshape(d * d, -1), pair_precision.ravel())
        columns, by_column = self._read(self.column, column_precision)
        return float(pairs.sum() / 2 + columns.sum()), by_pair.reshape(d, d), by_column

    def _read(self, risk: Vector, precision: Vector) -> tuple[Vector, Vector]:
        safe = np.maximum(precision, 1e-300)
        x = np.clip((np.log(safe) - self.grid[0]) / self.step, 0.0, _POINTS - 1 - 1e-9)
        k, rows = x.astype(np.int64), np.arange(len(risk))
        rise = risk[rows, k + 2] - risk[rows, k + 1]
        value = np.where(precision > 0, risk[rows, k + 1] + (x - k) * rise, risk[:, 0])
        return value, rise / (self.step * safe)


def choose_blocks(known: Knowledge, budget: float, unit: float, *, even: bool) -> list[Block]:
    """The blocks that leave least error, and their shares of the budget: all much the same (``even``), or as they are
    worth.

    ``unit`` is the variance of the noise on a cell of a table that gets a share of 1; it falls with the square.
    """
    attributes = [a for a, q in enumerate(known.shares) if len(q) > 1]
    if not attributes:
        return []
    sizes = np.array([len(known.shares[a]) for a in attributes], np.float64)
    risks = _Risks.of(known, attributes, blind=even)
    pair_precision = known.pair_precision[np.ix_(attributes, attributes)]
    column_precision = known.column_precision[attributes]

    def grow(count: int, sweeps: int) -> tuple[float, list[tuple[int, ...]]]:
        from privbayes.measure.block_kernels import grow_blocks, remaining_risk

        pairs, columns = pair_precision.copy(), column_precision.copy()
        members = np.full((count, _WIDEST), -1, np.int64)
        grid = (risks.pair, risks.column, float(risks.grid[0]), risks.step)
        quality = (budget / count) ** 2 / unit
        grow_blocks(sizes, quality, float(MOST_CELLS), _STARTS, sweeps, *grid, pairs, columns, members)
        return remaining_risk(*grid, pairs, columns), [tuple(row[row >= 0].tolist()) for row in members]

    most = 4 * len(attributes)
    rough = {count: grow(count, 0) for count in _steps(1, most, _COARSE)}
    best = min(rough, key=lambda count: rough[count][0])
    fine = [
        grow(count, _SWEEPS) for count in _steps(max(1, int(best / _COARSE)), min(most, int(best * _COARSE)), _FINE)
    ]
    blocks = [block for block in min(fine, key=lambda one: one[0])[1] if block]
    if not blocks:
        return []
    times = Counter(tuple(sorted(block)) for block in blocks)  # one purchase is better than two of half the share
    blocks, repeats = list(times), np.array(list(times.values()), np.float64)
    shares = repeats * (budget / repeats.sum())
    if not even:
        shares = _worth(blocks, shares, unit, sizes, risks, pair_precision, column_precision)
    return [
        Block(tuple(attributes[i] for i in block), share)
        for block, share in zip(blocks, shares.tolist(), strict=True)
        if share > _LEAST * budget
    ]


def _steps(low: int, high: int, ratio: float) -> list[int]:
    steps = [low]
    while steps[-1] < high:
        steps.append(min(high, max(steps[-1] + 1, int(steps[-1] * ratio))))
    return steps


def _worth(
    blocks: Sequence[Sequence[int]],
    shares: Vector,
    unit: float,
    sizes: Vector,
    risks: _Risks,
    pair_precision: Vector,
    column_precision: Vector,
) -> Vector:
    """Shares that leave less error. Where the error falls as h / share the best share is as sqrt(h), and
    h = - share^2 slope: shares are moved half the way there (as a geometric mean), again and again.
    """
    budget = shares.sum()
    inside = np.zeros((len(blocks), len(sizes)))
    cells = np.ones(len(blocks))
    for t, block in enumerate(blocks):
        inside[t, list(block)] = sizes[list(block)]
        cells[t] = 1.0 if len(block) == 1 and sizes[block[0]] == 2 else sizes[list(block)].prod()  # a contrast
    least, best = np.inf, shares
    for _ in range(_ROUNDS):
        quality = shares**2 / (unit * cells)
        pairs = pair_precision + (inside.T * quality) @ inside
        left, by_pair, by_column = risks.slopes(pairs, column_precision + quality @ inside)
        if left < least:
            least, best = left, shares
        np.fill_diagonal(by_pair, 0.0)
        slope = 0.5 * ((inside @ by_pair) * inside).sum(axis=1) + inside @ by_column
        wanted = np.sqrt(np.maximum(-2 * slope * quality / shares, 0.0)) * shares
        if not wanted.sum() > 0:
            break
        shares = np.sqrt(shares * wanted) + 1e-9 * budget
        shares = shares * (budget / shares.sum())
    return best
