"""SELECT: a junction tree under a cell limit that holds as much released error as can be found. Post-processing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import log

import numpy as np
from numpy.typing import NDArray

from privbayes.core.clique_tree import CliqueTree

__all__ = ["grow_tree", "grow_trees"]

_PENALTIES = (0.0, 0.15, 0.3, 0.5, 0.8)
_STEPS = (0.1, 0.3, 0.6)
_TRIES = 40
_WORK = 2_000_000_000  # inner steps of the search in all, some seconds
_PATIENCE = 1_000  # pairs in a row that find no room, after which there is none
_SEED = 20_261_119  # the search is a function of what was released
_HELD = 0.1  # of a pair's weight is left once a tree holds it


def grow_tree(
    sizes: Sequence[int],
    pairs: Sequence[tuple[int, int]],
    weights: NDArray[np.float64],
    *,
    clique_cells: float,
    total_cells: float,
) -> CliqueTree:
    """Pairs are linked greedily by weight, with several penalties on their size, then in random variations of the best
    order found; the tree that holds most weight wins. Pairs without positive weight are never linked.
    """
    d = len(sizes)
    if not pairs or not np.any(weights > 0):
        return CliqueTree.of([(a,) for a in range(d)], sizes)
    from privbayes.structure.tree_kernels import grow_graph

    first, second = (np.array(ends, np.int64) for ends in zip(*pairs, strict=True))
    log_size = np.log(np.asarray(sizes, np.float64))
    log_cells = log_size[first] + log_size[second]
    strength = np.log(np.maximum(weights, 1e-300))
    useful = int(np.count_nonzero(weights > 0))
    tries = min(_TRIES, max(len(_PENALTIES), int(_WORK / (useful * d * (2 * d + 64)))))
    rng = np.random.default_rng(_SEED)
    best, best_order, best_cliques = -1.0, strength, np.zeros((d, d), np.bool_)
    tried: set[bytes] = set()
    for attempt in range(tries):
        if attempt < len(_PENALTIES):
            key = strength - _PENALTIES[attempt] * log_cells
        else:
            key = best_order + rng.normal(size=len(pairs)) * rng.choice(_STEPS)
        order = np.argsort(-key, kind="stable")
        if order.tobytes() in tried:
            continue  # columns of equal size know no penalty
        tried.add(order.tobytes())
        cliques = np.zeros((d, d), np.bool_)
        held = grow_graph(
            first,
            second,
            weights,
            order,
            log_size,
            log(clique_cells),
            float(total_cells),
            max(_PATIENCE, 4 * d),
            cliques,
        )
        if held > best:
            best, best_order, best_cliques = held, key, cliques
    return CliqueTree.of(_maximal(best_cliques), sizes)


def grow_trees(
    sizes: Sequence[int],
    pairs: Sequence[tuple[int, int]],
    weights: NDArray[np.float64],
    *,
    clique_cells: float,
    total_cells: float,
    most: int,
) -> list[CliqueTree]:
    """The best tree, then further ones for the pairs that no tree before holds, as long as there are any."""
    trees: list[CliqueTree] = []
    left = weights.astype(np.float64)
    while not trees or (len(trees) < most and np.any(left == weights, where=weights > 0)):
        tree = grow_tree(sizes, pairs, left, clique_cells=clique_cells, total_cells=total_cells)
        together = {pair for clique in tree.cliques for pair in combinations(clique, 2)}
        held = np.array([pair in together for pair in pairs], np.bool_)
        if trees and not np.any(held & (weights > 0) & (left == weights)):
            break  # what is left fits no clique
        left = np.where(held, _HELD * weights, left)
        trees.append(tree)
    return trees


def _maximal(cliques: NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """The cliques that no other one contains."""
    found = sorted({frozenset(np.flatnonzero(row).tolist()) for row in cliques}, key=lambda c: (-len(c), sorted(c)))
    kept: list[frozenset[int]] = []
    for clique in found:
        if not any(clique <= other for other in kept):
            kept.append(clique)
    return [tuple(sorted(clique)) for clique in kept]
