"""`best` buys a pair over groups of values where the budget does not carry the values themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import privbayes as pb
from privbayes.errors import ModelFileError
from privbayes.modelfile.read import read_model
from privbayes.modelfile.write import write_model
from privbayes.privacy.noise import ScriptedNoise

VALUES = [str(v) for v in range(16)]
SCHEMA = pb.Schema.from_dict(
    {
        "columns": {
            "age": {"type": "ordinal", "values": VALUES},
            "hours": {"type": "ordinal", "values": VALUES},
            "town": {"type": "categorical", "values": VALUES},
        }
    }
)


def table(rows: int = 20_000) -> pa.Table:
    """Some hours rise with age; towns are two large ones, which age tells apart, and fourteen hamlets."""
    rng = np.random.default_rng(3)
    age = rng.integers(0, 16, rows)
    hours = np.where(rng.random(rows) < 0.4, np.clip(age + rng.integers(-3, 4, rows), 0, 15), rng.integers(0, 16, rows))
    town = np.where(rng.random(rows) < 0.05, rng.integers(2, 16, rows), age > 7)
    return pa.table(
        {name: pa.array(codes.astype(str)) for name, codes in (("age", age), ("hours", hours), ("town", town))}
    )


def fitted(epsilon: float) -> pb.Model:
    """Without noise on what is released; what is bought is decided as if there were."""
    return pb.fit(
        table(), SCHEMA, epsilon=epsilon, delta=1e-9, method="best", neighbours="add-remove", noise=ScriptedNoise()
    )


def sizes(model: pb.Model) -> dict[str, int]:
    return {" x ".join(one["columns"]): one["cells"] for one in model.describe()["tables"] if len(one["columns"]) == 2}


def test_a_small_budget_buys_groups_and_a_large_one_values() -> None:
    small, large = sizes(fitted(0.1)), sizes(fitted(20.0))
    assert large["age x hours"] == 256
    assert small["age x hours"] < 256
    assert any("over groups" in receipt.label for receipt in fitted(0.1).receipts)


def test_groups_tell_what_a_pair_is_like() -> None:
    """Bought over groups, age and hours are nearer to the truth than independent columns."""
    model = fitted(0.1)
    rows = table().to_pandas()
    truth = rows.groupby(["age", "hours"]).size().reindex(
        [(a, b) for a in VALUES for b in VALUES], fill_value=0
    ).to_numpy() / len(rows)
    known = model.marginal(["age", "hours"], as_="pandas")["probability"].to_numpy()
    alone = np.outer(*(model.marginal(name, as_="pandas")["probability"].to_numpy() for name in ("age", "hours")))
    assert np.abs(known - truth).sum() < 0.7 * np.abs(alone.ravel() - truth).sum()


def test_groups_are_kept_in_the_file(tmp_path: Path) -> None:
    model = fitted(0.1)
    model.save(tmp_path / "m.pbm")
    again = pb.load(tmp_path / "m.pbm")
    for pair in (["age", "hours"], ["age", "town"], ["hours", "town"]):
        assert again.marginal(pair, as_="pandas").equals(model.marginal(pair, as_="pandas"))
    assert again.sample(500, seed=1, as_="pandas").equals(model.sample(500, seed=1, as_="pandas"))


@pytest.mark.parametrize("spoil", [lambda codes: codes[:-1], lambda codes: [code + 1 for code in codes]])
def test_groups_that_do_not_match_their_table_are_refused(tmp_path: Path, spoil: object) -> None:
    path = tmp_path / "m.pbm"
    fitted(0.1).save(path)
    record = read_model(path)
    groups = next(one for one in record.structure["groups"] if one)
    groups[0] = spoil(groups[0])  # type: ignore[operator]
    write_model(record, path)
    with pytest.raises(ModelFileError, match="not a valid model file"):
        pb.load(path)
