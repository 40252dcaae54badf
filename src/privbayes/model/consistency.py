"""INFER: noisy tables brought to agree with each other, and made non-negative (JTree, section 4.3; PriView).

A *view* is a set of attributes, each at one level of its generalisations. Two tables say something in common about
their *meet*: the attributes of both, each at the coarser of its two levels. For a view A, the tables that refine it are
moved to one common marginal

    T_A = (sum of T_i[A] / v_i) / (sum of 1 / v_i),      v_i = noise variance of T_i[A]'s cells, on average

by spreading the difference evenly over the cells behind each cell of A. With coarse levels, the cells behind one differ
in number; v_i is one number all the same: weights that change from cell to cell would undo what coarser views agree on.

Claim: done for every meet of some tables, coarser views first, all tables agree on all their meets. Proof sketch: let A
be done and A' come later. The tables behind A' agree on the meet of A and A', which was done, so what A' moves has
nothing on it. Spread evenly, hence attribute by attribute independently, it has nothing on A either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from privbayes.core.clique_tree import CliqueTree
from privbayes.core.domain import Domain
from privbayes.model.columns import on_simplex
from privbayes.model.conditional import conditional
from privbayes.privacy.released import Measurement

__all__ = [
    "NoisyTable",
    "above_threshold",
    "calibrated",
    "consistent",
    "consistent_cliques",
    "consistent_shares",
    "nearest_shares",
    "noisy_tables",
]

ROUNDS = 3  # of agreeing and losing negative values: more gain nothing
MAX_VIEWS = 5_000  # beyond it agreement is not complete; a few dozen tables have some hundreds
_LEAST_VARIANCE = 1e-12  # scripted noise has none

Table = NDArray[np.float64]
View = tuple[int, ...]  # axes, ascending: an attribute at a level each
Positive = Callable[[Table, float], Table]


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyTable:
    """Counts over these axes (in any order, one an attribute) with noise of this variance on each cell."""

    axes: tuple[int, ...]
    values: Table
    variance: float


def noisy_tables(domain: Domain, released: Sequence[tuple[tuple[int, ...], Measurement]]) -> list[NoisyTable]:
    """What a model keeps of its purchases, as tables."""
    return [
        NoisyTable(
            axes=axes,
            values=m.values.astype(np.float64).reshape([int(domain.axis_size[axis]) for axis in axes]),
            variance=max(m.variance, _LEAST_VARIANCE),
        )
        for axes, m in released
    ]


def consistent(domain: Domain, tables: Sequence[NoisyTable], *, total: float | None = None) -> list[Table]:
    """The tables after every two agree on their meet; where they did, nothing changes. They all sum to ``total``, or
    to the weighted mean of their sums. Values may be negative.
    """
    frame = _Frame(domain)
    order = [tuple(sorted(table.axes)) for table in tables]
    values = [np.transpose(t.values, np.argsort(t.axes)).astype(np.float64) for t in tables]
    for view in frame.meets(order):
        held = [i for i, axes in enumerate(order) if frame.refines(axes, view)]
        if len(held) < 2 and (view or total is None):
            continue
        seen = [frame.project(values[i], order[i], view) for i in held]
        if not view and total is not None:
            common = np.array(float(total))
        else:
            weights = np.array([seen[0].size / (tables[i].variance * values[i].size) for i in held])
            weights /= weights.sum()
            common = np.asarray(sum(weight * table for weight, table in zip(weights, seen, strict=True)))
        for i, table in zip(held, seen, strict=True):
            values[i] = values[i] + frame.spread(common - table, view, order[i])
    return [np.transpose(v, np.argsort(np.argsort(t.axes))) for v, t in zip(values, tables, strict=True)]


def nearest_shares(values: Table, total: float) -> Table:
    """The nearest non-negative table with this sum (projection on the simplex)."""
    return on_simplex(values.ravel(), total).reshape(values.shape)


def above_threshold(values: Table, total: float) -> Table:
    """The JTree paper's way to lose negative counts: those below a threshold become 0 and the others are scaled to sum
    to ``total``, the threshold being such that what is kept sums to about that before. Where nothing is positive: even.
    """
    falling = np.sort(values.ravel())[::-1]
    sums = np.cumsum(np.maximum(falling, 0.0))
    if not sums[-1] > 0:
        return np.full(values.shape, total / values.size)
    least = falling[int(np.abs(sums - total).argmin())]
    kept = np.where(values >= max(least, np.finfo(np.float64).tiny), values, 0.0)
    scaled: Table = kept * (total / kept.sum())
    return scaled


def consistent_shares(
    domain: Domain,
    tables: Sequence[NoisyTable],
    *,
    total: float,
    rounds: int = ROUNDS,
    positive: Positive = above_threshold,
) -> list[Table]:
    """Tables that agree and are non-negative, by turns; the last word is that nothing is negative, so they agree up to
    what that moved.
    """
    values = [table.values for table in tables]
    for _ in range(rounds):
        noisy = [NoisyTable(axes=t.axes, values=v, variance=t.variance) for t, v in zip(tables, values, strict=True)]
        values = [positive(table, total) for table in consistent(domain, noisy, total=total)]
    return values


def calibrated(tree: CliqueTree, tables: Sequence[Table], *, total: float) -> list[Table]:
    """Non-negative tables of the tree's cliques (axes ascending) moved until any two agree on what they share, exactly:
    from the root on, each takes its parent's counts of their separator and keeps its own shares given those. Where it
    has no counts for a separator value it uses its overall shares.
    """
    root = tables[0].sum()
    done = [tables[0] * (total / root) if root > 0 else np.full(tables[0].shape, total / tables[0].size)]
    for k in range(1, len(tables)):
        clique, separator, parent = tree.cliques[k], tree.separators[k], tree.cliques[tree.parents[k]]
        above = done[tree.parents[k]].sum(axis=tuple(i for i, a in enumerate(parent) if a not in separator))
        inside = [i for i, a in enumerate(clique) if a in separator]
        rest = [i for i in range(len(clique)) if i not in inside]
        turned = np.transpose(tables[k], [*rest, *inside])
        shares = conditional(turned.reshape(-1, above.size))  # one row a separator value
        moved = (shares * above.reshape(-1, 1)).T.reshape(turned.shape)
        done.append(np.transpose(moved, np.argsort([*rest, *inside])))
    return done


def consistent_cliques(
    domain: Domain,
    tree: CliqueTree,
    tables: Sequence[NoisyTable],
    *,
    total: float,
    rounds: int = ROUNDS,
    positive: Positive = above_threshold,
) -> list[Table]:
    """From noisy tables of clusters to tables of the tree's cliques that are non-negative, sum to ``total`` and agree
    on their separators exactly. Each clique is read off the smallest table that holds it.
    """
    frame = _Frame(domain)
    made = consistent_shares(domain, tables, total=total, rounds=rounds, positive=positive)
    read = []
    for clique in tree.cliques:
        view = tuple(domain.axis(a) for a in clique)
        holders = [i for i, table in enumerate(tables) if set(view) <= set(table.axes)]
        if not holders:
            raise ValueError("every clique of the tree must lie inside a table")
        i = min(holders, key=lambda i: made[i].size)
        ascending = np.transpose(made[i], np.argsort(tables[i].axes))
        read.append(frame.project(ascending, tuple(sorted(tables[i].axes)), view))
    return calibrated(tree, read, total=total)


class _Frame:
    """How tables over some axes relate to coarser views. Axes are ascending, so attributes are too."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self.groups = cache(self._groups)

    def meet(self, first: View, second: View) -> View:
        """What two views have in common: the coarser axis of each attribute in both."""
        owner = self._domain.axis_attribute
        other = {int(owner[axis]): axis for axis in second}
        return tuple(max(axis, other[int(owner[axis])]) for axis in first if int(owner[axis]) in other)

    def refines(self, fine: View, coarse: View) -> bool:
        """Does a table over ``fine`` have a marginal over ``coarse``?"""
        return self.meet(fine, coarse) == coarse

    def meets(self, tables: Sequence[View]) -> list[View]:
        """All meets of two or more tables and the empty view, coarser ones before those that refine them. Beyond
        `MAX_VIEWS` no more are looked for.
        """
        found: set[View] = {()}
        for k, table in enumerate(tables):
            found |= {self.meet(table, other) for other in {*found, *tables[:k]}}
            if len(found) > MAX_VIEWS:
                break
        return sorted(found, key=lambda view: (self._fineness(view), view))

    def project(self, values: Table, axes: View, view: View) -> Table:
        """The marginal over a coarser view."""
        kept = {int(self._domain.axis_attribute[axis]): axis for axis in view}
        for i in reversed(range(len(axes))):
            coarse = kept.get(int(self._domain.axis_attribute[axes[i]]))
            if coarse is None:
                values = values.sum(axis=i)
            elif coarse != axes[i]:
                group = self.groups(axes[i], coarse)
                ahead = np.moveaxis(values, i, 0)
                summed = np.zeros((int(group.max()) + 1, *ahead.shape[1:]))
                np.add.at(summed, group, ahead)
                values = np.moveaxis(summed, 0, i)
        return values

    def spread(self, values: Table, view: View, axes: View) -> Table:
        """Each cell's value in equal parts on the cells behind it; broadcasts over axes that the view lacks."""
        kept = {int(self._domain.axis_attribute[axis]): axis for axis in view}
        cells = 1
        for i, axis in enumerate(axes):
            coarse = kept.get(int(self._domain.axis_attribute[axis]))
            if coarse is None:
                values = np.expand_dims(values, i)
                cells *= int(self._domain.axis_size[axis])
            elif coarse != axis:
                group = self.groups(axis, coarse)
                shape = [-1 if j == i else 1 for j in range(values.ndim)]
                values = np.take(values / np.bincount(group).reshape(shape), group, axis=i)
        return values / cells

    def _groups(self, fine: int, coarse: int) -> NDArray[np.int64]:
        """For every code of an axis, its code on a coarser axis of the same attribute."""
        codes = np.zeros(int(self._domain.axis_size[fine]), np.int64)
        codes[self._domain.axis_codes(fine)] = self._domain.axis_codes(coarse)
        return codes

    def _fineness(self, view: View) -> int:
        attributes, owner = self._domain.attributes, self._domain.axis_attribute
        return sum(attributes[owner[axis]].height - self._domain.axis_level(axis) for axis in view)
