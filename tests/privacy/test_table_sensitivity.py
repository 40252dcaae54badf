"""What one row can do to a table of counts, over all small tables."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from privbayes.measure.marginals import table_sensitivity, total_sensitivity


@pytest.mark.parametrize("cells", [1, 2, 4])
def test_table_bounds_hold_and_are_met(cells: int) -> None:
    worst = {"replace": (0, 0), "add-remove": (0, 0)}
    for counts in product(range(4), repeat=cells):
        before = np.array(counts)
        for added in range(cells):
            after = before.copy()
            after[added] += 1
            worst["add-remove"] = max(worst["add-remove"], (1, 1))
            for removed in np.flatnonzero(before):
                moved = after.copy()
                moved[removed] -= 1
                change = moved - before
                worst["replace"] = max(worst["replace"], (int(np.abs(change).sum()), int((change**2).sum())))
    for neighbours, (l1, l2_squared) in worst.items():
        bound = table_sensitivity(neighbours)  # type: ignore[arg-type]
        assert bound.l1 is not None
        assert bound.l2_squared is not None
        assert l1 <= bound.l1
        assert l2_squared <= bound.l2_squared
        if cells > 1:
            assert (l1, l2_squared) == (bound.l1, bound.l2_squared)


def test_the_total_is_free_only_where_it_is_public() -> None:
    assert total_sensitivity("replace").l1 == 0
    assert total_sensitivity("add-remove").l1 == 1


def test_many_rows_a_person_scale_every_norm() -> None:
    bound = table_sensitivity("replace").for_rows(3)
    assert (bound.l1, bound.l2_squared) == (6, 18)
