"""INFER, as in JTree: noisy tables of clusters made to agree, and the distribution that their cliques define."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbayes.core.clique_tree import CliqueTree
from privbayes.core.domain import Domain
from privbayes.model.chain import Chain
from privbayes.model.clique_tree import clique_tree_chain
from privbayes.model.factor import Factor
from privbayes.model.protocol import Sampler
from privbayes.model.small_counts import without_small_counts
from privbayes.privacy.released import Measurement

__all__ = ["KIND", "JunctionTreeModel"]

KIND = "junction tree"

Tables = Sequence[tuple[tuple[int, ...], Measurement]]
Table = NDArray[np.float64]


class JunctionTreeModel:
    """The product of the cliques' marginals over that of their separators (equation 1), clique by clique from the root.

    ``tables`` are the released noisy counts of the clusters by their axes; every clique of the tree is inside one.
    ``total`` is the number of rows as it may be known. All else is derived, the same way each time.
    """

    parameters: Table = np.empty(0)

    def __init__(self, domain: Domain, tree: CliqueTree, tables: Tables, *, total: float) -> None:
        self._domain = domain
        self.tree = tree
        self.tables = tuple(tables)
        self.total = total
        self._clusters = [tuple(int(domain.axis_attribute[axis]) for axis in axes) for axes, _ in self.tables]
        for clique in tree.cliques:
            if not any(set(clique) <= set(cluster) for cluster in self._clusters):
                raise ValueError("every clique must be inside a cluster")
        if not total > 0:
            raise ValueError("a model has at least one row")

    @property
    def domain(self) -> Domain:
        """The attributes the model is over."""
        return self._domain

    @cached_property
    def cluster_tables(self) -> list[Table]:
        """The tables of the clusters, in rows: consistent, and without small counts."""
        return [without_small_counts(table, self.total) for table in self._noisy()]

    def marginal(self, attributes: Sequence[int], evidence: Sequence[Factor] = ()) -> Table:
        """The exact joint distribution of the attributes under the model, in this order (given the evidence)."""
        return self._chain.marginal(attributes, evidence)

    def sampler(self, evidence: Sequence[Factor] = ()) -> Sampler:
        """Clique by clique (section 4.4), exact under evidence too."""
        return self._chain.sampler(evidence)

    def structure(self) -> Mapping[str, Any]:
        """The tree by names."""
        names = self._domain.names
        return {
            "kind": KIND,
            "cliques": [[names[a] for a in clique] for clique in self.tree.cliques],
            "parents": list(self.tree.parents),
            "total": self.total,
        }

    @staticmethod
    def rebuilt(domain: Domain, structure: Mapping[str, Any], tables: Tables) -> JunctionTreeModel:
        """From a model file; ValueError when its parts do not fit each other."""
        place = {name: a for a, name in enumerate(domain.names)}
        cliques = tuple(tuple(place[name] for name in clique) for clique in structure["cliques"])
        tree = CliqueTree(cliques, tuple(int(parent) for parent in structure["parents"]))
        if sorted({a for clique in cliques for a in clique}) != list(range(len(domain))):
            raise ValueError("the cliques must cover every attribute")
        return JunctionTreeModel(domain, tree, tables, total=float(structure["total"]))

    def _noisy(self) -> list[Table]:
        return [
            released.values.astype(np.float64).reshape([int(self._domain.axis_size[axis]) for axis in axes])
            for axes, released in self.tables
        ]

    @cached_property
    def _chain(self) -> Chain:
        return clique_tree_chain(self._domain, self.tree, [self._clique_table(clique) for clique in self.tree.cliques])

    def _clique_table(self, clique: tuple[int, ...]) -> Table:
        """From the smallest cluster that holds the clique, axes in the clique's order."""
        holders = [k for k, cluster in enumerate(self._clusters) if set(clique) <= set(cluster)]
        k = min(holders, key=lambda k: (self.cluster_tables[k].size, k))
        cluster = self._clusters[k]
        summed = self.cluster_tables[k].sum(axis=tuple(i for i, a in enumerate(cluster) if a not in clique))
        kept = [a for a in cluster if a in clique]
        table: Table = np.maximum(np.transpose(summed, [kept.index(a) for a in clique]), 0.0)
        return table
