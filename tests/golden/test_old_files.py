"""Model files of earlier format versions stay readable and say what they said when they were written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import privbayes as pb

FILES = sorted(Path(__file__).parent.glob("*.pbm"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_old_file_says_what_it_said(path: Path) -> None:
    written = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    model = pb.load(path)
    assert model.guarantee.sentence() == written["guarantee"]
    assert (len(model.receipts), model.n_rows) == (written["receipts"], written["n_rows"])
    for columns, probabilities in written["marginals"].items():
        answered = model.marginal(columns.split(","), as_="arrow")["probability"].to_numpy()
        np.testing.assert_allclose(answered, probabilities, atol=1e-9)
    assert model.sample(100, seed=1).num_rows == 100


def test_there_is_one() -> None:
    assert FILES
