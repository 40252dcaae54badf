"""INFER jointly from tables of counts: the maximum-entropy distribution on a junction tree that agrees with what the
tables of its cliques say as far as their noise deserves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from privbayes.core.clique_tree import CliqueTree
from privbayes.core.domain import Domain
from privbayes.model.columns import Columns, column_distribution
from privbayes.model.consistency import consistent_cliques, noisy_tables
from privbayes.model.joint import JointModel, Tables
from privbayes.model.joint_fit import fit_trees
from privbayes.model.observations import Observation, excess_error

__all__ = ["fit_cliques"]


def fit_cliques(
    domain: Domain,
    tree: CliqueTree,
    tables: Tables,
    *,
    total: float,
    progress: Callable[[int, int], None] | None = None,
) -> JointModel:
    """``tables`` are released counts of clusters, at the finest level. Every clique is observed as its marginal in one
    of them, with the noise of all the cells behind; columns are as the tables agree on them.
    """
    agreed = consistent_cliques(domain, tree, noisy_tables(domain, tables), total=total)
    seen = [_clique(domain, tables, clique) for clique in tree.cliques]
    shares, variances = [], []
    for a, size in enumerate(domain.cardinalities):
        k = min((k for k, clique in enumerate(tree.cliques) if a in clique), key=lambda k: (agreed[k].size, k))
        place = tree.cliques[k].index(a)
        counts = agreed[k].sum(axis=tuple(i for i in range(agreed[k].ndim) if i != place))
        variances.append(seen[k].variance * agreed[k].size / size)
        shares.append(column_distribution(counts - total / size, variances[-1], total))
    columns = Columns(shares=tuple(shares), variances=tuple(variances), total=total, total_variance=0.0)
    observations = []
    for one in seen:
        expected = columns.expected(one.attributes)
        beyond = replace(one, table=one.table - expected.reshape(one.table.shape))
        error = max(excess_error(beyond, expected), float(np.sqrt(one.variance)), 1.0)
        observations.append(replace(one, strength=min(1.0, error / total)))
    fits = fit_trees([tree], columns, observations, progress=progress)
    return JointModel(domain, tables, form="counts", total=total, fits=fits)


def _clique(domain: Domain, tables: Tables, clique: Sequence[int]) -> Observation:
    """The clique's marginal in the table that has least noise on it, axes in the clique's order."""
    wanted = [domain.axis(a) for a in clique]
    size = prod(domain.cardinalities[a] for a in clique)
    axes, released = min(
        ((axes, m) for axes, m in tables if set(wanted) <= set(axes)),
        key=lambda held: (held[1].variance * held[1].values.size, held[0]),
    )
    values = released.values.astype(np.float64).reshape([int(domain.axis_size[axis]) for axis in axes])
    summed = values.sum(axis=tuple(i for i, axis in enumerate(axes) if axis not in wanted))
    kept = [axis for axis in axes if axis in wanted]
    return Observation(
        attributes=tuple(clique),
        table=np.transpose(summed, [kept.index(axis) for axis in wanted]),
        variance=max(released.variance * released.values.size / size, 1e-12),
        centred=False,
    )
