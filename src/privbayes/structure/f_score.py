"""Distance to the nearest maximum joint distribution (the papers' F) for a two-valued child: exact, and fast.

With c0(pi), c1(pi) the counts of the two child values, F = -(2n - V) / 2n where V is the largest value of
min(2a, n) + min(2b, n) over all ways to send each parent value pi to side 0 (adds c0 to a) or to side 1 (adds c1 to b).
Everything is doubled, so odd n needs no halves, and everything is an integer, so there are no ties to break.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["joint_maximum", "joint_maximum_by_dominance", "score_f"]


@njit(nogil=True, cache=True)
def joint_maximum_by_dominance(c0: NDArray[np.int64], c1: NDArray[np.int64]) -> int:
    """V by dynamic programming over the pairs (a, b) that no other reachable pair dominates: O(n 2^k) at worst.

    Sides count only up to half the rows, so there are at most n/2 + 1 such pairs; kept with a falling and b rising.
    """
    n = np.int64(0)
    for i in range(c0.size):
        n += c0[i] + c1[i]
    cap = (n + 1) // 2
    a, b = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for i in range(c0.size):
        size = a.size
        merged_a, merged_b = np.empty(2 * size, np.int64), np.empty(2 * size, np.int64)
        kept, left, right, best = 0, 0, 0, np.int64(-1)
        while left < size or right < size:
            # Left: value i sent to side 0. Right: sent to side 1. The larger a comes first, then the larger b.
            take = right == size
            if left < size and right < size:
                grown = min(a[left] + c0[i], cap)
                take = grown > a[right] or (grown == a[right] and b[left] >= min(b[right] + c1[i], cap))
            if take:
                next_a, next_b = min(a[left] + c0[i], cap), b[left]
                left += 1
            else:
                next_a, next_b = a[right], min(b[right] + c1[i], cap)
                right += 1
            if next_b > best:
                if kept and merged_a[kept - 1] == next_a:
                    kept -= 1
                merged_a[kept], merged_b[kept] = next_a, next_b
                kept += 1
                best = next_b
        a, b = merged_a[:kept].copy(), merged_b[:kept].copy()
    value = np.int64(0)
    for i in range(a.size):
        value = max(value, min(2 * a[i], n) + min(2 * b[i], n))
    return int(value)


@njit(nogil=True, cache=True)
def _sort_by_density(items: NDArray[Any], gain: NDArray[Any], weight: NDArray[Any]) -> None:
    """Sort items in place by falling gain / weight, compared exactly (shell sort: short, and no floats)."""
    gap = items.size // 2
    while gap > 0:
        for i in range(gap, items.size):
            j, moving = i, items[i]
            while j >= gap and gain[moving] * weight[items[j - gap]] > gain[items[j - gap]] * weight[moving]:
                items[j] = items[j - gap]
                j -= gap
            items[j] = moving
        gap //= 2


@njit(nogil=True, cache=True)
def _knapsack(slack: int, weight: NDArray[Any], gain: NDArray[Any]) -> int:
    """Largest gain of items moved off the over-full side.

    Items come by falling gain / weight, and gain <= weight. Total weight may pass ``slack`` once: the excess counts
    against the gain, and since gain <= weight nothing moved after that can help. A list of states (slack left, gain)
    grows item by item; dropped are states that another one dominates (so there are never more than slack + 1) and
    states whose fractional bound (Dantzig) cannot beat the best solution known.
    """
    items = weight.size
    weights, gains = np.zeros(items + 1, np.int64), np.zeros(items + 1, np.int64)
    for j in range(items):
        weights[j + 1] = weights[j] + weight[j]
        gains[j + 1] = gains[j] + gain[j]
    if weights[items] <= slack:
        return int(gains[items])
    room, value = np.empty(64, np.int64), np.empty(64, np.int64)
    new_room, new_value = np.empty(64, np.int64), np.empty(64, np.int64)
    room[0], value[0] = slack, 0
    size, best = 1, np.int64(0)
    for j in range(items):
        if 2 * size > new_room.size:
            new_room, new_value = np.empty(4 * size, np.int64), np.empty(4 * size, np.int64)
        kept, stay, go, most, stop = 0, 0, 0, np.int64(-1), items
        while stay < size or go < size:
            # The larger room comes first; of equal rooms the larger value.
            if go == size or (stay < size and room[stay] >= room[go] - weight[j]):
                s, g = room[stay], value[stay]
                stay += 1
            else:
                s, g = room[go] - weight[j], value[go] + gain[j]
                go += 1
                if s < 0:
                    best = max(best, g + s)
                    continue
            if g <= most:
                continue
            # All items from j + 1 to ``stop`` fit; stop only falls as the room does.
            while stop > j + 1 and weights[stop] - weights[j + 1] > s:
                stop -= 1
            whole = g + gains[stop] - gains[j + 1]
            bound = whole
            if stop < items:
                rest = s - weights[stop] + weights[j + 1]
                bound += rest * gain[stop] // weight[stop]
                whole = max(whole, whole + gain[stop] - weight[stop] + rest)
            best = max(best, whole)
            if bound > best:
                if kept and new_room[kept - 1] == s:
                    kept -= 1
                new_room[kept], new_value[kept] = s, g
                kept += 1
            most = g
        if kept == 0:
            break
        room, new_room = new_room, room
        value, new_value = new_value, value
        size = kept
    return int(best)


@njit(nogil=True, cache=True)
def joint_maximum(c0: NDArray[np.int64], c1: NDArray[np.int64]) -> int:
    """V: majority assignment, then a small knapsack if a side holds more than half the rows.

    If no side is over-full, the majority assignment is best: it maximises a + b. Otherwise moving a value off the
    over-full side costs w = 2 (its count there) of the slack and gains v = 2 (its count on the other side) <= w. The
    other side cannot fill up, for the rows that count on either side are disjoint.
    """
    n, a, b = np.int64(0), np.int64(0), np.int64(0)
    for i in range(c0.size):
        n += c0[i] + c1[i]
        if c0[i] >= c1[i]:
            a += c0[i]
        else:
            b += c1[i]
    if 2 * a <= n and 2 * b <= n:
        return int(2 * (a + b))
    zero_side = 2 * a > n
    here, there = (c0, c1) if zero_side else (c1, c0)
    full, other = (a, b) if zero_side else (b, a)
    movable = np.empty(c0.size, np.int64)
    items = 0
    for i in range(c0.size):
        on_full_side = c0[i] >= c1[i] if zero_side else c1[i] > c0[i]
        if on_full_side and there[i] > 0:
            movable[items] = i
            items += 1
    order = movable[:items]
    _sort_by_density(order, there, here)
    weight, gain = np.empty(items, np.int64), np.empty(items, np.int64)
    for i in range(items):
        weight[i], gain[i] = 2 * here[order[i]], 2 * there[order[i]]
    return int(n + 2 * other + _knapsack(int(2 * full - n), weight, gain))


@njit(nogil=True, cache=True)
def score_f(
    cells: NDArray[np.int64], offsets: NDArray[np.int64], start: int, stop: int, rows: int, out: NDArray[np.int64]
) -> None:
    """V - 2n (``rows`` = 0) or 2V - 3n (``rows`` = 1) of tables start .. stop - 1, each of shape (2, parent cells)."""
    for t in range(start, stop):
        half = (offsets[t + 1] - offsets[t]) // 2
        table = cells[offsets[t] : offsets[t + 1]]
        n = np.int64(0)
        for count in table:
            n += count
        value = joint_maximum(table[:half], table[half:])
        out[t] = 2 * value - 3 * n if rows else value - 2 * n
