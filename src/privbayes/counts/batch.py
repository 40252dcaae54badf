"""A plan laid out for the in-memory kernels: roots in an order that shares work, requests by root, cut into chunks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privbayes.counts.axes import AxisColumns
from privbayes.counts.planner import CountingPlan
from privbayes.counts.request import MarginalRequests

__all__ = ["Batch"]

# A thread's share of roots at a time: their cells stay in the second cache.
_CHUNK_CELLS = 1 << 17
# A table of this many cells that answers one request alone is counted right into the answer.
_DIRECT_CELLS = 1 << 16


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Roots r over ``axes[r]`` in lexicographic order of a common ranking of the axes, packed ones first.

    ``prefix[r]`` are the axes of r without a narrow last one, which is ``last[r]`` (or the constant axis). Request t,
    whose cells start at ``starts[t]`` of the answer, is derived from root ``request_root[t]``, which ascends.
    """

    axes: NDArray[np.int32]
    root_cells: NDArray[np.int64]
    prefix: NDArray[np.int32]
    last: NDArray[np.int32]
    n_packed: int
    requests: NDArray[np.int32]
    request_root: NDArray[np.int64]
    starts: NDArray[np.int64]

    @staticmethod
    def of(plan: CountingPlan, requests: MarginalRequests, starts: NDArray[np.int64], columns: AxisColumns) -> Batch:
        """Lay out a plan. Wide axes rank first, since the last axis must be narrow; then the axes used most, so that
        many roots share their first axes.
        """
        absent = columns.constant
        used = np.bincount(plan.roots[plan.roots >= 0], minlength=absent)
        axis_of = np.append(np.lexsort([-used, -columns.kind[:absent]]), absent)
        rank = np.argsort(axis_of)
        ranked = np.sort(rank[np.where(plan.roots < 0, absent, plan.roots)], axis=1)
        unpacked = np.arange(len(plan)) >= plan.n_packed
        order = np.lexsort([*ranked.T[::-1], unpacked])
        axes = axis_of[ranked[order]].astype(np.int32)
        axes[axes == absent] = -1

        end = (axes >= 0).sum(axis=1) - 1
        last = np.full(len(axes), absent, np.int32)
        prefix = axes.copy()
        candidate = axes[np.arange(len(axes)), end] if axes.shape[1] else last
        narrow = np.flatnonzero((end >= 0) & (columns.kind[candidate] == 0))
        last[narrow] = candidate[narrow]
        prefix[narrow, end[narrow]] = -1

        place = np.argsort(order)
        request_root = place[plan.root_of]
        by_root = np.argsort(request_root, kind="stable")
        return Batch(
            axes=axes,
            root_cells=plan.root_cells[order],
            prefix=prefix,
            last=last,
            n_packed=plan.n_packed,
            requests=requests.axes[by_root],
            request_root=request_root[by_root],
            starts=starts[by_root],
        )

    def chunks(self, threads: int) -> Iterator[tuple[int, int]]:
        """Ranges of roots, packed and others apart, small enough for the cache and to keep all threads busy."""
        for low, high in ((0, self.n_packed), (self.n_packed, len(self.axes))):
            ends = np.cumsum(self.root_cells[low:high])
            limit = min(_CHUNK_CELLS, int(ends[-1]) // (4 * threads)) if len(ends) else 0
            start = low
            while start < high:
                before = int(ends[start - low - 1]) if start > low else 0
                stop = max(start + 1, low + int(np.searchsorted(ends, before + limit, side="right")))
                yield start, stop
                start = stop

    def derived(self, start: int, stop: int) -> slice:
        """The requests answered from roots start .. stop - 1."""
        low, high = np.searchsorted(self.request_root, [start, stop])
        return slice(int(low), int(high))

    def is_direct(self, start: int, stop: int) -> bool:
        """Whether the range is one large table that nothing is derived from but the one request it was made for."""
        asked = self.derived(start, stop)
        return (
            stop - start == 1
            and asked.stop - asked.start == 1
            and start >= self.n_packed
            and int(self.root_cells[start]) >= _DIRECT_CELLS
        )
