"""The reference engine: exact counts of an encoded table held in memory, on all cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from privbayes.core.contingency import Contingency
from privbayes.core.domain import Domain
from privbayes.core.parallel import available_cores, run_parts
from privbayes.counts.axes import AxisColumns, AxisMaps, merge_rows
from privbayes.counts.batch import Batch
from privbayes.counts.planner import plan_counts
from privbayes.counts.request import MarginalRequests
from privbayes.errors import UnsupportedError

__all__ = ["MemoryBackend"]

# Cell numbers are 32 bits wide in the kernels.
_MOST_CELLS = 1 << 32
# Merging identical rows costs about as much as counting this many tables.
_MERGE_AFTER = 200


class MemoryBackend:
    """Counts tables over one encoded table held in memory (fulfils `CountingBackend`).

    ``columns`` holds one array of unsigned codes an attribute (level 0). ``max_bytes`` bounds the answer to one batch;
    the working memory on top is the columns of the axes asked for and a few megabytes a thread.
    """

    def __init__(
        self,
        domain: Domain,
        columns: Sequence[NDArray[np.unsignedinteger]],
        *,
        threads: int | None = None,
        max_bytes: int = 256 * 2**20,
    ) -> None:
        if len(columns) != len(domain):
            raise ValueError(f"got {len(columns)} columns for a domain of {len(domain)} attributes")
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        self._n_rows = len(columns[0]) if columns else 0
        for name, size, column in zip(domain.names, domain.cardinalities, columns, strict=True):
            if column.ndim != 1 or len(column) != self._n_rows or not np.issubdtype(column.dtype, np.unsignedinteger):
                raise ValueError(f"column {name!r} must be one-dimensional, unsigned and as long as the others")
            if len(column) and column.max() >= size:
                raise ValueError(f"column {name!r} holds a code outside 0 .. {size - 1}")
        self._domain = domain
        self._columns = tuple(columns)
        self._maps = AxisMaps(domain)
        self._whole = AxisColumns(domain, self._columns, self._n_rows)
        self._rows = self._whole
        self._weight = np.empty(0, np.int64)
        self._merge_tried = False
        self._counted = 0
        self._threads = threads if threads is not None else available_cores()
        self._max_bytes = min(max_bytes, 8 * _MOST_CELLS)

    @property
    def domain(self) -> Domain:
        """The encoded domain (public)."""
        return self._domain

    @property
    def n_rows(self) -> int:
        """Exact number of rows: public under ``replace``, private under ``add-remove``."""
        return self._n_rows

    def count(self, requests: MarginalRequests) -> Contingency:
        """One batch of exact tables; refused beforehand if they do not fit in ``max_bytes``."""
        sizes = requests.sizes(self._domain)
        needed = 8 * float(sizes.sum(dtype=np.float64))
        if needed > self._max_bytes:
            raise UnsupportedError(
                f"the tables asked for at once take {needed / 2**20:,.0f} MB, over the limit of "
                f"{self._max_bytes / 2**20:,.0f} MB; ask for fewer or smaller tables"
            )
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        cells = np.zeros(int(offsets[-1]), np.int64)
        if len(requests):
            plan = plan_counts(requests, self._domain, self._rows.n_rows)
            if self._merge_if_it_pays(len(plan) - plan.n_packed):
                plan = plan_counts(requests, self._domain, self._rows.n_rows)
            batch = Batch.of(plan, requests, offsets[:-1], self._rows)
            packed, mixed = batch.axes[: batch.n_packed], batch.axes[batch.n_packed :]
            self._whole.require_bits(np.unique(packed[packed >= 0]))
            self._rows.require(np.unique(mixed[mixed >= 0]))
            chunks = list(batch.chunks(self._threads))
            run_parts(lambda start, stop: self._answer(batch, start, stop, cells), chunks, self._threads)
        return Contingency(cells, offsets)

    def rows(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The level-0 codes of the rows at these places, one row a line (exact and secret)."""
        codes = np.empty((len(places), len(self._columns)), np.int64)
        for a, column in enumerate(self._columns):
            codes[:, a] = column[places]
        return codes

    def _merge_if_it_pays(self, tables: int) -> bool:
        """Replace the rows by the distinct ones with weights, once enough tables were asked for to be worth a sort."""
        self._counted += tables
        if self._merge_tried or self._counted < _MERGE_AFTER:
            return False
        self._merge_tried = True
        merged = merge_rows(self._domain, self._columns, self._max_bytes)
        if merged is not None:
            columns, self._weight = merged
            self._rows = AxisColumns(self._domain, columns, len(self._weight))
        return merged is not None

    def _answer(self, batch: Batch, start: int, stop: int, cells: NDArray[np.int64]) -> None:
        """Count some roots of a batch, and fill in the requests derived from them."""
        from privbayes.counts.bit_kernels import count_bits
        from privbayes.counts.kernels import derive

        whole, rows, maps = self._whole, self._rows, self._maps
        asked = batch.derived(start, stop)
        requests, starts = batch.requests[asked], batch.starts[asked]
        offsets = np.concatenate([[0], np.cumsum(batch.root_cells[start:stop])]).astype(np.int64)
        if batch.is_direct(start, stop):
            last = np.full(1, rows.constant, np.int32)
            self._count_mixed(requests, last, offsets, cells[starts[0] : starts[0] + offsets[1]])
            return
        axes = batch.axes[start:stop]
        counted = np.zeros(int(offsets[-1]), np.int64)
        if start < batch.n_packed:
            count_bits(whole.bits, whole.bit_slot, whole.flipped, self._n_rows, axes, offsets, counted)
        else:
            self._count_mixed(batch.prefix[start:stop], batch.last[start:stop], offsets, counted)
        derive(
            maps.attribute,
            maps.size,
            maps.member,
            maps.member_start,
            maps.code,
            maps.code_start,
            axes,
            offsets,
            counted,
            requests,
            batch.request_root[asked] - start,
            starts,
            cells,
        )

    def _count_mixed(
        self, prefix: NDArray[np.int32], last: NDArray[np.int32], offsets: NDArray[np.int64], out: NDArray[np.int64]
    ) -> None:
        from privbayes.counts.kernels import count_mixed

        rows, (narrow, medium, wide) = self._rows, self._rows.by_width
        count_mixed(narrow, medium, wide, rows.kind, rows.slot, rows.sizes, self._weight, prefix, last, offsets, out)

    def __repr__(self) -> str:
        return f"<MemoryBackend over {len(self._domain)} attributes, rows hidden>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a backend holds private rows and cannot be pickled, copied or saved")
