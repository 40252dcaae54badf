"""What a method asks of an engine: a batch of marginal tables, as integer arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privbayes.core.domain import Domain

__all__ = ["MarginalRequests"]


@dataclass(frozen=True, eq=False)
class MarginalRequests:
    """A batch of tables to count. Row t of ``axes`` lists the axes (see `Domain`) of table t in the order wanted for
    its cells, padded at the end with -1. No attribute appears twice in a row.
    """

    axes: NDArray[np.int32]

    def __post_init__(self) -> None:
        if self.axes.ndim != 2 or self.axes.dtype != np.int32:
            raise ValueError("axes must be a two-dimensional int32 array")

    @staticmethod
    def of(tables: Iterable[Sequence[int]]) -> MarginalRequests:
        """From lists of axes of any lengths."""
        rows = [tuple(table) for table in tables]
        width = max((len(row) for row in rows), default=0)
        axes = np.full((len(rows), width), -1, np.int32)
        for t, row in enumerate(rows):
            axes[t, : len(row)] = row
        return MarginalRequests(axes)

    def __len__(self) -> int:
        return len(self.axes)

    def sizes(self, domain: Domain) -> NDArray[np.int64]:
        """Number of cells of each table (callers bound it beforehand; it saturates instead of wrapping around)."""
        size = np.append(domain.axis_size, 1)[self.axes].astype(np.float64)
        cells = size.prod(axis=1) if self.axes.shape[1] else np.ones(len(self))
        return np.minimum(cells, 2.0**62).astype(np.int64)

    def passes(self, domain: Domain, max_cells: int) -> Iterator[slice]:
        """Consecutive parts of the batch with at most ``max_cells`` cells each (one table at least)."""
        ends = np.cumsum(self.sizes(domain).astype(np.float64))
        start = 0
        while start < len(self):
            before = ends[start - 1] if start else 0.0
            stop = max(start + 1, int(np.searchsorted(ends, before + max_cells, side="right")))
            yield slice(start, stop)
            start = stop
