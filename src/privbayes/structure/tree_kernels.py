"""Compiled search for a graph whose triangulation keeps small cliques. It sees weights that were released, no data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["grow_graph", "linked_facts"]

_SLACK = 1e-9


@njit(nogil=True, cache=True)
def _eliminate(
    linked: NDArray[Any],
    log_size: NDArray[Any],
    log_limit: float,
    cliques: NDArray[Any],
) -> float:
    """Least-cells-first elimination of a copy of the graph; ``cliques[v]`` marks v and its neighbours when v goes.

    Returns the cells of all those cliques together, or infinity as soon as one passes the limit.
    """
    d = log_size.size
    graph = linked.copy()
    alive = np.ones(d, np.bool_)
    cells = np.empty(d)
    around = np.empty(d, np.int64)
    for v in range(d):
        cells[v] = log_size[v]
        for u in range(d):
            cliques[v, u] = False
            if graph[v, u]:
                cells[v] += log_size[u]
    total = 0.0
    for _ in range(d):
        v = -1
        for u in range(d):
            if alive[u] and (v < 0 or cells[u] < cells[v] - _SLACK):
                v = u
        if cells[v] > log_limit + _SLACK:
            return np.inf
        total += np.exp(cells[v])
        alive[v] = False
        count = 0
        cliques[v, v] = True
        for u in range(d):
            if alive[u] and graph[v, u]:
                cliques[v, u] = True
                around[count] = u
                count += 1
        for i in range(count):
            u = around[i]
            cells[u] -= log_size[v]
            for j in range(i):
                w = around[j]
                if not graph[u, w]:
                    graph[u, w] = graph[w, u] = True
                    cells[u] += log_size[w]
                    cells[w] += log_size[u]
    return total


@njit(nogil=True, cache=True)
def grow_graph(
    first: NDArray[Any],
    second: NDArray[Any],
    weight: NDArray[Any],
    order: NDArray[Any],
    log_size: NDArray[Any],
    log_limit: float,
    total_limit: float,
    patience: int,
    cliques: NDArray[Any],
) -> float:
    """Link pairs in this order as long as no clique passes ``log_limit`` (log cells) and all together not
    ``total_limit``, and until ``patience`` pairs in a row have found no room. Fills the cliques of the result; returns
    the weight of all pairs that share a clique.
    """
    d = log_size.size
    linked = np.zeros((d, d), np.bool_)
    together = np.zeros((d, d), np.bool_)
    trial = np.empty((d, d), np.bool_)
    _eliminate(linked, log_size, np.inf, cliques)
    refused = 0
    for k in order:
        if refused >= patience:
            break
        a, b = first[k], second[k]
        if weight[k] <= 0.0 or together[a, b] or log_size[a] + log_size[b] > log_limit + _SLACK:
            continue
        linked[a, b] = linked[b, a] = True
        if _eliminate(linked, log_size, log_limit, trial) > total_limit:
            linked[a, b] = linked[b, a] = False
            refused += 1
            continue
        refused = 0
        cliques[:] = trial
        together[:] = False
        for v in range(d):
            for u in range(d):
                if cliques[v, u]:
                    for w in range(d):
                        if cliques[v, w]:
                            together[u, w] = True
    gained = 0.0
    for k in range(first.size):
        if together[first[k], second[k]] and weight[k] > 0.0:
            gained += weight[k]
    return gained


@njit(nogil=True, cache=True)
def _is_ready(v: int, graph: NDArray[Any], alive: NDArray[Any], around: NDArray[Any]) -> bool:
    """Whether all neighbours that are left of a node are linked."""
    count = 0
    for u in range(alive.size):
        if alive[u] and graph[v, u]:
            for i in range(count):
                if not graph[u, around[i]]:
                    return False
            around[count] = u
            count += 1
    return True


@njit(nogil=True, cache=True)
def linked_facts(
    linked: NDArray[Any], log_size: NDArray[Any], first: NDArray[Any], second: NDArray[Any], facts: NDArray[Any]
) -> None:
    """Link each pair on its own and triangulate as `core.clique_tree.triangulate` does: ``facts[k]`` is the log of the
    cells of the largest clique, the cells of all maximal cliques together, and how many of them there are.
    """
    d = log_size.size
    graph = np.empty((d, d), np.bool_)
    alive = np.empty(d, np.bool_)
    waiting = np.empty(d, np.bool_)
    inside = np.empty(d, np.bool_)
    members = np.empty(d, np.int64)
    cells = np.empty(d)
    around = np.empty(d, np.int64)
    near = np.empty(d, np.int64)
    ready = np.empty(d, np.bool_)
    for k in range(first.size):
        graph[:] = linked
        graph[first[k], second[k]] = graph[second[k], first[k]] = True
        for v in range(d):
            alive[v], waiting[v], inside[v] = True, False, False
            cells[v] = log_size[v]
            for u in range(d):
                if graph[v, u]:
                    cells[v] += log_size[u]
        for v in range(d):
            ready[v] = _is_ready(v, graph, alive, around)
        largest, total, cliques = 0.0, 0.0, 0
        for _ in range(d):
            v = -1
            for u in range(d):
                if alive[u] and (
                    v < 0 or (ready[u] and not ready[v]) or (ready[u] == ready[v] and cells[u] < cells[v] - _SLACK)
                ):
                    v = u
            alive[v] = False
            count = 0
            for u in range(d):
                if alive[u] and graph[v, u]:
                    around[count] = u
                    count += 1
            members[v] = count + 1
            # Whoever went before and has v as its next neighbour holds all of v's clique if it is no smaller.
            for u in range(d):
                if waiting[u] and graph[u, v]:
                    waiting[u] = False
                    if members[u] > members[v]:
                        inside[v] = True
            waiting[v] = True
            if not inside[v]:
                largest = max(largest, cells[v])
                total += np.exp(cells[v])
                cliques += 1
            for i in range(count):
                u = around[i]
                cells[u] -= log_size[v]
                for j in range(i):
                    w = around[j]
                    if not graph[u, w]:
                        graph[u, w] = graph[w, u] = True
                        cells[u] += log_size[w]
                        cells[w] += log_size[u]
            for u in range(d):  # a new link may make any node ready
                if alive[u] and not ready[u] and (not ready[v] or graph[v, u]):
                    ready[u] = _is_ready(u, graph, alive, near)
        facts[k, 0], facts[k, 1], facts[k, 2] = largest, total, cliques
