"""GreedyBayes (algorithms 2 and 4): grow the network one private choice at a time."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from privbayes.core.network import AttributeParents, BayesianNetwork, Parent
from privbayes.counts.backend import CountingBackend
from privbayes.counts.request import MarginalRequests
from privbayes.privacy.ledger import Ledger
from privbayes.structure.candidates import ParentSet, ParentSets
from privbayes.structure.scores import score_batch, score_sensitivity

__all__ = ["grow_network"]

Pair = tuple[int, ParentSet]

_CELLS_A_PASS = 4_000_000


def grow_network(
    counts: CountingBackend,
    ledger: Ledger,
    share: Fraction,
    *,
    candidates: ParentSets,
    score: str,
    first: int,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> BayesianNetwork:
    """D - 1 draws of an AP pair (X, Pi), the share cut equally over those that are left.

    A round in which no candidate has a parent is settled by a coin that ignores the data: nothing is spent on it.
    """
    domain = counts.domain
    neighbours = ledger.unit.neighbours
    book = _ScoreBook(counts, score, neighbours)
    sensitivity = score_sensitivity(score, neighbours=neighbours, n=counts.n_rows if ledger.unit.n_is_public else None)
    pairs = [AttributeParents(first)]
    candidates.place(first)
    open_children = [a for a in range(len(domain)) if a != first]
    budget = share
    while open_children:
        offered = [(x, pi) for x in open_children for pi in candidates.for_child(x, len(open_children))]
        if all(not pi for _, pi in offered):
            child, parents = offered[int(rng.integers(len(offered)))]
        else:
            before = ledger.spent
            label = f"choice {len(pairs)} of {len(domain) - 1}"
            choice = ledger.release_choice(
                book.scores(offered) if len(offered) > 1 else np.zeros(1, np.int64),
                sensitivity,
                budget / len(open_children),
                label,
            )
            budget -= ledger.spent - before
            child, parents = offered[choice.index]
        pairs.append(
            AttributeParents(child, tuple(Parent(int(domain.axis_attribute[a]), domain.axis_level(a)) for a in parents))
        )
        open_children.remove(child)
        book.forget(child)
        candidates.place(child)
        if progress is not None:
            progress(len(pairs), len(domain))
    return BayesianNetwork(tuple(pairs))


class _ScoreBook:
    """Scores by child and parent set. A score never changes between rounds, so each pair is counted once."""

    def __init__(self, counts: CountingBackend, score: str, neighbours: str) -> None:
        self._counts, self._score, self._neighbours = counts, score, neighbours
        self._known: dict[int, dict[ParentSet, int]] = {}

    def forget(self, child: int) -> None:
        """A placed child is never a candidate again."""
        self._known.pop(child, None)

    def scores(self, offered: list[Pair]) -> NDArray[np.int64]:
        """The scores of the candidates, in order (exact and secret)."""
        found: list[int | None] = []
        for child, group in groupby(offered, key=lambda pair: pair[0]):
            known = self._known.setdefault(child, {})
            found += [known.get(pi) for _, pi in group]
        new = [pair for pair, score in zip(offered, found, strict=True) if score is None]
        if new:
            fresh = self._count(new)
            for (child, pi), score in zip(new, fresh, strict=True):
                self._known[child][pi] = score
            answers = iter(fresh)
            found = [next(answers) if score is None else score for score in found]
        return np.array(found, np.int64)

    def _count(self, pairs: list[Pair]) -> list[int]:
        domain = self._counts.domain
        requests = MarginalRequests.of([(int(domain.first_axis[child]), *pi) for child, pi in pairs])
        child_size = domain.axis_size[requests.axes[:, 0]]
        sizes = requests.sizes(domain)
        binary = (child_size <= 2) | (sizes // child_size <= 2)
        scores: list[int] = []
        for part in requests.passes(domain, _CELLS_A_PASS):
            scores += score_batch(
                self._score,
                self._counts.count(MarginalRequests(requests.axes[part])),
                child_size[part],
                neighbours=self._neighbours,
                n=self._counts.n_rows,
                declared_binary=binary[part],
            ).tolist()
        return scores
