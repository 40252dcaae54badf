"""A junction tree's distribution is the one its tables define, whatever is asked of it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privbayes.core.clique_tree import CliqueTree, triangulate
from privbayes.core.domain import Attribute, Domain
from privbayes.model.clique_tree import clique_tree_chain
from privbayes.model.factor import Factor

SIZES = (2, 3, 2, 4, 2)
DOMAIN = Domain(tuple(Attribute.flat(f"x{i}", size) for i, size in enumerate(SIZES)))
EDGES = list(itertools.combinations(range(len(SIZES)), 2))


def projected(full: np.ndarray, attributes: tuple[int, ...]) -> np.ndarray:
    return np.transpose(
        full.sum(axis=tuple(a for a in range(full.ndim) if a not in attributes)),
        [sorted(attributes).index(a) for a in attributes],
    )


def by_definition(tree: CliqueTree, tables: list[np.ndarray]) -> np.ndarray:
    """The product of the clique tables over the product of the separators, on the whole domain."""
    full = np.ones(SIZES)
    for clique, separator, table in zip(tree.cliques, tree.separators, tables, strict=True):
        full *= np.expand_dims(table, tuple(a for a in range(len(SIZES)) if a not in clique))
        over = table.sum(axis=tuple(i for i, a in enumerate(clique) if a not in separator))
        full /= np.expand_dims(over, tuple(a for a in range(len(SIZES)) if a not in separator))
    return full / full.sum()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(EDGES), unique=True), st.integers(0, 2**32 - 1))
def test_marginals_are_those_of_the_product_of_cliques_over_separators(edges: list[tuple[int, int]], seed: int) -> None:
    tree = CliqueTree.of(triangulate(SIZES, edges), SIZES)
    joint = np.random.default_rng(seed).dirichlet(np.ones(np.prod(SIZES))).reshape(SIZES)
    tables = [projected(joint, clique) for clique in tree.cliques]
    chain = clique_tree_chain(DOMAIN, tree, tables)
    expected = by_definition(tree, tables)
    for k in range(1, 4):
        for attributes in itertools.permutations(range(len(SIZES)), k):
            np.testing.assert_allclose(chain.marginal(attributes), projected(expected, attributes), atol=1e-12)
    for clique in tree.cliques:
        np.testing.assert_allclose(chain.marginal(clique), projected(joint, clique), atol=1e-12)


def test_rows_follow_the_distribution_and_the_evidence() -> None:
    rng = np.random.default_rng(3)
    joint = rng.dirichlet(np.ones(np.prod(SIZES)) * 0.3).reshape(SIZES)
    tree = CliqueTree.of([(0, 1), (1, 2), (2, 3), (4,)], SIZES)
    tables = [projected(joint, clique) for clique in tree.cliques]
    chain = clique_tree_chain(DOMAIN, tree, tables)
    expected = by_definition(tree, tables)
    rows = chain.sampler().draw(200_000, rng)
    seen = np.zeros(SIZES)
    np.add.at(seen, rows, 1 / 200_000)
    assert 0.5 * np.abs(seen - expected).sum() < 0.02
    given_three = chain.sampler([Factor((3,), np.array([0.0, 1.0, 0.0, 0.0]))]).draw(50_000, rng)
    assert set(given_three[3]) == {1}
    share = expected[:, :, :, 1, :].sum(axis=(1, 2, 3))
    np.testing.assert_allclose(np.bincount(given_three[0]) / 50_000, share / share.sum(), atol=0.02)


def test_tables_that_miss_an_attribute_are_refused() -> None:
    with pytest.raises(ValueError, match="cover every attribute"):
        clique_tree_chain(DOMAIN, CliqueTree(((0, 1),), (-1,)), [np.ones((2, 3))])
