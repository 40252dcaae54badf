"""GreedyBayes (algorithms 2 and 4): grow the network one private choice at a time."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from privbayes.core.network import AttributeParents, BayesianNetwork, Parent
from privbayes.counts.backend import CountingBackend
from privbayes.privacy.ledger import Ledger
from privbayes.structure.candidates import ParentSets
from privbayes.structure.score_book import ScoreBook
from privbayes.structure.scores import score_sensitivity

__all__ = ["grow_network"]


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
    book = ScoreBook(counts, score, neighbours)
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
