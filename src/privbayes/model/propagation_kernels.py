"""Compiled passes over the cells of a junction tree, all cliques laid end to end in flat arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["add_potentials", "clamp", "marginalise", "propagate", "weigh"]


@njit(nogil=True, cache=True)
def add_potentials(log_weight: NDArray[Any], entries: NDArray[Any], potentials: NDArray[Any]) -> None:
    """Add tables to the log weights of cliques.

    A row of ``entries``: first cell in the cliques, first cell in the tables, then seven lengths. The cells from the
    first one on form an array of these lengths; the second, fourth and sixth belong to the table, the others run along.
    """
    for e in range(entries.shape[0]):
        cell, start, n0, k1, n1, k2, n2, k3, n3 = entries[e]
        for _ in range(n0):
            for a in range(k1):
                for _ in range(n1):
                    for b in range(k2):
                        base = start + (a * k2 + b) * k3
                        for _ in range(n2):
                            if n3 == 1:
                                for c in range(k3):
                                    log_weight[cell + c] += potentials[base + c]
                                cell += k3
                                continue
                            for c in range(k3):
                                value = potentials[base + c]
                                for i in range(n3):
                                    log_weight[cell + i] += value
                                cell += n3


@njit(nogil=True, cache=True)
def marginalise(probability: NDArray[Any], entries: NDArray[Any], tables: NDArray[Any]) -> None:
    """The reverse: sum the cliques' cells into the tables, which are zeroed first."""
    tables[:] = 0.0
    for e in range(entries.shape[0]):
        cell, start, n0, k1, n1, k2, n2, k3, n3 = entries[e]
        for _ in range(n0):
            for a in range(k1):
                for _ in range(n1):
                    for b in range(k2):
                        base = start + (a * k2 + b) * k3
                        for _ in range(n2):
                            if n3 == 1:
                                for c in range(k3):
                                    tables[base + c] += probability[cell + c]
                                cell += k3
                                continue
                            for c in range(k3):
                                total = 0.0
                                for i in range(n3):
                                    total += probability[cell + i]
                                cell += n3
                                tables[base + c] += total


@njit(nogil=True, cache=True)
def weigh(log_weight: NDArray[Any], clique_start: NDArray[Any], weight: NDArray[Any]) -> float:
    """The exponentials of the log weights, each clique scaled so that its largest is 1; returns the sum of what was
    taken out.
    """
    taken = 0.0
    for k in range(clique_start.size - 1):
        most = -np.inf
        for cell in range(clique_start[k], clique_start[k + 1]):
            most = max(most, log_weight[cell])
        taken += most
        for cell in range(clique_start[k], clique_start[k + 1]):
            weight[cell] = np.exp(log_weight[cell] - most)
    return float(taken)


@njit(nogil=True, cache=True)
def propagate(
    clique_start: NDArray[Any],
    parent: NDArray[Any],
    separator_start: NDArray[Any],
    own_cell: NDArray[Any],
    parent_cell: NDArray[Any],
    parent_cell_start: NDArray[Any],
    weight: NDArray[Any],
    message: NDArray[Any],
    ratio: NDArray[Any],
    probability: NDArray[Any],
) -> float:
    """Messages up to the root and down again: exact marginals of every clique, and log Z (minus infinity if no cell has
    weight). ``own_cell`` gives the separator cell of each clique cell, ``parent_cell`` that of each cell of the parent
    clique. ``weight`` is used up. Messages are scaled to sum to 1 on their way.
    """
    log_z = 0.0
    for k in range(clique_start.size - 2, 0, -1):
        s = separator_start[k]
        width = separator_start[k + 1] - s
        for i in range(width):
            message[s + i] = 0.0
        for cell in range(clique_start[k], clique_start[k + 1]):
            message[s + own_cell[cell]] += weight[cell]
        total = 0.0
        for i in range(width):
            total += message[s + i]
        if not total > 0.0:
            return -np.inf
        log_z += np.log(total)
        scale = 1.0 / total
        for i in range(width):
            message[s + i] *= scale
        for cell in range(clique_start[k], clique_start[k + 1]):
            weight[cell] *= scale
        p = clique_start[parent[k]]
        m = parent_cell_start[k]
        for i in range(parent_cell_start[k + 1] - m):
            weight[p + i] *= message[s + parent_cell[m + i]]
    total = 0.0
    for cell in range(clique_start[1]):
        total += weight[cell]
    if not total > 0.0:
        return -np.inf
    log_z += np.log(total)
    for cell in range(clique_start[1]):
        probability[cell] = weight[cell] / total
    for k in range(1, clique_start.size - 1):
        s = separator_start[k]
        for i in range(separator_start[k + 1] - s):
            ratio[s + i] = 0.0
        p = clique_start[parent[k]]
        m = parent_cell_start[k]
        for i in range(parent_cell_start[k + 1] - m):
            ratio[s + parent_cell[m + i]] += probability[p + i]
        for i in range(separator_start[k + 1] - s):
            ratio[s + i] = ratio[s + i] / message[s + i] if message[s + i] > 0.0 else 0.0
        for cell in range(clique_start[k], clique_start[k + 1]):
            probability[cell] = weight[cell] * ratio[s + own_cell[cell]]
    return float(log_z)


@njit(nogil=True, cache=True)
def clamp(weight: NDArray[Any], start: int, codes: NDArray[Any], code: int) -> None:
    """Take the weight off every cell of a clique in which an attribute has another code."""
    for i in range(codes.size):
        if codes[i] != code:
            weight[start + i] = 0.0
