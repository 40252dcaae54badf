"""The scores I, F and R of an attribute-parents pair (X, Π) as exact integers, each beside what one row can change.

All candidates of one draw share one sensitivity: scores with a smaller bound are scaled up by the exact ratio, so that
noise is no larger than each needs and none has to be divided.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import log, log1p
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from privbayes.core.contingency import Contingency
from privbayes.core.parallel import available_cores, run_parts
from privbayes.errors import UnsupportedError
from privbayes.privacy.sensitivity import Sensitivity
from privbayes.privacy.unit import Neighbours

__all__ = ["MAX_ROWS", "SCORES", "information_bounds", "score_batch", "score_sensitivity", "score_unit"]

SCORES = ("I", "F", "R")

# 6 n^2, the largest scaled R, still fits 64 bits; the other scores need less.
MAX_ROWS = 1_200_000_000

# n R under add-remove is kept to this fraction of a row: far below any noise.
_GRID = 1024

_THREADED_CELLS = 1 << 16


def score_batch(
    name: str,
    counts: Contingency,
    child_size: NDArray[np.int64],
    *,
    neighbours: str,
    n: int,
    declared_binary: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Score every table of a batch (exact and secret). Table t has the child X as its first axis, of
    ``child_size[t]`` values; ``declared_binary[t]`` says that the schema gives X or Π no more than two values.
    """
    _check(name, neighbours, n)
    offsets, cells = counts.offsets, counts.cells
    child_size = np.ascontiguousarray(child_size, np.int64)
    out = np.empty(len(counts), np.int64)
    if len(child_size) != len(out) or len(declared_binary) != len(out):
        raise ValueError("child_size and declared_binary need one entry a table")
    if not len(out):
        return out
    if neighbours == "replace" and counts.table(0).sum() != n:
        raise ValueError("the tables do not hold n rows")
    if name == "F":
        if np.any(child_size != 2):
            raise UnsupportedError("score F needs children with exactly two declared values; use R, or encode in bits")
        from privbayes.structure.f_score import score_f

        by_rows = int(neighbours == "add-remove")
        _in_parts(lambda a, b: score_f(cells, offsets, a, b, by_rows, out), offsets)
        return out

    from privbayes.structure import score_kernels

    if name == "R" and neighbours == "replace":
        factor = np.where(declared_binary, 3, 2).astype(np.int64)
        _in_parts(lambda a, b: score_kernels.score_r(cells, offsets, child_size, factor, a, b, out), offsets)
    elif name == "R":
        _in_parts(lambda a, b: score_kernels.score_r_counts(cells, offsets, child_size, _GRID, a, b, out), offsets)
    elif n < 2:
        out[:] = 0
    else:
        binary, general = information_bounds(n)
        scale = np.where(declared_binary, _information_grid(n) / (n * binary), _information_grid(n) / (n * general))
        _in_parts(lambda a, b: score_kernels.score_i(cells, offsets, child_size, scale, a, b, out), offsets)
    return out


def score_sensitivity(name: str, *, neighbours: Neighbours, n: int | None) -> Sensitivity:
    """What one row can change in any score that `score_batch` returns; ``n`` is needed where it is public (replace)."""
    if neighbours == "replace" and n is None:
        raise ValueError("the number of rows is public under replace and needed here")
    _check(name, neighbours, n if n is not None else 0)
    if name == "F":
        return _sensitivity_f(neighbours)
    if name == "R":
        return _sensitivity_r(neighbours, n)
    return _sensitivity_i(n if n is not None else 0)


def score_unit(name: str, *, neighbours: str, n: int, declared_binary: NDArray[np.bool_]) -> NDArray[np.float64]:
    """What a score of 1 (R as a distance, I in nats) is in the integers of `score_batch`, for each table. ``n`` is the
    number of rows as it may be known: public, or as bought.
    """
    _check(name, neighbours, n)
    if name == "F":
        raise ValueError("score F is not measured from zero")
    if name == "R" and neighbours == "replace":
        return 2.0 * n**2 * np.where(declared_binary, 3.0, 2.0)
    if name == "R":
        return np.full(len(declared_binary), float(_GRID) * n)
    if n < 2:
        return np.zeros(len(declared_binary))
    binary, general = information_bounds(n)
    return _information_grid(n) / np.where(declared_binary, binary, general)


def _sensitivity_r(neighbours: Neighbours, n: int | None) -> Sensitivity:
    """R, the total variation distance between Pr[X, Π] and Pr[X] Pr[Π], as an integer.

    Claim: replace: 2n²R = Σ |n c(x, π) - c(x) c(π)| moves by at most 6(n - 1), and by at most 4(n - 1) if X or Π has
        no more than two values; doubled and tripled, all by at most 12(n - 1). add-remove: nR moves by at most 2, and
        floor(G n R) for an integer G by at most 2G.
    Neighbours: replace (n public), add-remove (n appears nowhere in the bound).
    Assumes: "no more than two values" is declared by the schema. n <= MAX_ROWS, so that nothing overflows.
    Proof sketch: replace: mass t in [0, 1/n] passes from cell 2 = (x2, π2) to cell 1 = (x1, π1); a, b are the margins.
        R is Lipschitz in t, with derivative at most ½‖M‖₁, M = e₁₁ - e₂₂ - (e_x1 - e_x2) bᵀ - a (e_π1 - e_π2)ᵀ.
        Where a₁ + b₁ <= 1 and a₂ + b₂ <= 1, adding up the entries gives
        ‖M‖₁ <= 6 - 2(a₁ + a₂ + b₁ + b₂) - 2 min(a₁, b₂) - 2 min(a₂, b₁). The row on its way counts in the margins:
        a₁, b₁ >= t and a₂, b₂ >= 1/n - t, hence ‖M‖₁ <= 6 - 4/n - 4 min(t, 1/n - t), whose half integrates to
        3/n - 5/(2n²): at most 6n - 5 for 2n²R. With two values of X, a₁ + a₂ = 1 gives 4 - 2/n - 4 min(t, 1/n - t)
        and at most 4n - 3. Where a₁ + b₁ > 1 the first term grows by 2(a₁ + b₁ - 1) and ‖M‖₁ is at most
        4 - 2(a₂ + b₂) - 4 min(t, 1/n - t) (likewise for cell 2): for n >= 3 below the general bound throughout, and
        with two values of X it integrates to at most 4n - 2.5. One row or column in common: 4(1 - a_x) <= 4(1 - 1/n).
        The terms of 2n²R add up to zero before signs are dropped, so 2n²R is even: 6n - 6 and 4n - 4. n <= 2 by
        enumeration.
        add-remove: adding t of a row to (x1, π1) changes c - r sᵀ/n at the rate (e₁ - a)(e₁ - b)ᵀ, whose L1 norm is
        4(1 - a₁)(1 - b₁) <= 4; half of it, integrated over t = 1, is 2. From |u - v| <= 2G, 2G an integer, follows
        |floor(u) - floor(v)| <= 2G.
    Checked by: tests/privacy/test_score_sensitivity.py, every small table and every neighbour.
    """
    if neighbours == "replace":
        bound = max(1, 12 * ((n or 0) - 1))
        return Sensitivity(linf=bound, neighbours=neighbours, claim="2n²R, times 2, or 3 where X or Π is binary")
    return Sensitivity(linf=2 * _GRID, neighbours=neighbours, claim=f"floor({_GRID} n R)")


def _sensitivity_f(neighbours: Neighbours) -> Sensitivity:
    """F, minus the distance to the nearest maximum joint distribution, for a child of two values, as an integer.

    Claim: replace: 2nF = V - 2n moves by at most 2. add-remove: a row that is added moves 2nF by -2 .. +1, so
        4nF + n = 2V - 3n by -3 .. +3. The added n is the same for all candidates of a table and changes no choice.
    Neighbours: replace, add-remove.
    Assumes: two declared values of X.
    Proof sketch: for a fixed assignment y, the distance is f_y = (n/2 - a)₊ + (n/2 - b)₊ and nF = -min over y of f_y.
        Replacing a row lowers one of a, b by at most 1 and raises one by at most 1: f_y, and so the minimum, moves by
        at most 1. Adding a row raises n/2 by ½ in both parts, and one of a, b by 1 or neither: f_y moves by -½ .. +1.
    Checked by: tests/privacy/test_score_sensitivity.py, every small table and every neighbour.
    """
    if neighbours == "replace":
        return Sensitivity(linf=2, neighbours=neighbours, claim="2nF = V - 2n")
    return Sensitivity(linf=3, neighbours=neighbours, claim="4nF + n = 2V - 3n")


def _sensitivity_i(n: int) -> Sensitivity:
    """I, the mutual information of X and Π in nats, on a grid of S / 2^g.

    Claim: I moves by at most S (see `information_bounds`); round(2^g I / S), S taken by kind, by at most 2^g + 2.
    Neighbours: replace only. When n is private, nI moves by up to ln n: without bound, so add-remove is refused.
    Assumes: natural logarithms in score and bound alike; "binary" is declared by the schema.
    Proof sketch: the bound on I is that of the papers (lemma 4.1). Rounding adds ½ on each side. Floats: with
        u = 2^-53, each term c ln(nc/rs) errs by at most c (3.1u + 3.1u |ln(nc/rs)|), the compensated sum by 2u of its
        value, and the terms by absolute value sum to at most n (I + 2/e); the factor errs by 10u. As I <= ln n and
        S >= ln(n)/n, a score errs by at most 2^g u n (16 + 6/ln n) <= 2^g 25 u n, and g is chosen (from n, which is
        public) to keep 2^g 32 u n <= ½: 1 for both sides.
    Checked by: tests/privacy/test_score_sensitivity.py, every small table and every neighbour.
    """
    return Sensitivity(linf=_information_grid(n) + 2, neighbours="replace", claim="I in nats over its bound, on a grid")


def information_bounds(n: int) -> tuple[float, float]:
    """What replacing one of n >= 2 rows can change in I (nats): if X or Π has at most two values, and in general."""
    stay = (n - 1) / n
    return log(n) / n + stay * log1p(1 / (n - 1)), 2 / n * log((n + 1) / 2) + stay * log1p(2 / (n - 1))


def _information_grid(n: int) -> int:
    """2^g: 2^24, less for more than 8 million rows."""
    return 1 << min(24, 47 - n.bit_length())


def _check(name: str, neighbours: str, n: int) -> None:
    if name not in SCORES:
        raise UnsupportedError(f"unknown score {name!r}; use one of {', '.join(SCORES)}")
    if neighbours not in get_args(Neighbours):
        raise UnsupportedError(f"unknown neighbours {neighbours!r}; use one of {', '.join(get_args(Neighbours))}")
    if name == "I" and neighbours == "add-remove":
        raise UnsupportedError("score I has no finite bound when the number of rows is private; use R or F, or replace")
    if n > MAX_ROWS:
        raise UnsupportedError(f"scores are exact up to {MAX_ROWS} rows; use a sample of the table")


def _in_parts(work: Callable[[int, int], None], offsets: NDArray[np.int64]) -> None:
    """Run over ranges of tables of about equal numbers of cells, one thread a core; the kernels hold no lock."""
    tables, threads = len(offsets) - 1, available_cores()
    parts = 4 * threads if threads > 1 and offsets[-1] >= _THREADED_CELLS else 1
    cuts = np.searchsorted(offsets, np.linspace(0, offsets[-1], parts + 1)[1:-1])
    edges = np.unique([0, *cuts.tolist(), tables]).tolist()
    run_parts(work, list(pairwise(edges)), threads)
