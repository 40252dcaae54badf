"""Column kinds: codes, labels, bins, generalisations."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from privbayes.core.domain import Attribute
from privbayes.errors import SchemaError
from privbayes.schema.columns import (
    BooleanColumn,
    CategoricalColumn,
    DateColumn,
    DatetimeColumn,
    IdColumn,
    IntegerColumn,
    NumberColumn,
    OrdinalColumn,
)


def test_codes_are_values_then_other_then_missing() -> None:
    column = CategoricalColumn(values=("a", "b"), other=True, nullable=True)
    assert column.cardinality == 4
    assert (column.other_code, column.missing_code) == (2, 3)
    assert column.labels() == ("a", "b", "other", "missing")
    assert CategoricalColumn(values=("a", "b"), nullable=True).missing_code == 2
    assert CategoricalColumn(values=("a", "b")).missing_code is None


def test_labels_stay_distinct() -> None:
    column = CategoricalColumn(values=("missing", "(missing)"), nullable=True)
    assert column.labels() == ("missing", "(missing)", "((missing))")


def test_boolean_is_false_then_true() -> None:
    assert BooleanColumn(nullable=True).labels() == ("false", "true", "missing")
    assert BooleanColumn().levels() == ((0, 1),)


def test_integer_bins_differ_by_at_most_one_and_cover_the_range() -> None:
    column = IntegerColumn(min=17, max=90, bins=16)
    widths = {b - a for a, b in zip(column.edges, column.edges[1:], strict=False)}
    assert widths == {4, 5}
    assert (column.edges[0], column.edges[-1]) == (17, 91)
    assert column.labels()[0] == "17-20"


def test_integer_with_few_values_gets_one_bin_a_value() -> None:
    column = IntegerColumn(min=3, max=7)
    assert column.cardinality == 5
    assert column.labels() == ("3", "4", "5", "6", "7")


def test_labels_of_negative_integers_are_readable() -> None:
    assert IntegerColumn(min=-10, max=9, bins=2).labels() == ("-10 to -1", "0 to 9")


def test_number_bins() -> None:
    column = NumberColumn(min=10, max=60, bins=4, nullable=True)
    assert column.edges == (10.0, 22.5, 35.0, 47.5, 60.0)
    assert column.labels() == ("[10, 22.5)", "[22.5, 35)", "[35, 47.5)", "[47.5, 60]", "missing")


def test_number_edges_are_the_decimals_that_people_mean() -> None:
    assert NumberColumn(min=0, max=0.1, bins=10).edges == tuple(i / 100 for i in range(11))
    assert NumberColumn(min=-0.3, max=0.3, bins=6).edges == (-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3)


def test_dates_are_whole_days() -> None:
    column = DateColumn(min=date(2020, 1, 1), max=date(2020, 1, 31), bins=2)
    assert column.labels() == ("2020-01-01 to 2020-01-15", "2020-01-16 to 2020-01-31")


def test_datetime_bounds_with_an_offset_are_turned_to_utc() -> None:
    aware = DatetimeColumn(min=datetime(2020, 1, 1, 5, tzinfo=UTC), max="2020-01-02T02:00:00+02:00")  # type: ignore[arg-type]
    assert (aware.min, aware.max) == (datetime(2020, 1, 1, 5), datetime(2020, 1, 2))


def test_binary_tree_halves_until_two_groups_and_keeps_missing_apart() -> None:
    column = OrdinalColumn(values=tuple("abcdef"), nullable=True)
    assert column.levels() == (
        (0, 1, 2, 3, 4, 5, 6),
        (0, 0, 1, 1, 2, 2, 3),
        (0, 0, 0, 0, 1, 1, 2),
    )
    assert OrdinalColumn(values=("a", "b")).levels() == ((0, 1),)
    assert [max(level) + 1 for level in IntegerColumn(min=0, max=999).levels()] == [16, 8, 4, 2]


@pytest.mark.parametrize("values", range(1, 40))
def test_levels_fit_the_domain(values: int) -> None:
    column = OrdinalColumn(values=tuple(range(values)), nullable=True, other=True)
    attribute = Attribute(name="x", levels=column.levels())
    assert attribute.cardinality == values + 2
    assert all(a > b for a, b in zip(attribute.level_sizes, attribute.level_sizes[1:], strict=False))


def test_ids_are_not_modelled() -> None:
    assert not IdColumn().modelled
    assert IdColumn(prefix="P").to_dict() == {"type": "id", "prefix": "P"}


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: IntegerColumn(min=5, max=5), "min must be below max"),
        (lambda: IntegerColumn(min=True, max=5), "whole number"),
        (lambda: IntegerColumn(min=0, max=2**63), "2\\^62"),
        (lambda: IntegerColumn(min=0, max=9, bins=0), "bins must be"),
        (lambda: NumberColumn(min=float("nan"), max=1), "finite number"),
        (lambda: NumberColumn(min=0, max=10**400), "finite number"),
        (lambda: NumberColumn(min=-1.7e308, max=1.7e308), "too far apart"),
        (lambda: NumberColumn(min=1.0, max=1.0 + 2**-50, bins=64), "fewer bins"),
        (lambda: NumberColumn(min="1e-3", max=1), "plain number"),  # type: ignore[arg-type]
        (lambda: DateColumn(min=date(2021, 1, 1), max=date(2020, 1, 1)), "min must be below max"),
        (lambda: DateColumn(min="01/02/2020", max=date(2020, 1, 1)), "such as 2020-01-31"),  # type: ignore[arg-type]
        (lambda: DateColumn(min=datetime(2020, 1, 1, 5), max=date(2021, 1, 1)), "type datetime"),
        (lambda: DatetimeColumn(min="noon", max=datetime(2020, 1, 1)), "08:30:00"),  # type: ignore[arg-type]
        (lambda: CategoricalColumn(values=()), "at least one value"),
        (lambda: CategoricalColumn(values="abc"), "must be a list"),  # type: ignore[arg-type]
        (lambda: CategoricalColumn(values=("a", "a")), "twice"),
        (lambda: CategoricalColumn(values=(1, "1")), "read the same"),
        (lambda: CategoricalColumn(values=(1, 1.0)), "read the same"),
        (lambda: CategoricalColumn(values=(True, False)), "quote yes, no"),
        (lambda: CategoricalColumn(values=("a", None)), "nullable: true"),  # type: ignore[arg-type]
        (lambda: CategoricalColumn(values=(float("inf"),)), "finite"),
        (lambda: CategoricalColumn(values=(date(2020, 1, 1),)), "quote it"),  # type: ignore[arg-type]
        (lambda: CategoricalColumn(values=("a", "other"), other=True), "keep one of the two"),
        (lambda: CategoricalColumn(values=("a",), other=1), "true or false"),  # type: ignore[arg-type]
        (lambda: BooleanColumn(nullable="yes"), "true or false"),  # type: ignore[arg-type]
        (lambda: IdColumn(prefix="a\nb"), "one line"),
        (lambda: IdColumn(nullable=True), "drop it"),
    ],
)
def test_what_a_column_refuses(make: object, rule: str) -> None:
    with pytest.raises(SchemaError, match=rule) as caught:
        make()  # type: ignore[operator]
    assert "\n" not in str(caught.value)
