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
from privbayes.model.consistency import (
    ROUNDS,
    Positive,
    above_threshold,
    consistent_cliques,
    noisy_tables,
)
from privbayes.model.factor import Factor
from privbayes.model.protocol import Sampler
from privbayes.privacy.released import Measurement

__all__ = ["KIND", "JunctionTreeModel"]

KIND = "junction tree"

# How tables of clusters become tables of cliques: rounds of agreeing, and of losing negative counts.
INFERS: Mapping[str, tuple[int, Positive]] = {
    "paper": (1, above_threshold),
    "consistent": (ROUNDS, above_threshold),
}

Tables = Sequence[tuple[tuple[int, ...], Measurement]]
Table = NDArray[np.float64]


class JunctionTreeModel:
    """The product of the cliques' marginals over that of their separators (equation 1), clique by clique from the root.

    ``tables`` are the released noisy counts of the clusters by their axes; every clique of the tree is inside one.
    ``total`` is the number of rows as it may be known, ``infer`` how the tables were made to agree ("paper": once, then
    small counts are cut off; "consistent": in rounds, and the nearest table without negative counts). All else is
    derived, the same way each time.
    """

    parameters: Table = np.empty(0)

    def __init__(self, domain: Domain, tree: CliqueTree, tables: Tables, *, total: float, infer: str) -> None:
        self._domain = domain
        self.tree = tree
        self.tables = tuple(tables)
        self.total = total
        self.infer = infer
        for clique in tree.cliques:
            if not any({domain.axis(a) for a in clique} <= set(axes) for axes, _ in self.tables):
                raise ValueError("every clique must be inside a cluster")
        if not total > 0 or infer not in INFERS:
            raise ValueError("a model has at least one row and a known way to infer")

    @property
    def domain(self) -> Domain:
        """The attributes the model is over."""
        return self._domain

    @cached_property
    def clique_tables(self) -> list[Table]:
        """Counts of the tree's cliques: non-negative, of the same total, and agreeing on what they share."""
        rounds, positive = INFERS[self.infer]
        tables = noisy_tables(self._domain, self.tables)
        return consistent_cliques(self._domain, self.tree, tables, total=self.total, rounds=rounds, positive=positive)

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
            "infer": self.infer,
        }

    @staticmethod
    def rebuilt(domain: Domain, structure: Mapping[str, Any], tables: Tables) -> JunctionTreeModel:
        """From a model file; ValueError when its parts do not fit each other."""
        place = {name: a for a, name in enumerate(domain.names)}
        cliques = tuple(tuple(place[name] for name in clique) for clique in structure["cliques"])
        tree = CliqueTree(cliques, tuple(int(parent) for parent in structure["parents"]))
        if sorted({a for clique in cliques for a in clique}) != list(range(len(domain))):
            raise ValueError("the cliques must cover every attribute")
        return JunctionTreeModel(domain, tree, tables, total=float(structure["total"]), infer=str(structure["infer"]))

    @cached_property
    def _chain(self) -> Chain:
        return clique_tree_chain(self._domain, self.tree, self.clique_tables)
