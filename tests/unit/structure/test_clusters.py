"""Merging cliques: the least noise variance where every partition can be compared, and never a broken answer."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from math import inf, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privbayes.core.clique_tree import triangulate
from privbayes.errors import UnsupportedError
from privbayes.structure import clusters
from privbayes.structure.clusters import EXACT, Clusters, form_clusters, noise_variance

Cliques = tuple[tuple[int, ...], ...]


def partitions(items: Sequence[int]) -> Iterator[list[list[int]]]:
    """All of them."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for partition in partitions(rest):
        yield [[first], *partition]
        for k, group in enumerate(partition):
            yield [*partition[:k], [first, *group], *partition[k + 1 :]]


def least_variance(cliques: Cliques, sizes: Sequence[int], most_cells: float, power: int) -> int:
    found = []
    for partition in partitions(range(len(cliques))):
        cells = [prod(sizes[a] for a in {a for i in group for a in cliques[i]}) for group in partition]
        if max(cells) <= most_cells:
            found.append(len(partition) ** power * sum(len(g) * c for g, c in zip(partition, cells, strict=True)))
    return min(found)


def random_cliques(seed: int, nodes: int, most: int = 10**9) -> tuple[Cliques, list[int]]:
    """Of a triangulated random graph, which may fall into components."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, nodes).tolist()
    edges = [(int(rng.integers(0, i)), i) for i in range(1, nodes) if rng.random() < 0.9]
    edges += [tuple(rng.integers(0, nodes, 2).tolist()) for _ in range(int(rng.integers(0, 5)))]
    return triangulate(sizes, edges)[:most], sizes


def test_the_example_of_the_paper() -> None:
    sizes = [2, 2, 3, 4, 3, 2]
    cliques = [(0, 1), (1, 2, 3), (2, 3, 4), (3, 5)]
    best = form_clusters(cliques, sizes)
    assert best == Clusters(tables=((0, 1, 3, 5), (1, 2, 3, 4)), groups=((0, 3), (1, 2)))
    assert 8 * noise_variance(best, sizes) == 6656
    paired = Clusters.of(cliques, [0, 0, 1, 1])
    assert 8 * noise_variance(paired, sizes) == 7680
    alone = form_clusters(cliques, sizes, merge="none")
    assert alone.tables == tuple(cliques)
    assert 8 * noise_variance(alone, sizes) == 9216  # printed as 8960: its four tables have 72 cells, not 70


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.sampled_from([inf, 500.0, 60.0]), st.sampled_from([1, 2]))
def test_few_cliques_are_merged_as_well_as_can_be(seed: int, nodes: int, most_cells: float, power: int) -> None:
    cliques, sizes = random_cliques(seed, nodes, most=7)
    largest = max(prod(sizes[a] for a in clique) for clique in cliques)
    most_cells = max(most_cells, largest)
    best = form_clusters(cliques, sizes, most_cells=most_cells, power=power)
    least = least_variance(cliques, sizes, most_cells, power)
    assert noise_variance(best, sizes, power=power) == least
    limit = min(most_cells, clusters._LARGEST)
    searched = clusters._searched(cliques, sizes, limit, power)
    assert noise_variance(searched, sizes, power=power) == least
    for found in (best, searched):
        assert all(prod(sizes[a] for a in table) <= most_cells for table in found.tables)
        for table, group in zip(found.tables, found.groups, strict=True):
            assert table == tuple(sorted({a for i in group for a in cliques[i]}))


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([inf, 2000.0]))
def test_many_cliques_are_merged_the_same_each_time_within_the_limit(seed: int, most_cells: float) -> None:
    cliques, sizes = random_cliques(seed, EXACT + 16)
    most_cells = max(most_cells, max(prod(sizes[a] for a in clique) for clique in cliques))
    found = form_clusters(cliques, sizes, most_cells=most_cells)
    assert found == form_clusters(cliques, sizes, most_cells=most_cells)
    assert noise_variance(found, sizes) <= noise_variance(form_clusters(cliques, sizes, merge="none"), sizes)
    assert {a for table in found.tables for a in table} == {a for clique in cliques for a in clique}
    assert all(prod(sizes[a] for a in table) <= most_cells for table in found.tables)


def test_the_two_searches_agree_where_both_can_run() -> None:
    for seed in range(4):
        cliques, sizes = random_cliques(seed, 12, most=EXACT)
        exact, searched = (f(cliques, sizes, 1e250, 2) for f in (clusters._exact, clusters._searched))
        assert noise_variance(exact, sizes) == noise_variance(searched, sizes)


def test_single_columns_without_links_are_paired_up_when_they_are_small() -> None:
    assert form_clusters([(0,), (1,), (2,), (3,)], [2, 2, 2, 2]).tables == ((0, 1, 2, 3),)
    assert form_clusters([(0,), (1,)], [50, 50]).tables == ((0,), (1,))


def test_identical_cliques_share_a_table() -> None:
    assert form_clusters([(0, 1), (0, 1), (0, 1)], [9, 9]) == Clusters(tables=((0, 1),), groups=((0, 1, 2),))


@pytest.mark.parametrize("merge", ["auto", "none", "cccp"])
def test_one_clique_or_none_is_left_alone(merge: str) -> None:
    assert form_clusters([(2, 5)], [0, 0, 3, 0, 0, 4], merge=merge).tables == ((2, 5),)
    assert form_clusters([], [], merge=merge) == Clusters(tables=(), groups=())


def test_wrong_use_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="merge must be one of auto, cccp, none"):
        form_clusters([(0,)], [2], merge="best")
    with pytest.raises(UnsupportedError, match="a clique has 12 cells, over the limit of 11"):
        form_clusters([(0, 1), (2,)], [3, 4, 2], most_cells=11)
    with pytest.raises(ValueError, match="noise variance grows"):
        form_clusters([(0,)], [2], power=3)
    with pytest.raises(ValueError, match="exactly one cluster"):
        Clusters(tables=((0,), (1,)), groups=((0,), (0,)))


def test_without_cvxpy_the_relaxation_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(UnsupportedError, match=r'pip install "privbayes\[cccp\]"'):
        form_clusters([(0, 1), (1, 2)], [2, 2, 2], merge="cccp")


def test_the_relaxation_is_a_valid_merger_and_no_better_than_the_search() -> None:
    pytest.importorskip("cvxpy", reason="the extra cccp is not installed")
    for seed in (1, 2):
        cliques, sizes = random_cliques(seed, 7, most=5)
        largest = max(prod(sizes[a] for a in clique) for clique in cliques)
        found = {m: form_clusters(cliques, sizes, merge=m, most_cells=largest) for m in ("auto", "cccp", "none")}
        variance = {merge: noise_variance(each, sizes) for merge, each in found.items()}
        assert variance["auto"] <= variance["cccp"] <= variance["none"]
        assert all(prod(sizes[a] for a in table) <= largest for table in found["cccp"].tables)
