"""Compiled searches over the ways to put cliques into clusters. They see shapes of tables, no data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["best_partition", "search_partition"]

_GAIN = 1e-12  # relative: less is rounding


@njit(nogil=True, cache=True)
def best_partition(cost: NDArray[Any], power: int, group: NDArray[Any]) -> None:
    """``cost[S]`` is what a cluster of the cliques in bit set S costs (infinity: not allowed). Fills ``group`` with the
    cluster of each clique in a partition that minimises m^power times the sum of its clusters' costs.

    best[S, m] = the least sum over partitions of S into m clusters; for the cluster of its lowest clique all are tried.
    """
    n = group.size
    best = np.full((cost.size, n + 1), np.inf)
    chosen = np.zeros((cost.size, n + 1), np.int32)
    best[0, 0] = 0.0
    for members in range(1, cost.size):
        low = members & -members
        rest = members ^ low
        part = rest
        while True:
            cluster = part | low
            if cost[cluster] < np.inf:
                left = rest ^ part
                for m in range(n):
                    total = best[left, m] + cost[cluster]
                    if total < best[members, m + 1]:
                        best[members, m + 1] = total
                        chosen[members, m + 1] = cluster
            if part == 0:
                break
            part = (part - 1) & rest
    left = cost.size - 1
    count = 1
    for m in range(2, n + 1):
        if m**power * best[left, m] < count**power * best[left, count]:
            count = m
    for m in range(count, 0, -1):
        cluster = chosen[left, m]
        for i in range(n):
            if cluster >> i & 1:
                group[i] = m - 1
        left ^= cluster


@njit(nogil=True, cache=True)
def search_partition(
    member: NDArray[Any], size: NDArray[Any], power: int, most_cells: float, kicks: NDArray[Any], group: NDArray[Any]
) -> float:
    """A partition with a small m^power times the sum over clusters of (number of cliques times cells of the table).

    ``member[i, a]`` says that clique i has attribute a. Starts from the best partition met while clusters are merged
    two at a time, cheapest first; then moves single cliques, exchanges two, or merges two clusters as long as that
    gains. Then, for each row of ``kicks`` (numbers in [0, 1)), a few cliques are thrown elsewhere and the descent is
    repeated; what is no better is undone. Fills ``group``; returns the objective.
    """
    n = member.shape[0]
    _merge_all(member, size, power, most_cells, group)
    value = _descend(member, size, power, most_cells, group)
    trial = np.empty_like(group)
    for kick in range(kicks.shape[0]):
        trial[:] = group
        thrown = 1 + int(kicks[kick, 0] * min(4, n))
        for t in range(thrown):
            clique = int(kicks[kick, 1 + 2 * t] * n)
            place = int(kicks[kick, 2 + 2 * t] * (n + 1))  # beside that clique, or alone
            trial[clique] = trial[place] if place < n else _empty(trial)
        found = _descend(member, size, power, most_cells, trial)
        if found <= value:
            value = found
            group[:] = trial
    return value


@njit(nogil=True, cache=True)
def _empty(group: NDArray[Any]) -> int:
    """A cluster without cliques (or, when there is none, the last one)."""
    used = np.zeros(group.size, np.bool_)
    for c in group:
        used[c] = True
    for c in range(group.size):
        if not used[c]:
            return c
    return int(group.size - 1)


@njit(nogil=True, cache=True)
def _merge_all(member: NDArray[Any], size: NDArray[Any], power: int, most_cells: float, group: NDArray[Any]) -> None:
    n, d = member.shape
    attributes = member.copy()
    number = np.ones(n, np.int64)
    cells = np.ones(n)
    for i in range(n):
        group[i] = i
        for a in range(d):
            if member[i, a]:
                cells[i] *= size[a]
    merged = np.full((n, n), np.inf)  # the cost of two clusters as one
    for i in range(n):
        for j in range(i):
            merged[i, j] = 2 * _union_cells(attributes[i], attributes[j], size, most_cells)
    total = cells.sum()
    least = n**power * total
    current = group.copy()
    for m in range(n - 1, 0, -1):
        gain, first, second = np.inf, -1, -1
        for i in range(n):
            if number[i] > 0:
                for j in range(i):
                    if number[j] > 0:
                        more = merged[i, j] - number[i] * cells[i] - number[j] * cells[j]
                        if more < gain:
                            gain, first, second = more, i, j
        if first < 0:
            return
        total += gain
        number[second] += number[first]
        number[first] = 0
        cells[second] = merged[first, second] / number[second]
        for a in range(d):
            attributes[second, a] |= attributes[first, a]
        for i in range(n):
            if current[i] == first:
                current[i] = second
            if number[i] > 0 and i != second:
                high, low = max(i, second), min(i, second)
                both = _union_cells(attributes[high], attributes[low], size, most_cells)
                merged[high, low] = (number[i] + number[second]) * both
        if m**power * total < least:
            least = m**power * total
            group[:] = current


@njit(nogil=True, cache=True)
def _union_cells(first: NDArray[Any], second: NDArray[Any], size: NDArray[Any], most_cells: float) -> float:
    cells = 1.0
    for a in range(size.size):
        if first[a] or second[a]:
            cells *= size[a]
    return cells if cells <= most_cells else np.inf


@njit(nogil=True, cache=True)
def _cells_after(
    cells: float, count: NDArray[Any], size: NDArray[Any], out: int, into: int, member: NDArray[Any], own: NDArray[Any]
) -> float:
    """The cells of a cluster, ``count`` of whose cliques have each attribute, after one clique left and one came (-1:
    none). ``own[i]`` lists the attributes of clique i, -1 behind them. Whole numbers are exact up to 2^53.
    """
    if out >= 0:
        for a in own[out]:
            if a < 0:
                break
            if count[a] == 1 and not (into >= 0 and member[into, a]):
                cells /= size[a]
    if into >= 0:
        for a in own[into]:
            if a < 0:
                break
            if count[a] == 0:
                cells *= size[a]
    return cells


@njit(nogil=True, cache=True)
def _descend(member: NDArray[Any], size: NDArray[Any], power: int, most_cells: float, group: NDArray[Any]) -> float:
    """Improve ``group`` until no move, exchange or merger gains; infinity if it starts where it may not be."""
    n, d = member.shape
    own = np.full((n, d + 1), -1, np.int64)
    for i in range(n):
        k = 0
        for a in range(d):
            if member[i, a]:
                own[i, k] = a
                k += 1
    count = np.zeros((n, d), np.int32)
    number = np.zeros(n, np.int64)
    cells = np.ones(n)
    for i in range(n):
        number[group[i]] += 1
        for a in range(d):
            if member[i, a]:
                count[group[i], a] += 1
    m, total = 0, 0.0
    for c in range(n):
        if number[c] > 0:
            m += 1
            for a in range(d):
                if count[c, a] > 0:
                    cells[c] *= size[a]
            if cells[c] > most_cells:
                return np.inf
            total += number[c] * cells[c]
    improved = True
    while improved:
        improved = False
        for i in range(n):  # one clique to another cluster, or to one of its own
            here = group[i]
            without = _cells_after(cells[here], count[here], size, i, -1, member, own) if number[here] > 1 else 1.0
            freed = number[here] * cells[here] - (number[here] - 1) * without
            best, where, best_cells = m**power * total * (1.0 - _GAIN), -1, 0.0
            tried_empty = number[here] == 1
            for c in range(n):
                if c == here or (number[c] == 0 and tried_empty):
                    continue
                tried_empty |= number[c] == 0
                after = _cells_after(cells[c], count[c], size, -1, i, member, own)
                if after > most_cells:
                    continue
                clusters = m + (number[c] == 0) - (number[here] == 1)
                value = clusters**power * (total - freed + (number[c] + 1) * after - number[c] * cells[c])
                if value < best:
                    best, where, best_cells = value, c, after
            if where >= 0:
                total += (number[where] + 1) * best_cells - number[where] * cells[where] - freed
                m += (number[where] == 0) - (number[here] == 1)
                number[here] -= 1
                number[where] += 1
                cells[here], cells[where] = without, best_cells
                for a in range(d):
                    if member[i, a]:
                        count[here, a] -= 1
                        count[where, a] += 1
                group[i] = where
                improved = True
        for i in range(n):  # two cliques exchanged
            for j in range(i):
                here, there = group[i], group[j]
                if here == there or (number[here] == 1 and number[there] == 1):
                    continue
                mine = _cells_after(cells[here], count[here], size, i, j, member, own)
                theirs = _cells_after(cells[there], count[there], size, j, i, member, own)
                more = number[here] * (mine - cells[here]) + number[there] * (theirs - cells[there])
                if mine <= most_cells and theirs <= most_cells and more < -_GAIN * total:
                    total += more
                    cells[here], cells[there] = mine, theirs
                    for a in range(d):
                        moved = int(member[j, a]) - int(member[i, a])
                        count[here, a] += moved
                        count[there, a] -= moved
                    group[i], group[j] = there, here
                    improved = True
        for b in range(n):  # two clusters merged
            for c in range(b):
                if number[b] == 0 or number[c] == 0:
                    continue
                both = _union_cells(count[b] > 0, count[c] > 0, size, most_cells)
                after = total + (number[b] + number[c]) * both - number[b] * cells[b] - number[c] * cells[c]
                if (m - 1) ** power * after < m**power * total * (1.0 - _GAIN):
                    total = after
                    m -= 1
                    number[c] += number[b]
                    number[b] = 0
                    cells[c] = both
                    for a in range(d):
                        count[c, a] += count[b, a]
                        count[b, a] = 0
                    for i in range(n):
                        if group[i] == b:
                            group[i] = c
                    improved = True
    return float(m**power * total)
