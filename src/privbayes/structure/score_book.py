"""Scores of attribute-parents pairs, counted in batches: exact and secret, so they go nowhere but into a draw."""

from __future__ import annotations

from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from privbayes.counts.backend import CountingBackend
from privbayes.counts.request import MarginalRequests
from privbayes.structure.candidates import ParentSet
from privbayes.structure.scores import score_batch

__all__ = ["Pair", "ScoreBook", "score_pairs"]

Pair = tuple[int, ParentSet]

_CELLS_A_PASS = 4_000_000


def score_pairs(counts: CountingBackend, requests: MarginalRequests, score: str, neighbours: str) -> NDArray[np.int64]:
    """One score a request, whose first axis is the child (at level 0) and whose other axes are its parents."""
    domain = counts.domain
    scores = np.empty(len(requests), np.int64)
    if not len(requests):
        return scores
    child_size = domain.axis_size[requests.axes[:, 0]]
    sizes = requests.sizes(domain)
    binary = (child_size <= 2) | (sizes // child_size <= 2)
    for part in requests.passes(domain, _CELLS_A_PASS):
        scores[part] = score_batch(
            score,
            counts.count(MarginalRequests(requests.axes[part])),
            child_size[part],
            neighbours=neighbours,
            n=counts.n_rows,
            declared_binary=binary[part],
        )
    return scores


class ScoreBook:
    """Scores by child and parent set. A score never changes between rounds, so each pair is counted once."""

    def __init__(self, counts: CountingBackend, score: str, neighbours: str) -> None:
        self._counts, self._score, self._neighbours = counts, score, neighbours
        self._known: dict[int, dict[ParentSet, int]] = {}

    def forget(self, child: int) -> None:
        """A placed child is never a candidate again."""
        self._known.pop(child, None)

    def scores(self, offered: list[Pair]) -> NDArray[np.int64]:
        """The scores of the candidates, in order."""
        found: list[int | None] = []
        for child, group in groupby(offered, key=lambda pair: pair[0]):
            known = self._known.setdefault(child, {})
            found += [known.get(pi) for _, pi in group]
        new = [pair for pair, score in zip(offered, found, strict=True) if score is None]
        if new:
            first_axis = self._counts.domain.first_axis
            requests = MarginalRequests.of([(int(first_axis[child]), *pi) for child, pi in new])
            fresh = score_pairs(self._counts, requests, self._score, self._neighbours).tolist()
            for (child, pi), score in zip(new, fresh, strict=True):
                self._known[child][pi] = score
            answers = iter(fresh)
            found = [next(answers) if score is None else score for score in found]
        return np.array(found, np.int64)
