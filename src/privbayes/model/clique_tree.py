"""From the tables of a junction tree's cliques to the distribution they define, clique by clique from the root."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from privbayes.core.clique_tree import CliqueTree
from privbayes.core.domain import Domain
from privbayes.model.chain import Chain
from privbayes.model.conditional import ConditionalTable, conditional

__all__ = ["clique_tree_chain"]


def clique_tree_chain(domain: Domain, tree: CliqueTree, tables: Sequence[NDArray[np.float64]]) -> Chain:
    """The distribution Pr[root] times Pr[what a clique adds | its separator] over the other cliques.

    ``tables`` are non-negative, one a clique, one dimension an attribute in the order of the clique. Where they agree
    on their separators the distribution has them as its marginals; a separator value without mass in a child's table
    takes the child's overall distribution.
    """
    if sorted({a for clique in tree.cliques for a in clique}) != list(range(len(domain))):
        raise ValueError("the cliques must cover every attribute")
    return Chain(domain, list(_conditionals(domain, tree, tables)))


def _conditionals(
    domain: Domain, tree: CliqueTree, tables: Sequence[NDArray[np.float64]]
) -> Iterator[ConditionalTable]:
    """Each clique adds its new attributes one at a time: Pr[a | separator], Pr[b | separator, a], ..."""
    for clique, separator, table in zip(tree.cliques, tree.separators, tables, strict=True):
        given = list(separator)
        for attribute in (a for a in clique if a not in separator):
            order = [clique.index(a) for a in (attribute, *given)]
            rest = tuple(i for i in range(len(clique)) if i not in order)
            kept = sorted(order)
            seen = np.transpose(table.sum(axis=rest), [kept.index(i) for i in order])
            yield ConditionalTable(
                domain.axis(attribute),
                tuple(domain.axis(a) for a in given),
                conditional(seen.reshape(seen.shape[0], -1)),
            )
            given.append(attribute)
