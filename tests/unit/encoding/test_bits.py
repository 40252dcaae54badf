"""Binary and Gray codes."""

from __future__ import annotations

import numpy as np
import pytest

from privbayes.encoding.bits import bit_count, code_bits, codes_of_numerals, numerals


@pytest.mark.parametrize(("values", "bits"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (16, 4), (17, 5)])
def test_bit_count(values: int, bits: int) -> None:
    assert bit_count(values) == bits


def test_most_significant_bit_comes_first() -> None:
    assert code_bits(6, gray=False)[:, 4].tolist() == [1, 0, 0]
    assert code_bits(6, gray=True)[:, 4].tolist() == [1, 1, 0]


@pytest.mark.parametrize("gray", [False, True])
@pytest.mark.parametrize("values", [1, 2, 3, 5, 8, 13, 16, 41, 1000])
def test_numerals_give_the_codes_back_and_all_of_them_give_one(values: int, gray: bool) -> None:
    bits = code_bits(values, gray=gray)
    table = codes_of_numerals(values, gray=gray)
    assert table[numerals(list(bits))].tolist() == list(range(values))
    assert len(table) == 2 ** len(bits)
    assert table.min() >= 0
    assert table.max() == values - 1


def test_a_numeral_that_is_no_code_drops_its_top_bit() -> None:
    assert codes_of_numerals(5, gray=False).tolist() == [0, 1, 2, 3, 4, 1, 2, 3]


@pytest.mark.parametrize("values", [4, 16, 37])
def test_neighbouring_gray_codes_differ_in_one_bit(values: int) -> None:
    bits = code_bits(values, gray=True).astype(int)
    assert (np.abs(np.diff(bits, axis=1)).sum(axis=0) == 1).all()
