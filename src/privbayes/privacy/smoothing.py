"""The arithmetic of the smoothed histogram: how much smoothing a budget needs, in exact rationals rounded to be safe.

Notation: k rows are drawn, each from P(z) = (1 - delta) [c_z + (D - n)/m] / D + delta / m, where c_z counts the rows in
cell z of m, D = max(n, N), and N is public (n itself where that is public). One person moves c by at most s.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, isqrt, log, log1p

__all__ = ["DELTA_BITS", "cost", "loss_per_row", "most_rows", "smallest_delta", "smoothing_for"]

# What is irrational is kept to this many bits, rounded to the safe side.
_BITS = 320
# delta is a multiple of 2^-DELTA_BITS: an exact coin with that denominator decides each row.
DELTA_BITS = 256


def loss_per_row(share: Fraction, rows: int, *, pure: bool) -> Fraction:
    """x: what each of k independent rows may lose (pure epsilon) so that together they cost at most the share.

    Pure: k x <= epsilon. zCDP: a row that is x-DP is x^2/2-zCDP (Bun and Steinke 2016) and k rows add up, so
    k x^2 / 2 <= rho. That is more per row than epsilon = k x, turned into rho, would leave. Rounded down.
    """
    if pure:
        return share / rows
    square = 2 * share / rows
    return Fraction(isqrt((square.numerator << (2 * _BITS)) // square.denominator), 1 << _BITS)


def cost(loss: Fraction, rows: int, *, pure: bool) -> Fraction:
    """The inverse of `loss_per_row`: what k rows of this loss cost together, exactly."""
    return rows * loss if pure else rows * loss * loss / 2


def smallest_delta(loss: Fraction, *, base: int, cells: int, moved: int) -> tuple[Fraction, Fraction]:
    """The least delta (rounded up) for which one row loses at most ``loss``, and the loss that was used.

    1 + (1 - delta) s m / (N delta) <= e^x solved for delta: s m / (N (e^x - 1) + s m). A loss beyond what makes delta
    2^-64 is not used, since it would buy nothing.
    """
    weight = moved * cells
    most = Fraction(7 * (weight.bit_length() + 64), 10)  # ln 2 < 0.7
    used = min(loss, most)
    exact = weight / (base * _expm1_below(used) + weight)
    return Fraction(ceil(exact * (1 << DELTA_BITS)), 1 << DELTA_BITS), used


def most_rows(share: Fraction, smoothing: float, *, pure: bool, base: int, cells: int, moved: int) -> int:
    """The largest k whose delta is at most ``smoothing``, or 0."""
    goal = Fraction(smoothing)

    def fits(rows: int) -> bool:
        loss = loss_per_row(share, rows, pure=pure)
        return smallest_delta(loss, base=base, cells=cells, moved=moved)[0] <= goal

    # ln(1 + t) in floats, from below and above, then the exact test decides between them.
    t = Fraction(moved * cells, base) * (1 - goal) / goal
    x = log1p(float(t)) if t < 2**1000 else log(t.numerator) - log(t.denominator)
    guess = float(share) / x if pure else 2 * float(share) / x**2
    low, high = 0, max(1, ceil(guess * (1 + 1e-9)) + 1)
    if guess * (1 - 1e-9) >= 1 and fits(int(guess * (1 - 1e-9))):
        low = int(guess * (1 - 1e-9))
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def smoothing_for(
    share: Fraction, rows: int, *, pure: bool, base: int, cells: int, moved: int
) -> tuple[Fraction, Fraction]:
    """Delta for k rows at this share, and what the release costs (at most the share)."""
    loss = loss_per_row(share, rows, pure=pure)
    delta, used = smallest_delta(loss, base=base, cells=cells, moved=moved)
    return delta, cost(used, rows, pure=pure)


def _expm1_below(x: Fraction) -> Fraction:
    """A rational at most e^x - 1 for x >= 0, within 2^-256 of it (relative).

    x is halved until it is below 1/2, the series (all terms positive) is cut off, then y -> y (2 + y) doubles x; every
    rounding is downwards.
    """
    if x <= 0:
        return Fraction(0)
    halvings = 0
    while x > Fraction(1, 2):
        x, halvings = x / 2, halvings + 1
    term = total = _floor(x)
    j = 1
    while term * (1 << _BITS) > total:
        j += 1
        term = _floor(term * x / j)
        total += term
    y = _floor(total)
    for _ in range(halvings):
        y = _floor(y * (2 + y))
    return y


def _floor(y: Fraction) -> Fraction:
    """Rounded down to _BITS significant bits."""
    if y <= 0:
        return Fraction(0)
    shift = _BITS - (y.numerator.bit_length() - y.denominator.bit_length())
    if shift >= 0:
        return Fraction((y.numerator << shift) // y.denominator, 1 << shift)
    return Fraction((y.numerator // (y.denominator << -shift)) << -shift)
