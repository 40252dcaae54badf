"""Compiled loops over packed two-valued columns, 64 rows to a word: exact, and run without the interpreter lock."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from privbayes.counts.kernels import common_prefix

__all__ = ["count_bits"]

_WORD_BLOCK = 512


def _popcount_signature(typingctx: Any, word: Any) -> Any:  # pragma: no cover - runs inside the compiler
    """Number of set bits of a 64-bit word, as one instruction where the machine has it."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


_popcount: Any = intrinsic(_popcount_signature)


@njit(nogil=True, cache=True)
def _and_count(left: NDArray[Any], right: NDArray[Any]) -> int:
    """Number of common bits of two columns."""
    count = np.uint64(0)
    for i in range(left.size):
        count += _popcount(left[i] & right[i])
    return int(count)


@njit(nogil=True, cache=True)
def _and_into(left: NDArray[Any], right: NDArray[Any], out: NDArray[Any]) -> int:
    """Common bits of two columns, and their number."""
    count = np.uint64(0)
    for i in range(left.size):
        word = left[i] & right[i]
        out[i] = word
        count += _popcount(word)
    return int(count)


@njit(nogil=True, cache=True)
def count_bits(
    bits: NDArray[Any],
    slot: NDArray[Any],
    flipped: NDArray[Any],
    n: int,
    roots: NDArray[Any],
    offsets: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Count tables over two-valued axes from columns packed 64 rows to a word.

    For every subset S of a table's axes, first count the rows whose bits are set in all of S; the cells follow by
    inclusion and exclusion. Tables in lexicographic order keep the intersections of their common prefix. A subset
    without rows in a block needs no supersets there, which is most of them when set bits are rare: hence columns
    come with their rarer value as the set bit, and ``flipped`` tells where that is value 0.
    """
    tables, words = roots.shape[0], bits.shape[1]
    shared = np.empty(tables, np.int64)
    length = np.zeros(tables, np.int64)
    for r in range(tables):
        shared[r] = common_prefix(roots, r)
        while length[r] < roots.shape[1] and roots[r, length[r]] >= 0:
            length[r] += 1
    width = length.max()
    halves = 1 << max(width - 1, 0)
    stack = np.zeros((halves, min(words, _WORD_BLOCK)), np.uint64)
    counts = np.zeros(halves, np.int64)
    # Subset s has bit j for axis j; cells have the first axis as their highest bit.
    mirror = np.zeros(halves, np.int64)
    for s in range(halves):
        for j in range(width - 1):
            mirror[s] |= ((s >> j) & 1) << (width - 2 - j)
    for start in range(0, words, _WORD_BLOCK):
        stop = min(words, start + _WORD_BLOCK)
        size = stop - start
        counts[0] = min(n, stop * 64) - start * 64
        ready = 0
        for r in range(tables):
            k = length[r]
            base = offsets[r]
            if k == 0:
                out[base] += counts[0]
                ready = 0
                continue
            ready = min(ready, shared[r])
            for j in range(ready, k - 1):
                column = bits[slot[roots[r, j]], start:stop]
                half = 1 << j
                counts[half] = _and_into(column, column, stack[half, :size])
                for s in range(1, half):
                    if counts[s] == 0 or counts[half] == 0:
                        counts[half + s] = 0
                    else:
                        counts[half + s] = _and_into(stack[s, :size], column, stack[half + s, :size])
            ready = k - 1
            column = bits[slot[roots[r, k - 1]], start:stop]
            for s in range(1 << (k - 1)):
                cell = mirror[s] >> (width - k) << 1
                out[base + cell] += counts[s]
                if s == 0:
                    out[base + 1] += _and_count(column, column)
                elif counts[s] > 0:
                    out[base + cell + 1] += _and_count(stack[s, :size], column)
    scratch = np.empty(1 << width, np.int64)
    for r in range(tables):
        k = length[r]
        cells = out[offsets[r] : offsets[r + 1]]
        flip = 0
        for j in range(k):
            bit = 1 << (k - 1 - j)
            if flipped[slot[roots[r, j]]]:
                flip |= bit
            for cell in range(1 << k):
                if not cell & bit:
                    cells[cell] -= cells[cell | bit]
        if flip:
            for cell in range(1 << k):
                scratch[cell ^ flip] = cells[cell]
            for cell in range(1 << k):
                cells[cell] = scratch[cell]
