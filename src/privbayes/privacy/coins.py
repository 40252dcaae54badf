"""Exact draws from the operating system's randomness: coins of a rational chance, whole numbers below a bound."""

from __future__ import annotations

import os
import secrets
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

__all__ = ["coins", "uniform_below"]

_WORD = 1 << 64


def coins(chance: Fraction, size: int) -> NDArray[np.bool_]:
    """``size`` independent coins, each True with exactly this chance.

    A uniform real in [0, 1) is compared with the chance by their base-2^64 digits: the first digit decides all but one
    in 2^64 coins, and only for those are further digits drawn.
    """
    if not 0 <= chance <= 1:
        raise ValueError("a chance lies in 0 .. 1")
    if chance == 1:
        return np.ones(size, np.bool_)
    digit = int(chance * _WORD)
    drawn = _words(size)
    heads: NDArray[np.bool_] = drawn < np.uint64(digit)
    for i in np.flatnonzero(drawn == np.uint64(digit)):
        heads[i] = _decide(chance * _WORD - digit)
    return heads


def uniform_below(bound: int, size: int) -> NDArray[np.int64]:
    """``size`` independent whole numbers, uniform on 0 .. bound - 1, by rejection."""
    if not 1 <= bound <= 1 << 63:
        raise ValueError("a bound lies in 1 .. 2^63")
    accepted = _WORD - _WORD % bound
    drawn = _words(size)
    while accepted < _WORD:
        again = np.flatnonzero(drawn >= np.uint64(accepted))
        if not len(again):
            break
        drawn[again] = _words(len(again))
    return (drawn % np.uint64(bound)).astype(np.int64)


def _words(size: int) -> NDArray[np.uint64]:
    return np.frombuffer(os.urandom(8 * size), np.uint64).copy()


def _decide(rest: Fraction) -> bool:
    """Further digits, one at a time, until they differ; a chance without further digits is not below anything."""
    while rest > 0:
        digit = int(rest * _WORD)
        drawn = secrets.randbelow(_WORD)
        if drawn != digit:
            return drawn < digit
        rest = rest * _WORD - digit
    return False
