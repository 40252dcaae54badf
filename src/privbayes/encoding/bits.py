"""Binary and Gray encodings: a code as bits, most significant first, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["bit_count", "code_bits", "codes_of_numerals", "numerals"]


def bit_count(cardinality: int) -> int:
    """Bits that hold the codes 0 .. cardinality-1; at least one."""
    return max(cardinality - 1, 1).bit_length()


def code_bits(cardinality: int, *, gray: bool) -> NDArray[np.uint8]:
    """Bit b of each code as ``[b, code]``, the most significant bit first."""
    codes = np.arange(cardinality, dtype=np.int64)
    if gray:
        codes ^= codes >> 1
    shifts = np.arange(bit_count(cardinality) - 1, -1, -1, dtype=np.int64)
    return np.ascontiguousarray((codes[None, :] >> shifts[:, None]) & 1, np.uint8)


def codes_of_numerals(cardinality: int, *, gray: bool) -> NDArray[np.int64]:
    """The code of each numeral that the bits can spell, in C order over the bits. A numeral that is no code drops its
    top bit, which always gives one.
    """
    bits = bit_count(cardinality)
    codes = np.arange(2**bits, dtype=np.int64)
    if gray:
        for shift in (1, 2, 4, 8, 16, 32):
            codes ^= codes >> shift
    return np.where(codes >= cardinality, codes - 2 ** (bits - 1), codes)


def numerals(bits: Sequence[NDArray[np.integer[Any]]]) -> NDArray[np.int64]:
    """The numeral that each row's bits spell."""
    spelled = np.zeros(len(bits[0]), np.int64)
    for bit in bits:
        spelled = (spelled << 1) | bit
    return spelled
