"""SELECT: cliques merged into clusters, so that the cliques' marginals carry little noise in all (JTree, section 4.2).

A clique's marginal read off the table of its cluster CL has one noisy cell per cell of CL behind it, and all m tables
share the budget: under pure epsilon each cell has noise of variance 8 m^2 / epsilon^2, under zCDP of m / rho. So a set
of clusters is worth

    total noise variance  ~  m^power * sum over clusters of |CL| * prod of |dom(A)| over its attributes

with |CL| the number of cliques in it and power 2 (pure) or 1 (zCDP). Finding the least is NP-hard: few cliques are
solved exactly over all partitions, more by local search, and the paper's relaxation is there to compare with. It all
follows from released choices and public sizes. Differs from the paper: components of the graph are treated together,
since they share one budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod

import numpy as np

from privbayes.errors import UnsupportedError

__all__ = ["EXACT", "MERGES", "Clusters", "form_clusters", "noise_variance"]

MERGES = ("auto", "cccp", "none")
EXACT = 14  # cliques: up to so many every partition is compared
_LARGEST = 1e250  # cells: beyond it a sum could overflow
_WORK = 600_000  # of the local search, in cliques squared: more did not gain below 50 cliques
_KICKS = 2_000  # of the local search, at most
_SEED = 20_150_810  # the search is a function of what was released

Clique = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Clusters:
    """``tables`` are the attributes of each cluster (ascending); ``groups`` the cliques, by number, that it holds."""

    tables: tuple[Clique, ...]
    groups: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        held = sorted(i for group in self.groups for i in group)
        if len(self.tables) != len(self.groups) or held != list(range(len(held))) or not all(self.groups):
            raise ValueError("every clique is in exactly one cluster, and no cluster is empty")

    @staticmethod
    def of(cliques: Sequence[Sequence[int]], cluster: Sequence[int]) -> Clusters:
        """From the cluster that each clique is in (any labels)."""
        order = {label: k for k, label in enumerate(dict.fromkeys(int(label) for label in cluster))}
        groups: list[list[int]] = [[] for _ in order]
        for i, label in enumerate(cluster):
            groups[order[int(label)]].append(i)
        tables = [tuple(sorted({a for i in group for a in cliques[i]})) for group in groups]
        return Clusters(tables=tuple(tables), groups=tuple(map(tuple, groups)))


def noise_variance(clusters: Clusters, sizes: Sequence[int], *, power: int = 2) -> int:
    """The objective, exactly, in units of the noise variance that a cell would have if its table were the only one."""
    cells = [prod(sizes[a] for a in table) for table in clusters.tables]
    weighted = sum(len(group) * each for group, each in zip(clusters.groups, cells, strict=True))
    return int(len(clusters.tables) ** power * weighted)


def form_clusters(
    cliques: Sequence[Sequence[int]],
    sizes: Sequence[int],
    *,
    merge: str = "auto",
    most_cells: float = inf,
    power: int = 2,
) -> Clusters:
    """Clusters of the cliques with little total noise variance: ``sizes`` are the numbers of values of the attributes.

    merge: "auto" (exact for up to `EXACT` cliques, local search beyond), "cccp" (the paper's relaxation, needs the
    extra of that name) or "none". No cluster gets more than ``most_cells`` cells; a clique that has more by itself is
    refused.
    """
    if merge not in MERGES:
        raise UnsupportedError(f"merge must be one of {', '.join(MERGES)}, not {merge!r}")
    if power not in (1, 2):
        raise ValueError("noise variance grows with the number of tables (zCDP) or its square (pure epsilon)")
    largest = max((prod(sizes[a] for a in clique) for clique in cliques), default=0)
    if largest > min(most_cells, _LARGEST):
        raise UnsupportedError(f"a clique has {largest:,} cells, over the limit of {min(most_cells, _LARGEST):,.0f}")
    limit = min(float(most_cells), _LARGEST)
    if merge == "none" or len(cliques) < 2:
        return Clusters.of(cliques, range(len(cliques)))
    if merge == "cccp":
        from privbayes.structure.cluster_relaxation import relaxed_clusters  # needs its solver only when asked for

        return relaxed_clusters(cliques, sizes, most_cells=limit, power=power)
    if len(cliques) <= EXACT:
        return _exact(cliques, sizes, limit, power)
    return _searched(cliques, sizes, limit, power)


def _exact(cliques: Sequence[Sequence[int]], sizes: Sequence[int], most_cells: float, power: int) -> Clusters:
    """The best of all partitions, built up over the subsets of the cliques."""
    from privbayes.structure.cluster_kernels import best_partition

    subsets = np.arange(2 ** len(cliques), dtype=np.int64)
    cells, number = np.ones(len(subsets)), np.zeros(len(subsets))
    for i in range(len(cliques)):
        number += subsets >> i & 1
    for attribute in sorted({a for clique in cliques for a in clique}):
        holders = sum(1 << i for i, clique in enumerate(cliques) if attribute in clique)
        cells[subsets & holders != 0] *= sizes[attribute]
    cost = np.where(cells <= most_cells, number * cells, inf)
    group = np.zeros(len(cliques), np.int64)
    best_partition(cost, power, group)
    return Clusters.of(cliques, group.tolist())


def _searched(cliques: Sequence[Sequence[int]], sizes: Sequence[int], most_cells: float, power: int) -> Clusters:
    """Descent from a greedy start, with kicks; the same each time."""
    from privbayes.structure.cluster_kernels import search_partition

    attributes = sorted({a for clique in cliques for a in clique})
    member = np.array([[a in set(clique) for a in attributes] for clique in cliques], np.bool_)
    size = np.array([sizes[a] for a in attributes], np.float64)
    kicks = np.random.default_rng(_SEED).random((min(max(10, _WORK // len(cliques) ** 2), _KICKS), 9))
    group = np.zeros(len(cliques), np.int64)
    search_partition(member, size, power, most_cells, kicks, group)
    return Clusters.of(cliques, group.tolist())
