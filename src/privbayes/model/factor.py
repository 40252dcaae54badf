"""Factors over axes (attributes at a level), and variable elimination with a limit on the largest table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from privbayes.errors import UnsupportedError

__all__ = ["MAX_CELLS", "Elimination", "Factor", "eliminate", "elimination_order", "joint"]

MAX_CELLS = 2**24  # 128 MB of doubles
MAX_SLICES = 4096


@dataclass(frozen=True, eq=False)
class Factor:
    """A non-negative table over axes; ``scope`` is increasing and matches the dimensions of ``values``."""

    scope: tuple[int, ...]
    values: NDArray[np.float64]

    @staticmethod
    def of(scope: Sequence[int], values: NDArray[np.float64]) -> Factor:
        """From any order of dimensions."""
        order = np.argsort(np.asarray(scope, np.int64), kind="stable")
        return Factor(tuple(int(scope[i]) for i in order), np.transpose(values, order) if len(order) else values)

    def fix(self, axis: int, code: int) -> Factor:
        """The slice at one code of an axis."""
        if axis not in self.scope:
            return self
        at = self.scope.index(axis)
        return Factor(self.scope[:at] + self.scope[at + 1 :], np.take(self.values, code, axis=at))


@dataclass(frozen=True, eq=False)
class Elimination:
    """What one elimination step saw: ``table`` is the product over (*neighbours, axis) before summing the axis out."""

    axis: int
    neighbours: tuple[int, ...]
    table: NDArray[np.float64]


def joint(
    factors: Sequence[Factor], keep: Sequence[int], sizes: Sequence[int], *, max_cells: int = MAX_CELLS
) -> NDArray[np.float64]:
    """Sum of the product of all factors over everything but ``keep``; axes in the order of ``keep``.

    Exact always. Where a step would need more than ``max_cells`` cells, an axis is fixed to each of its codes
    in turn (cutset conditioning): more time, the same memory.
    """
    cells = prod(sizes[a] for a in keep)
    if cells > max_cells:
        raise UnsupportedError(
            f"a table over these columns has {cells:,} cells, over the limit of {max_cells:,}; ask for fewer"
        )
    total = _sliced(list(factors), tuple(sorted(keep)), sizes, max_cells, MAX_SLICES)
    return np.transpose(total, [sorted(keep).index(a) for a in keep]) if keep else total


def eliminate(
    factors: Sequence[Factor], order: Iterable[int], sizes: Sequence[int], *, max_cells: int = MAX_CELLS
) -> tuple[list[Factor], list[Elimination]]:
    """Sum the axes out in this order, remembering each step."""
    rest = list(factors)
    steps: list[Elimination] = []
    for axis in order:
        touching = [factor for factor in rest if axis in factor.scope]
        rest = [factor for factor in rest if axis not in factor.scope]
        scope = tuple(sorted({a for factor in touching for a in factor.scope} - {axis}))
        if prod(sizes[a] for a in (*scope, axis)) > max_cells:
            raise UnsupportedError("an exact answer needs a table over the limit")
        table = _product(touching, (*scope, axis), sizes)
        steps.append(Elimination(axis, scope, table))
        rest.append(Factor(scope, table.sum(axis=-1)))
    return rest, steps


def elimination_order(
    scopes: Iterable[tuple[int, ...]], drop: Iterable[int], sizes: Sequence[int]
) -> tuple[list[int], int]:
    """Least-cells-first order, and the most cells any step needs."""
    neighbours: dict[int, set[int]] = {}
    for scope in scopes:
        for a in scope:
            neighbours.setdefault(a, set()).update(scope)
    left = set(drop)
    order: list[int] = []
    worst = 1
    while left:
        cells = {a: prod(sizes[b] for b in neighbours.get(a, {a})) for a in left}
        best = min(left, key=lambda a: (cells[a], a))
        worst = max(worst, cells[best])
        around = neighbours.get(best, {best}) - {best}
        for a in around:
            neighbours[a] = (neighbours[a] | around) - {best}
        left.discard(best)
        order.append(best)
    return order, worst


def _sliced(
    factors: list[Factor], keep: tuple[int, ...], sizes: Sequence[int], max_cells: int, slices: int
) -> NDArray[np.float64]:
    everything = {a for factor in factors for a in factor.scope}
    drop = everything - set(keep)
    order, worst = elimination_order([factor.scope for factor in factors], drop, sizes)
    if worst <= max_cells:
        rest, _ = eliminate(factors, order, sizes, max_cells=max_cells)
        return _product(rest, keep, sizes)
    # Fix the axis that is in most factors: it takes its size out of the most steps.
    cut = max(drop, key=lambda a: (sum(a in factor.scope for factor in factors) * np.log(sizes[a]), a))
    if sizes[cut] > slices:
        raise UnsupportedError(
            "an exact answer over these columns would take too long under this model; ask for fewer columns, or sample"
        )
    total: NDArray[np.float64] = np.zeros([sizes[a] for a in keep])
    for code in range(sizes[cut]):
        fixed = [factor.fix(cut, code) for factor in factors]
        total = total + _sliced(fixed, keep, sizes, max_cells, slices // sizes[cut])
    return total


def _product(factors: Sequence[Factor], scope: tuple[int, ...], sizes: Sequence[int]) -> NDArray[np.float64]:
    """The product over exactly ``scope``, axes in that order."""
    result = np.ones([sizes[a] for a in scope])
    place = {a: i for i, a in enumerate(scope)}
    for factor in factors:
        order = sorted(range(len(factor.scope)), key=lambda i: place[factor.scope[i]])
        shape = [1] * len(scope)
        for a in factor.scope:
            shape[place[a]] = sizes[a]
        result *= np.transpose(factor.values, order).reshape(shape)
    return result
