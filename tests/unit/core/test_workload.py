"""What a table is wanted for: how much pairs and triples count."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from privbayes.core.workload import Workload

NAMES = ("a", "b", "c", "d")


def test_all_pairs_count_alike_unless_said_otherwise() -> None:
    workload = Workload.pairs(4)
    np.testing.assert_array_equal(workload.matrix, 1 - np.eye(4))
    assert workload.of_table((2,)) == 3
    assert not workload.wants_triples


def test_a_weight_counts_in_every_table_of_its_column() -> None:
    workload = Workload(columns=(2.0, 1.0, 0.5, 1.0), triples=True)
    assert workload.of_table((0, 2)) == 1.0
    assert workload.of_table((0,)) == 2 + 1 + 2
    assert workload.of_triple((0, 1, 2)) == 1.0
    np.testing.assert_array_equal(workload.of_pairs([(0, 1), (1, 2)]), [2.0, 0.5])


def test_named_sets_count_more_than_the_rest() -> None:
    workload = Workload(columns=(1.0,) * 4, sets=((0, 1, 2), (2, 3)))
    for pair in combinations(range(4), 2):
        assert (workload.of_table(pair) == 1) == (pair not in [(0, 3), (1, 3)])
    assert workload.triples_within([(0, 1, 2, 3)]) == [(0, 1, 2)]
    assert workload.number_of_triples() == 1


def test_a_target_wants_the_triples_it_is_part_of() -> None:
    workload = Workload(columns=(1.0,) * 4, target=3)
    wanted = [triple for triple in combinations(range(4), 3) if workload.wants(triple)]
    assert wanted == [(0, 1, 3), (0, 2, 3), (1, 2, 3)]
    assert workload.number_of_triples() == len(wanted)
    assert workload.triples_within([(0, 1, 3), (1, 2)]) == [(0, 1, 3)]


def test_a_table_of_one_column_has_a_workload_too() -> None:
    assert Workload.pairs(1).of_table((0,)) == 1


def test_a_workload_survives_the_model_file() -> None:
    workload = Workload(columns=(2.0, 1.0, 0.5, 1.0), sets=((0, 1, 2), (2, 3)), target=1)
    assert Workload.from_dict(workload.to_dict(NAMES), NAMES) == workload


@pytest.mark.parametrize(
    "change",
    [
        {"columns": [1.0, 1.0]},
        {"columns": [1.0, 1.0, 1.0, 0.0]},
        {"sets": [["a"]]},
        {"sets": [["a", "a"]]},
        {"sets": [["a", "x"]]},
        {"target": "x"},
    ],
)
def test_a_workload_that_does_not_fit_is_refused(change: dict[str, object]) -> None:
    with pytest.raises((ValueError, KeyError)):
        Workload.from_dict(Workload.pairs(4).to_dict(NAMES) | change, NAMES)
