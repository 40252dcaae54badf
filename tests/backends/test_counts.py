"""One suite for every engine: the same integers as a slow, obvious counter, on awkward batches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privbayes.core.domain import Attribute, Domain
from privbayes.counts.backend import CountingBackend
from privbayes.counts.registry import engine_names, open_backend
from privbayes.counts.request import MarginalRequests

Columns = list[np.ndarray]


@pytest.fixture(params=engine_names())
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def halving(name: str, size: int) -> Attribute:
    """An attribute with a binary tree over its codes."""
    levels = [tuple(range(size))]
    while max(levels[-1]) >= 2:
        levels.append(tuple(code >> len(levels) for code in range(size)))
    return Attribute(name=name, levels=tuple(levels))


def some_table(domain: Domain, rows: int, seed: int = 0) -> Columns:
    """Skewed codes, in the narrowest type that holds them."""
    rng = np.random.default_rng(seed)
    columns = []
    for size in domain.cardinalities:
        codes = (rng.random(rows) ** 2 * size).astype(np.int64)
        columns.append(codes.astype(np.uint8 if size <= 256 else np.uint16 if size <= 65536 else np.uint32))
    return columns


def slow_counts(domain: Domain, columns: Columns, axes: tuple[int, ...]) -> np.ndarray:
    """One table, the obvious way."""
    shape = tuple(int(domain.axis_size[axis]) for axis in axes)
    table = np.zeros(shape, np.int64)
    codes = [domain.axis_codes(axis)[columns[domain.axis_attribute[axis]]] for axis in axes]
    for row in range(len(columns[0])):
        table[tuple(int(code[row]) for code in codes)] += 1
    return table.ravel()


def check(engine: str, domain: Domain, columns: Columns, tables: list[tuple[int, ...]]) -> CountingBackend:
    backend = open_backend(engine, domain, columns)
    counted = backend.count(MarginalRequests.of(tables))
    assert len(counted) == len(tables)
    assert counted.cells.dtype == np.int64
    for t, axes in enumerate(tables):
        np.testing.assert_array_equal(counted.table(t), slow_counts(domain, columns, axes), err_msg=str(axes))
    return backend


@pytest.fixture
def mixed() -> Domain:
    """Sizes 16, 2, 1, 7, 2, 300 with trees over the first and the last; axes 0-3, 4, 5, 6-8, 9, 10-18."""
    return Domain(
        (
            halving("age", 16),
            Attribute.flat("sex", 2),
            Attribute.flat("constant", 1),
            halving("edu", 7),
            Attribute.flat("smoker", 2),
            halving("zip", 300),
        )
    )


def test_empty_single_repeated_and_permuted_axes(engine: str, mixed: Domain) -> None:
    tables = [(), (0,), (4,), (5,), (0, 4), (4, 0), (), (0, 4), (9, 4), (4, 9), (6, 0, 9), (0, 9, 6), (5, 4, 9)]
    check(engine, mixed, some_table(mixed, 500), tables)


def test_generalised_levels_of_the_same_attributes(engine: str, mixed: Domain) -> None:
    tables = [(age, edu, sex) for age in range(4) for edu in (6, 7) for sex in (4, 9)]
    tables += [(edu, age) for age in range(4) for edu in (6, 7)]
    check(engine, mixed, some_table(mixed, 400, seed=1), tables)


def test_wide_axes_alone_together_and_generalised(engine: str, mixed: Domain) -> None:
    wide = int(mixed.first_axis[5])
    tables = [(wide,), (wide, 0), (0, wide), (wide + 1, 4), (wide + 8, 9), (wide, 9, 6), (wide + 2,)]
    check(engine, mixed, some_table(mixed, 400, seed=2), tables)


def test_more_than_16_bits_of_codes(engine: str) -> None:
    domain = Domain((Attribute.flat("id", 70_000), Attribute.flat("zip", 400), Attribute.flat("sex", 2)))
    check(engine, domain, some_table(domain, 300), [(0,), (2, 0), (1, 2), (2, 1), (0, 2), (1,)])


def test_zero_rows(engine: str, mixed: Domain) -> None:
    backend = check(engine, mixed, some_table(mixed, 0), [(), (0, 4), (4, 9), (10, 0), (5,)])
    assert backend.n_rows == 0


def test_no_requests(engine: str, mixed: Domain) -> None:
    backend = open_backend(engine, mixed, some_table(mixed, 10))
    assert len(backend.count(MarginalRequests.of([]))) == 0


def test_a_batch_of_nothing_but_totals(engine: str, mixed: Domain) -> None:
    check(engine, mixed, some_table(mixed, 77), [(), (), ()])


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 1000])
def test_two_valued_columns_of_any_length(engine: str, rows: int) -> None:
    domain = Domain(tuple(Attribute.flat(f"q{i}", 2) for i in range(12)))
    tables = [
        (),
        (3,),
        (1, 0),
        (0, 1),
        (4, 2, 7),
        (7, 4, 2),
        tuple(range(8)),
        tuple(range(11, 1, -1)),
        tuple(range(12)),
    ]
    check(engine, domain, some_table(domain, rows, seed=rows), tables)


def test_more_than_64_columns(engine: str) -> None:
    domain = Domain(tuple(Attribute.flat(f"q{i}", 2 + i % 3 // 2) for i in range(90)))
    rng = np.random.default_rng(3)
    tables = [tuple(int(a) for a in rng.permutation(90)[: rng.integers(0, 6)]) for _ in range(60)]
    check(engine, domain, some_table(domain, 200), tables)


def test_constant_columns_and_rare_values(engine: str) -> None:
    domain = Domain(tuple(Attribute.flat(f"q{i}", 2) for i in range(4)))
    ones, zeros = np.ones(130, np.uint8), np.zeros(130, np.uint8)
    rare, common = zeros.copy(), ones.copy()
    rare[129], common[0] = 1, 0
    check(engine, domain, [ones, zeros, rare, common], [(0, 1, 2, 3), (3, 0), (2,), (1, 3, 2)])


def test_long_tables_span_several_blocks(engine: str, mixed: Domain) -> None:
    columns = some_table(mixed, 70_000, seed=5)
    backend = open_backend(engine, mixed, columns)
    counted = backend.count(MarginalRequests.of([(0, 4, 6), (4, 9), (10, 0)]))
    codes = columns[0].astype(np.int64) * 14 + columns[1] * 7 + columns[3]
    np.testing.assert_array_equal(counted.table(0), np.bincount(codes, minlength=224))
    np.testing.assert_array_equal(counted.table(1), np.bincount(columns[1] * 2 + columns[4], minlength=4))
    np.testing.assert_array_equal(counted.table(2), np.bincount(columns[5] * np.int64(16) + columns[0], minlength=4800))


def test_identical_rows_count_as_often_as_they_occur(engine: str, mixed: Domain) -> None:
    columns = [np.resize(column, 5000) for column in some_table(mixed, 40)]
    backend = open_backend(engine, mixed, columns)
    tables = [(age, edu, 9) for age in range(4) for edu in (6, 7)] + [(0, 4), (4, 9), (11, 5)]
    for _ in range(80):
        counted = backend.count(MarginalRequests.of(tables))
    for t, axes in enumerate(tables):
        np.testing.assert_array_equal(counted.table(t), slow_counts(mixed, columns, axes))


def test_a_second_batch_may_need_other_axes(engine: str, mixed: Domain) -> None:
    columns = some_table(mixed, 200)
    backend = open_backend(engine, mixed, columns)
    for tables in ([(0, 4)], [(1, 9), (4,)], [(10, 7), (4, 9)], [(0, 4, 6, 9)]):
        counted = backend.count(MarginalRequests.of(tables))
        for t, axes in enumerate(tables):
            np.testing.assert_array_equal(counted.table(t), slow_counts(mixed, columns, axes))


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_batch_over_any_domain(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.sampled_from([1, 2, 2, 3, 5, 8, 260]), min_size=1, max_size=7))
    domain = Domain(tuple(halving(f"a{i}", size) for i, size in enumerate(sizes)))
    rows = data.draw(st.integers(0, 150))
    tables = []
    for _ in range(data.draw(st.integers(0, 12))):
        members = data.draw(st.lists(st.integers(0, len(sizes) - 1), unique=True, max_size=4))
        axes = [domain.axis(a, data.draw(st.integers(0, domain.attributes[a].height - 1))) for a in members]
        if domain.cells(tuple(axes)) <= 30_000:
            tables.append(tuple(axes))
    columns = some_table(domain, rows, seed=rows)
    for name in engine_names():
        check(name, domain, columns, tables)
