"""Ancestral sampling by column: each attribute in turn, all rows at once, from its conditional given its parents."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit
from numpy.typing import NDArray

from privbayes.core.domain import Domain
from privbayes.model.conditional import ConditionalTable

__all__ = ["AncestralSampler"]


class AncestralSampler:
    """Draws rows from conditional tables listed so that parents come first.

    A parent may be any axis: one that was drawn itself, or a generalisation of an attribute drawn before.
    """

    def __init__(self, domain: Domain, tables: Sequence[ConditionalTable]) -> None:
        self._domain = domain
        self._tables = tuple(tables)
        self._cumulative = [_cumulative(table.probabilities) for table in self._tables]

    def draw(self, rows: int, rng: np.random.Generator) -> tuple[NDArray[np.int32], ...]:
        """Independent rows. The draws depend on the generator alone, not on the number of threads."""
        domain = self._domain
        drawn: dict[int, NDArray[np.int32]] = {}
        parts = _parts(rows)
        with ThreadPoolExecutor(len(parts)) as pool:
            for table, cumulative in zip(self._tables, self._cumulative, strict=True):
                index = np.zeros(rows, np.int64)
                uniforms = rng.random(rows)
                codes = np.empty(rows, np.int32)
                sources = []
                for axis in table.parents:
                    size = int(domain.axis_size[axis])
                    if axis in drawn:
                        sources.append((drawn[axis], np.arange(size), size))
                    else:
                        level_0 = int(domain.first_axis[domain.axis_attribute[axis]])
                        sources.append((drawn[level_0], domain.axis_codes(axis), size))

                def work(
                    part: slice,
                    index: NDArray[np.int64] = index,
                    uniforms: NDArray[np.float64] = uniforms,
                    codes: NDArray[np.int32] = codes,
                    sources: list[tuple[NDArray[np.int32], NDArray[np.int64], int]] = sources,
                    cumulative: NDArray[np.float64] = cumulative,
                ) -> None:
                    for parent, lookup, size in sources:
                        _append_code(index[part], parent[part], lookup, size)
                    _draw(index[part], cumulative, uniforms[part], codes[part])

                list(pool.map(work, parts))
                drawn[table.axis] = codes
        return tuple(drawn[int(axis)] for axis in domain.first_axis)


def _parts(rows: int) -> list[slice]:
    workers = min(os.cpu_count() or 1, max(1, rows // 20_000))
    edges = np.linspace(0, rows, workers + 1).astype(int).tolist()
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def _cumulative(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows that rise to exactly 1, so that a value without probability is never drawn."""
    sums = np.cumsum(probabilities, axis=1)
    sums /= sums[:, -1:]
    return np.ascontiguousarray(sums)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator,unused-ignore]
def _append_code(index: NDArray[np.int64], codes: NDArray[np.int32], lookup: NDArray[np.int64], size: int) -> None:
    for r in range(index.size):
        index[r] = index[r] * size + lookup[codes[r]]


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator,unused-ignore]
def _draw(
    index: NDArray[np.int64],
    cumulative: NDArray[np.float64],
    uniforms: NDArray[np.float64],
    codes: NDArray[np.int32],
) -> None:
    """The first code whose cumulative probability passes the uniform, by bisection."""
    last = cumulative.shape[1] - 1
    for r in range(index.size):
        row = cumulative[index[r]]
        u = uniforms[r]
        low, high = 0, last
        while low < high:
            middle = (low + high) >> 1
            if u < row[middle]:
                high = middle
            else:
                low = middle + 1
        codes[r] = low
