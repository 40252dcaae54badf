"""PrivABN's growth (algorithms 2 and 3, repaired): a network of any degree from O(d^2) new scores a step.

The paper offers each child, for every size of parent set, the best set found so far, compared exactly: its candidates
are themselves a function of the private rows. Here they are a function of what was released, the pairs chosen before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privbayes.core.domain import Domain
from privbayes.core.network import AttributeParents, BayesianNetwork, Parent
from privbayes.counts.backend import CountingBackend
from privbayes.counts.request import MarginalRequests
from privbayes.privacy.ledger import Ledger
from privbayes.structure.candidates import ParentSet
from privbayes.structure.score_book import score_pairs
from privbayes.structure.scores import score_sensitivity

__all__ = ["AdaptiveSets", "grow_adaptively"]

Attributes = tuple[int, ...]  # ascending


class AdaptiveSets:
    """The parent sets on offer. With ``last`` the attribute placed last: {last}, and {last} united with each parent set
    of the network, are new; every single attribute and every parent set of the network stay on offer, because their
    scores are known from the round in which they were new. All are sets of attributes; each child gets them at the
    finest levels its cell limit has room for.
    """

    def __init__(
        self,
        domain: Domain,
        limit: int,
        cap: int,
        rng: np.random.Generator,
        *,
        max_parents: int | None = None,
        generalise: bool = True,
    ) -> None:
        self._domain, self._limit, self._cap, self._rng = domain, limit, cap, rng
        self._most = len(domain) if max_parents is None else max_parents
        self._generalise = generalise
        self._used: dict[Attributes, None] = {}
        self._singles: list[Attributes] = []
        self._new: list[Attributes] = []
        self._fits: dict[tuple[int, Attributes], ParentSet | None] = {}
        self.thinned = False

    def room(self, child: int) -> int:
        """tau, the most cells that the parents of a child may have; children with the same tau share their sets."""
        return self._limit // self._domain.cardinalities[child]

    def place(self, child: int, parents: Sequence[int], open_children: int) -> None:
        """(X, Pi) was chosen (``parents`` are axes) and X becomes ``last``. Where more unions than this round's cap are
        possible, some are drawn at random, without looking at the data.
        """
        chosen = tuple(sorted(int(self._domain.axis_attribute[axis]) for axis in parents))
        if chosen:
            self._used.setdefault(chosen)
        unions = [members for members in self._used if len(members) < self._most]
        room = max(1, self._cap // max(1, open_children))
        if len(unions) > room:
            self.thinned = True
            unions = [unions[i] for i in np.sort(self._rng.choice(len(unions), room, replace=False))]
        self._singles.append((child,))
        self._new = [tuple(sorted((*members, child))) for members in unions]

    def offer(self, room: int) -> list[ParentSet]:
        """The parent sets (as axes) for children with this much room, without repetition; [()] if none fits."""
        if self._most == 0:
            return [()]
        found: dict[ParentSet, None] = {}
        for members in (*self._singles, *self._used, *self._new):
            key = (room, members)
            if key not in self._fits:
                self._fits[key] = self._fit(members, room)
            axes = self._fits[key]
            if axes is not None:
                found.setdefault(axes)
        for members in self._new:
            del self._fits[room, members]
        return list(found) or [()]

    def _fit(self, members: Attributes, room: int) -> ParentSet | None:
        """The widest parent goes up one level until the set fits; None if it never does."""
        sizes = [self._domain.attributes[a].level_sizes for a in members]
        levels = [0] * len(members)
        cells = self._domain.cells(tuple(self._domain.axis(a) for a in members))
        while cells > room:
            options = [
                (sizes[i][level], -i)
                for i, level in enumerate(levels)
                if self._generalise and level + 1 < len(sizes[i]) and sizes[i][level + 1] > 1
            ]
            if not options:
                return None
            widest, i = max(options)[0], -max(options)[1]
            levels[i] += 1
            cells = cells // widest * sizes[i][levels[i]]
        return tuple(self._domain.axis(a, level) for a, level in zip(members, levels, strict=True))


def grow_adaptively(
    counts: CountingBackend,
    ledger: Ledger,
    share: Fraction,
    *,
    sets: AdaptiveSets,
    score: str,
    first: int,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> BayesianNetwork:
    """D - 1 draws of a pair (X, Pi) among all children and the sets on offer, the share cut equally over those left.

    A round in which no set fits any child is settled by a coin that ignores the data: nothing is spent on it.
    """
    domain = counts.domain
    d = len(domain)
    neighbours = ledger.unit.neighbours
    sensitivity = score_sensitivity(score, neighbours=neighbours, n=counts.n_rows if ledger.unit.n_is_public else None)
    sheets: dict[int, dict[ParentSet, NDArray[np.int64]]] = {}
    open_children = [a for a in range(d) if a != first]
    pairs = [AttributeParents(first)]
    sets.place(first, (), len(open_children))
    budget = share
    while open_children:
        groups = _by_room(sets, open_children)
        offers = {room: sets.offer(room) for room in groups}
        if all(offer == [()] for offer in offers.values()):
            child = open_children[int(rng.integers(len(open_children)))]
            parents: ParentSet = ()
        else:
            sheets = {room: _kept(sheets.get(room, {}), offer) for room, offer in offers.items()}
            _fill_in(counts, score, neighbours, sheets, groups, offers)
            scores = [sheets[room][axes][groups[room]] for room, offer in offers.items() for axes in offer]
            before = ledger.spent
            choice = ledger.release_choice(
                np.concatenate(scores), sensitivity, budget / len(open_children), f"choice {len(pairs)} of {d - 1}"
            )
            budget -= ledger.spent - before
            child, parents = _chosen(choice.index, groups, offers)
        pairs.append(
            AttributeParents(child, tuple(Parent(int(domain.axis_attribute[a]), domain.axis_level(a)) for a in parents))
        )
        open_children.remove(child)
        sets.place(child, parents, len(open_children))
        if progress is not None:
            progress(len(pairs), d)
    return BayesianNetwork(tuple(pairs))


def _by_room(sets: AdaptiveSets, children: Sequence[int]) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = {}
    for child in children:
        groups.setdefault(sets.room(child), []).append(child)
    return groups


def _kept(sheet: dict[ParentSet, NDArray[np.int64]], offer: list[ParentSet]) -> dict[ParentSet, NDArray[np.int64]]:
    """The scores of sets that are still on offer: a score never changes, so none is counted twice."""
    return {axes: sheet[axes] for axes in offer if axes in sheet}


def _fill_in(
    counts: CountingBackend,
    score: str,
    neighbours: str,
    sheets: dict[int, dict[ParentSet, NDArray[np.int64]]],
    groups: dict[int, list[int]],
    offers: dict[int, list[ParentSet]],
) -> None:
    """Score what is new, in one batch: a sheet has one array a set, by child."""
    new = {room: [axes for axes in offer if axes not in sheets[room]] for room, offer in offers.items()}
    width = 1 + max((len(axes) for fresh in new.values() for axes in fresh), default=0)
    parts = []
    for room, children in groups.items():
        first = counts.domain.first_axis[children]
        for axes in new[room]:
            part = np.full((len(children), width), -1, np.int32)
            part[:, 0] = first
            part[:, 1 : 1 + len(axes)] = axes
            parts.append(part)
    if not parts:
        return
    found = score_pairs(counts, MarginalRequests(np.concatenate(parts)), score, neighbours)
    start = 0
    for room, children in groups.items():
        for axes in new[room]:
            column = sheets[room][axes] = np.zeros(len(counts.domain), np.int64)
            column[children] = found[start : start + len(children)]
            start += len(children)


def _chosen(index: int, groups: dict[int, list[int]], offers: dict[int, list[ParentSet]]) -> tuple[int, ParentSet]:
    """Back from a place in the draw (by room, set, child) to the pair."""
    for room, offer in offers.items():
        here = len(offer) * len(groups[room])
        if index < here:
            return groups[room][index % len(groups[room])], offer[index // len(groups[room])]
        index -= here
    raise IndexError("no such candidate")
