"""theta-usefulness: the largest table whose cells still stand out from the noise. Public facts only."""

from __future__ import annotations

from fractions import Fraction
from math import floor, pi, sqrt

from privbayes.privacy.sensitivity import Sensitivity

__all__ = ["cell_limit", "expected_noise", "largest_degree"]


def expected_noise(*, pure: bool, sensitivity: Sensitivity, tables: int, share: Fraction) -> float:
    """E|noise| on one cell when ``share`` is cut over ``tables`` tables: the Laplace scale (paper: 2 T / eps_2 in
    counts), or sigma sqrt(2 / pi) of the Gaussian. Zero tables or an unlimited share give zero.
    """
    if pure:
        return float((sensitivity.l1 or 0) * tables / share)
    return sqrt((sensitivity.l2_squared or 0) * tables / (2 * share)) * sqrt(2 / pi)


def cell_limit(*, n: int, noise: float, theta: float) -> int:
    """The most cells m of a theta-useful table: n / m >= theta E|noise| (paper: m <= n eps_2 / (2 d theta))."""
    return floor(min(n / (theta * noise), 2.0**62)) if noise > 0 else 2**62


def largest_degree(*, n: int, d: int, theta: float, pure: bool, sensitivity: Sensitivity, share: Fraction) -> int:
    """The largest k >= 1 whose d - k tables of 2^(k+1) cells are theta-useful (paper, lemma 4.8), or 0."""
    useful = 0
    for k in range(1, d):
        noise = expected_noise(pure=pure, sensitivity=sensitivity, tables=d - k, share=share)
        if 2 ** (k + 1) <= cell_limit(n=n, noise=noise, theta=theta):
            useful = k
    return useful
