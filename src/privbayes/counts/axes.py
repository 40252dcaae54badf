"""The columns an in-memory count reads: one for each axis, by width or packed into bits, made when first needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbayes.core.domain import Domain

__all__ = ["AxisColumns", "AxisMaps", "merge_rows"]

_WIDTHS: tuple[type[np.unsignedinteger[Any]], ...] = (np.uint8, np.uint16, np.uint32)
_FEWEST_ROWS = 4096
_BYTES_A_ROW = 40

Codes = NDArray[np.unsignedinteger[Any]]


class AxisMaps:
    """How every axis of a domain is obtained from level 0, and back, as flat arrays that a kernel can read."""

    def __init__(self, domain: Domain) -> None:
        codes = [domain.axis_codes(axis) for axis in range(len(domain.axis_size))]
        members = [np.unique(code, return_index=True)[1] for code in codes]
        self.attribute = domain.axis_attribute
        self.size = domain.axis_size
        self.code, self.code_start = _joined(codes)
        self.member, self.member_start = _joined(members)


class AxisColumns:
    """The columns of the axes of one table. One past the axes stands a column with a single value, for tables that
    have no narrow axis to end with.
    """

    def __init__(self, domain: Domain, columns: Sequence[Codes], n_rows: int) -> None:
        n_axes = len(domain.axis_size)
        self._domain = domain
        self._columns = columns
        self.n_rows = n_rows
        self.constant = n_axes
        self.sizes = np.append(domain.axis_size, 1)
        self.kind = np.select([self.sizes <= 1 << 8, self.sizes <= 1 << 16], [0, 1], 2)
        self.slot = np.full(n_axes + 1, -1, np.int64)
        self.slot[n_axes] = 0
        self.by_width: list[Codes] = [np.zeros((int(k == 0), n_rows), width) for k, width in enumerate(_WIDTHS)]
        self.bits = np.zeros((0, -(-n_rows // 64)), np.uint64)
        self.bit_slot = np.full(n_axes + 1, -1, np.int64)
        self.flipped = np.zeros(0, np.bool_)

    def require(self, axes: NDArray[np.integer]) -> None:
        """Make the code columns of these axes, if they are not there yet."""
        for k, width in enumerate(_WIDTHS):
            missing = [int(axis) for axis in axes if self.kind[axis] == k and self.slot[axis] < 0]
            if missing:
                held = len(self.by_width[k])
                grown = np.empty((held + len(missing), self.n_rows), width)
                grown[:held] = self.by_width[k]
                for i, axis in enumerate(missing):
                    grown[held + i] = self._codes(axis)
                    self.slot[axis] = held + i
                self.by_width[k] = grown

    def require_bits(self, axes: NDArray[np.integer]) -> None:
        """Make the packed columns of these two-valued axes, if they are not there yet: set bits are the rarer value."""
        missing = [int(axis) for axis in axes if self.bit_slot[axis] < 0]
        if not missing:
            return
        packed = np.zeros((len(missing), self.bits.shape[1] * 8), np.uint8)
        flipped = np.zeros(len(missing), np.bool_)
        for i, axis in enumerate(missing):
            codes = self._codes(axis)
            flipped[i] = 2 * np.count_nonzero(codes) > self.n_rows
            one = np.packbits(codes == 0 if flipped[i] else codes != 0, bitorder="little")
            packed[i, : len(one)] = one
            self.bit_slot[axis] = len(self.bits) + i
        self.bits = np.concatenate([self.bits, packed.view(np.uint64)])
        self.flipped = np.concatenate([self.flipped, flipped])

    def _codes(self, axis: int) -> Codes:
        codes: Codes = self._columns[self._domain.axis_attribute[axis]]
        if self._domain.axis_level(axis):
            codes = self._domain.axis_codes(axis).astype(_WIDTHS[self.kind[axis]])[codes]
        return codes


def merge_rows(
    domain: Domain, columns: Sequence[Codes], max_bytes: int
) -> tuple[tuple[Codes, ...], NDArray[np.int64]] | None:
    """The distinct rows and how often each occurs; None if that is not less than half the rows, or takes too much room.

    Rows are brought together by a key. Where the domain is too large for an exact 64-bit key, the key is a hash, and
    only neighbours that agree in every column are merged: a collision costs time, never a count.
    """
    n = len(columns[0]) if columns else 0
    if n < _FEWEST_ROWS or n * _BYTES_A_ROW > max_bytes:
        return None
    key = np.zeros(n, np.uint64)
    exact = domain.cells(tuple(domain.first_axis.tolist())) <= 1 << 64
    for size, column in zip(domain.cardinalities, columns, strict=True):
        if exact:
            key *= np.uint64(size)
            key += column
        else:
            key ^= column
            key *= np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
    order = np.argsort(key)
    key = key[order]
    fresh = np.ones(n, np.bool_)
    np.not_equal(key[1:], key[:-1], out=fresh[1:])
    if 2 * np.count_nonzero(fresh) >= n:
        return None
    if not exact:
        for column in columns:
            ordered = column[order]
            fresh[1:] |= ordered[1:] != ordered[:-1]
    first = np.flatnonzero(fresh)
    rows = order[first]
    return tuple(column[rows] for column in columns), np.diff(np.append(first, n)).astype(np.int64)


def _joined(parts: Sequence[NDArray[np.integer]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Arrays laid end to end, and where each starts."""
    starts = np.cumsum([0, *(len(part) for part in parts)]).astype(np.int64)
    return np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64), starts
