from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from privbayes.core.domain import Attribute, Domain
from privbayes.counts.axes import merge_rows
from privbayes.counts.memory import MemoryBackend
from privbayes.counts.registry import engine_names, open_backend
from privbayes.counts.request import MarginalRequests
from privbayes.errors import UnsupportedError

DOMAIN = Domain((Attribute.flat("a", 300), Attribute.flat("b", 250), Attribute.flat("c", 3)))


def columns(rows: int = 1000, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [
        rng.integers(0, 300, rows).astype(np.uint16),
        rng.integers(0, 250, rows).astype(np.uint8),
        rng.integers(0, 3, rows).astype(np.uint8),
    ]


def test_the_number_of_threads_changes_nothing() -> None:
    requests = MarginalRequests.of([(0, 1), (2, 1), (1,), (0, 2), (2, 0), ()] * 5)
    one = MemoryBackend(DOMAIN, columns(), threads=1).count(requests)
    three = MemoryBackend(DOMAIN, columns(), threads=3).count(requests)
    np.testing.assert_array_equal(one.cells, three.cells)
    np.testing.assert_array_equal(one.offsets, three.offsets)


def test_large_tables_are_counted_in_place_in_any_order() -> None:
    a, b, c = (column.astype(np.int64) for column in columns())
    backend = MemoryBackend(DOMAIN, columns())
    np.testing.assert_array_equal(
        backend.count(MarginalRequests.of([(2, 0, 1)])).cells, np.bincount((c * 300 + a) * 250 + b, minlength=225_000)
    )
    counted = backend.count(MarginalRequests.of([(1, 0), (2,)]))
    np.testing.assert_array_equal(counted.table(0), np.bincount(b * 300 + a, minlength=75_000))


def test_too_many_cells_are_refused_beforehand_with_the_size() -> None:
    backend = MemoryBackend(DOMAIN, columns(), max_bytes=2**20)
    with pytest.raises(UnsupportedError, match=r"take 2 MB, over the limit of 1 MB"):
        backend.count(MarginalRequests.of([(0, 1, 2)]))
    huge = Domain(tuple(Attribute.flat(f"x{i}", 60_000) for i in range(12)))
    with pytest.raises(UnsupportedError, match="over the limit"):
        MemoryBackend(huge, [np.zeros(3, np.uint16)] * 12).count(MarginalRequests.of([tuple(range(12))]))


@pytest.mark.parametrize(
    ("given_columns", "rule"),
    [
        (columns()[:2], "2 columns for a domain of 3"),
        ([*columns()[:2], columns(999)[2]], "'c' must be"),
        ([*columns()[:2], columns()[2].astype(np.int64)], "'c' must be"),
        ([*columns()[:2], columns()[1]], "'c' holds a code outside 0 .. 2"),
    ],
)
def test_columns_that_do_not_fit_the_domain_are_refused(given_columns: list[np.ndarray], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        MemoryBackend(DOMAIN, given_columns)


def test_no_threads_are_refused() -> None:
    with pytest.raises(ValueError, match="threads"):
        MemoryBackend(DOMAIN, columns(), threads=0)


def test_it_hides_its_rows_and_cannot_be_saved() -> None:
    backend = MemoryBackend(DOMAIN, columns())
    assert repr(backend) == "<MemoryBackend over 3 attributes, rows hidden>"
    for escape in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="private rows"):
            escape(backend)


@pytest.mark.parametrize("wide", [1, 12])
def test_merged_rows_are_the_distinct_rows_with_their_counts(wide: int) -> None:
    """With 12 columns of 300 values the domain passes 64 bits, and keys are hashes."""
    domain = Domain(tuple(Attribute.flat(f"x{i}", 300) for i in range(wide)) + DOMAIN.attributes)
    rng = np.random.default_rng(1)
    some = [rng.integers(0, 300, 500).astype(np.uint16) for _ in range(wide)] + columns(500)
    table = [np.resize(column, 5000) for column in some]
    merged = merge_rows(domain, table, 2**28)
    assert merged is not None
    rows, weight = merged
    expected, times = np.unique(np.array(table), axis=1, return_counts=True)
    order = np.lexsort(np.array(rows)[::-1])
    np.testing.assert_array_equal(np.array(rows)[:, order], expected)
    np.testing.assert_array_equal(weight[order], times)


def test_rows_are_not_merged_when_it_does_not_pay() -> None:
    distinct = [np.resize(column, 5000) for column in columns(4000)]
    assert merge_rows(DOMAIN, distinct, 2**28) is None
    repeated = [np.resize(column, 5000) for column in columns(10)]
    assert merge_rows(DOMAIN, repeated, 1000) is None
    assert merge_rows(DOMAIN, [column[:100] for column in repeated], 2**28) is None


def test_engines_are_found_by_name() -> None:
    assert "memory" in engine_names()
    backend = open_backend("memory", DOMAIN, columns(), threads=1)
    assert isinstance(backend, MemoryBackend)
    assert backend.n_rows == 1000
    assert backend.domain is DOMAIN
    with pytest.raises(UnsupportedError, match=r"unknown engine 'abacus'; use one of: memory"):
        open_backend("abacus", DOMAIN, columns())
