"""Which parent sets a child may choose from: all k-subsets (algorithm 2), or all maximal sets under a cell limit
(algorithms 5 and 6). When there are too many they are thinned by a draw that never looks at the data.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Protocol

import numpy as np

from privbayes.core.domain import Domain

__all__ = ["FixedDegree", "MaximalParentSets", "ParentSets", "TooManySetsError"]

ParentSet = tuple[int, ...]  # axes


class TooManySetsError(Exception):
    """An enumeration of parent sets passed its limit."""


class ParentSets(Protocol):
    """Candidate parent sets over the attributes placed so far."""

    thinned: bool

    def place(self, attribute: int) -> None:
        """The attribute joins V."""
        ...

    def for_child(self, child: int, remaining: int) -> list[ParentSet]:
        """Parent sets for a child, of which ``remaining`` share this round's cap."""
        ...


class FixedDegree:
    """Algorithm 2, line 5: every subset of V with min(k, |V|) members."""

    def __init__(self, domain: Domain, degree: int, cap: int, rng: np.random.Generator) -> None:
        self._domain, self._degree, self._cap, self._rng = domain, degree, cap, rng
        self._placed: list[int] = []
        self._sets: list[ParentSet] = [()]
        self.thinned = False

    def place(self, attribute: int) -> None:
        """New sets are those with the new attribute; a thinned pool keeps old and new in their true proportion."""
        axis = self._domain.axis(attribute)
        old, k = self._placed, self._degree
        quota = max(1, self._cap // max(1, len(self._domain) - len(old) - 1))
        if k == 0:
            self._sets = [()]
        elif len(old) < k:
            self._sets = [(*old, axis)]
        else:
            total = comb(len(old) + 1, k)
            if total <= quota and not self.thinned:
                self._sets += [(*members, axis) for members in combinations(old, k - 1)]
            else:
                self.thinned = True
                new = min(comb(len(old), k - 1), max(1, round(quota * k / (len(old) + 1))))
                keep = min(len(self._sets), max(quota - new, 0))
                kept = [self._sets[i] for i in self._rng.choice(len(self._sets), keep, replace=False)]
                self._sets = kept + [(*members, axis) for members in self._some(old, k - 1, new)]
        self._placed.append(axis)

    def for_child(self, child: int, remaining: int) -> list[ParentSet]:
        """The same sets for every child."""
        return self._sets

    def _some(self, items: list[int], size: int, wanted: int) -> list[ParentSet]:
        if comb(len(items), size) <= 2 * wanted:
            every = list(combinations(items, size))
            return [every[i] for i in self._rng.choice(len(every), min(wanted, len(every)), replace=False)]
        found: dict[ParentSet, None] = {}
        while len(found) < wanted:
            drawn = (
                self._rng.random((wanted, len(items))).argpartition(size - 1, axis=1)[:, :size]
                if size
                else np.empty((1, 0))
            )
            for row in np.sort(drawn, axis=1):
                found.setdefault(tuple(items[int(i)] for i in row))
                if len(found) == wanted:
                    break
        return list(found)


class MaximalParentSets:
    """Algorithms 5 and 6: maximal generalised subsets Z of V with cells(Z) <= tau and at most ``max_parents`` members.

    With one level an attribute, algorithm 6 is algorithm 5. The recursion removes the newest attribute first, so that
    every later round finds its sub-problems solved.
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
        self._levels = [
            [(domain.axis(a, i), size) for i, size in enumerate(attribute.level_sizes) if i == 0 or generalise]
            for a, attribute in enumerate(domain.attributes)
        ]
        self._placed: list[int] = []
        self._solved: dict[tuple[int, int, int], list[ParentSet]] = {}
        self._pools: dict[int, list[ParentSet]] = {}
        self._too_many: set[int] = set()
        self._round: dict[int, list[ParentSet]] = {}
        self.thinned = False

    def place(self, attribute: int) -> None:
        """V grows; thinned pools take the attribute in where it fits, so that their sets stay maximal."""
        self._placed.append(attribute)
        self._round.clear()

    def for_child(self, child: int, remaining: int) -> list[ParentSet]:
        """T(X) for tau = limit / |dom(X)|, or the empty set alone where even Pr[X] is not useful."""
        tau = self._limit // self._domain.cardinalities[child]
        if tau not in self._round:
            self._round[tau] = self._sets(tau, max(1, self._cap // max(1, remaining)))
        return self._round[tau]

    def _sets(self, tau: int, quota: int) -> list[ParentSet]:
        if tau < 1:
            return [()]
        if tau not in self._too_many:
            try:
                return self._enumerate(len(self._placed), tau, self._most, quota)
            except TooManySetsError:
                self._too_many.add(tau)
                self.thinned = True
        return self._draw(tau, quota)

    def _enumerate(self, i: int, tau: int, most: int, quota: int) -> list[ParentSet]:
        """MaximalParentSets*(first i of V, tau)."""
        if tau < 1:
            return []
        if i == 0 or most == 0:
            return [()]
        # Every larger tau that admits everything has the same answer; so has every larger member limit.
        key = (i, tau, min(most, i))
        if key not in self._solved:
            attribute = self._placed[i - 1]
            used: set[ParentSet] = set()
            sets: list[ParentSet] = []
            for axis, size in self._levels[attribute]:
                for rest in self._enumerate(i - 1, tau // size, most - 1, quota):
                    if rest not in used:
                        used.add(rest)
                        sets.append((*rest, axis))
                if len(sets) > quota:
                    raise TooManySetsError
            sets += [rest for rest in self._enumerate(i - 1, tau, most, quota) if rest not in used]
            if len(sets) > quota:
                raise TooManySetsError
            self._solved[key] = sets
        return self._solved[key]

    def _draw(self, tau: int, quota: int) -> list[ParentSet]:
        """A random pool of maximal sets: what is kept from the last round, extended, and new ones around the newest."""
        newest = self._placed[-1]
        pool: dict[ParentSet, None] = {}
        for members in self._pools.get(tau, []):
            pool.setdefault(self._fill(members, tau, (newest,)))
        new = max(quota - len(pool), round(quota * min(1.0, 4 / len(self._placed))))
        tries = 0
        added: dict[ParentSet, None] = {}
        while len(added) < new and tries < 2 * new:
            tries += 1
            start = int(self._rng.choice(self._placed)) if tries % 2 and len(pool) < quota else newest
            others = self._rng.permutation(len(self._placed))
            first = [option for option in self._levels[start] if option[1] <= tau]
            if first:
                axis, _ = first[int(self._rng.integers(len(first)))]
                added.setdefault(self._fill((axis,), tau, [self._placed[j] for j in others], coarse=True))
        kept = list(pool)
        room = max(quota - len(added), 0)
        if len(kept) > room:
            kept = [kept[j] for j in self._rng.choice(len(kept), room, replace=False)]
        sets = list(dict.fromkeys([*kept, *added])) or [()]
        self._pools[tau] = sets
        return sets

    def _fill(
        self, members: ParentSet, tau: int, order: tuple[int, ...] | list[int], coarse: bool = False
    ) -> ParentSet:
        """Add attributes in this order while they fit, then refine levels until nothing more fits: a maximal set."""
        sizes = self._domain.axis_size
        owner = self._domain.axis_attribute
        chosen = {int(owner[axis]): axis for axis in members}
        cells = self._domain.cells(members)
        for attribute in order:
            if cells * 2 > tau or len(chosen) >= self._most:
                break
            options = [option for option in self._levels[attribute] if cells * option[1] <= tau]
            if attribute in chosen or not options:
                continue
            axis, size = options[int(self._rng.integers(len(options)))] if coarse else options[0]
            chosen[attribute] = axis
            cells *= size
        for attribute in self._rng.permutation(list(chosen)) if coarse else ():
            for axis, size in self._levels[int(attribute)]:
                if cells // int(sizes[chosen[int(attribute)]]) * size <= tau:
                    cells = cells // int(sizes[chosen[int(attribute)]]) * size
                    chosen[int(attribute)] = axis
                    break
        return tuple(sorted(chosen.values()))
