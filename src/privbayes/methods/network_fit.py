"""INFER for a network's tables, jointly: all that they say of single columns, pairs and triples, one fit.

The tables of a network are not those of a junction tree, and they overlap: each column is bought as often as it is a
parent. So the (X, Pi) tables are taken apart into interaction parts, equal parts of different tables are averaged, and
a maximum-entropy distribution is fitted to the parts on the triangulated graph of the attributes that share a part.
Where that graph's cliques pass a limit, trees are grown under it that hold what matters most, further trees and tables
of pairs correct the first, and a triple that no tree holds counts by its pairs. All of it is post-processing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from privbayes.core.clique_tree import CliqueTree, triangulate
from privbayes.core.domain import Domain
from privbayes.core.network import BayesianNetwork
from privbayes.model.columns import Columns
from privbayes.model.interactions import observations_of
from privbayes.model.joint import JointModel
from privbayes.model.joint_fit import fit_trees
from privbayes.model.observations import Observation, excess_error
from privbayes.privacy.released import Measurement
from privbayes.structure.tree_growth import grow_trees

__all__ = ["CLIQUE_CELLS", "TREE_CELLS", "fit_jointly"]

CLIQUE_CELLS = 2**12  # of a clique in a fitted tree, at most: more gained nothing measurable
TREE_CELLS = 2**16  # of all its cliques together
TREES = 4
PASSES = 300
COLUMN_RIDGE = 0.5  # of the noise's deviation: columns are read off large tables here, with more noise than most

Tables = Sequence[tuple[tuple[int, ...], Measurement]]


def fit_jointly(
    domain: Domain,
    network: BayesianNetwork,
    tables: Tables,
    *,
    total: float,
    progress: Callable[[int, int], None] | None = None,
) -> JointModel:
    """The joint model of a network's released tables. ``total`` is the number of rows as it may be known."""
    parts = observations_of(domain, tables, "counts")
    singles = [one for one in parts if len(one.attributes) == 1]
    columns = Columns.of(domain.cardinalities, [one for one in singles if one.groups is None], total, 0.0)
    kept = list(singles)
    worth: dict[tuple[int, int], float] = {}
    for one in parts:
        if len(one.attributes) > 1:
            error = excess_error(one, _expected(columns, one))
            if error > 0.0 or len(one.attributes) == 2:
                kept.append(replace(one, strength=max(error, 1.0) / total))
            if error > 0.0:
                for pair in combinations(one.attributes, 2):
                    worth[pair] = worth.get(pair, 0.0) + error
    fits = fit_trees(_trees(domain, worth), columns, kept, passes=PASSES, column_ridge=COLUMN_RIDGE, progress=progress)
    return JointModel(domain, tables, form="counts", total=total, fits=fits, network=network)


def _trees(domain: Domain, worth: dict[tuple[int, int], float]) -> list[CliqueTree]:
    """One tree that holds all parts with something to say, if it stays within the limits; else grown ones."""
    sizes = domain.cardinalities
    cliques = triangulate(sizes, worth)
    cells = [prod(sizes[a] for a in clique) for clique in cliques]
    if max(cells) <= CLIQUE_CELLS and sum(cells) <= TREE_CELLS:
        return [CliqueTree.of(cliques, sizes)]
    return grow_trees(
        sizes,
        list(worth),
        np.array(list(worth.values())),
        clique_cells=CLIQUE_CELLS,
        total_cells=TREE_CELLS,
        most=TREES,
    )


def _expected(columns: Columns, one: Observation) -> NDArray[np.float64]:
    """The counts of an observation's cells if its columns were independent, flat."""
    counts = np.array([columns.total])
    for i, attribute in enumerate(one.attributes):
        share = np.bincount(one.values(i), columns.shares[attribute], one.table.shape[i])
        counts = np.multiply.outer(counts, share).ravel()
    return counts
