"""Model files: what goes in comes out, damage is noticed, nothing but released values is inside."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privbayes.errors import ModelFileError
from privbayes.modelfile.format import PREFIX, ModelRecord
from privbayes.modelfile.read import from_bytes, read_model
from privbayes.modelfile.write import to_bytes, write_model
from privbayes.privacy.released import Guarantee, Measurement, Receipt


def record(fill: int = 3) -> ModelRecord:
    values = np.full(6, fill, np.int64)
    return ModelRecord(
        method="privbayes",
        schema={"columns": {"naïve": {"type": "boolean"}}},
        spec={"encoding": "vanilla"},
        structure={"network": {"naïve": []}},
        tables=[((0, 1), Measurement(label="t", values=values, noise="discrete laplace", scale=2.5))],
        parameters=np.array([0.5, -1.25, fill]),
        n_rows=10,
        guarantee=Guarantee(epsilon=1.0, delta=0.0, rho=None, neighbours="replace", rows_per_person=1, private=True),
        receipts=[
            Receipt(
                label="t", mechanism="discrete laplace", neighbours="replace", sensitivity="table", scale=2.5, values=6,
                cost=Fraction(1, 3),
            )
        ],
        output={"columns": ["naïve"], "types": {}, "kind": "file"},
    )  # fmt: skip


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    given = record(-7)
    write_model(given, tmp_path / "m.pbm")
    got = read_model(tmp_path / "m.pbm")
    for field in ("method", "schema", "spec", "structure", "n_rows", "guarantee", "receipts", "output"):
        assert getattr(got, field) == getattr(given, field)
    np.testing.assert_array_equal(got.tables[0][1].values, given.tables[0][1].values)
    assert got.tables[0][0] == (0, 1)
    np.testing.assert_array_equal(got.parameters, given.parameters)
    assert list(tmp_path.iterdir()) == [tmp_path / "m.pbm"]


def test_a_model_that_is_not_private_says_so_in_the_file() -> None:
    tainted = dataclasses.replace(
        record(), guarantee=dataclasses.replace(record().guarantee, private=False, epsilon=float("inf"))
    )
    data = to_bytes(tainted)
    assert b"NOT PRIVATE" in data
    assert not from_bytes(data, "m").guarantee.private


def test_the_size_does_not_depend_on_a_count() -> None:
    assert len(to_bytes(record(0))) == len(to_bytes(record(2**60))) == len(to_bytes(record(-(2**60))))


def test_every_cut_is_noticed() -> None:
    data = to_bytes(record())
    for length in range(len(data)):
        with pytest.raises(ModelFileError, match=r"^m "):
            from_bytes(data[:length], "m")


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_every_flipped_byte_is_noticed(data: st.DataObject) -> None:
    whole = bytearray(to_bytes(record()))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ModelFileError):
        from_bytes(bytes(whole), "m")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 a spreadsheet", b"PRIVBAYE", b"a,b\n1,2\n"])
def test_foreign_files_are_told_apart(content: bytes) -> None:
    with pytest.raises(ModelFileError):
        from_bytes(content, "m")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_a_foreign_file_is_not_read_to_its_end() -> None:
    with pytest.raises(ModelFileError, match="not a privbayes model"):
        read_model("/dev/zero")


def test_a_newer_version_asks_for_an_update() -> None:
    data = bytearray(to_bytes(record()))
    data[8] = 9
    with pytest.raises(ModelFileError, match=r"version 9.*update"):
        from_bytes(bytes(data), "m")


@pytest.mark.parametrize("field", ["method", "schema", "tables", "receipts", "guarantee", "n_rows", "output", "spec"])
def test_a_missing_or_wrong_field_is_an_error_not_a_crash(field: str) -> None:
    import hashlib

    data = to_bytes(record())
    length = int.from_bytes(data[12:20], "little")
    header = json.loads(data[PREFIX : PREFIX + length])
    for change in ("missing", "wrong"):
        altered = dict(header)
        if change == "missing":
            del altered[field]
        else:
            altered[field] = {"n_rows": -1, "method": None}.get(field, 17)
            if field == "method":
                continue
        text = json.dumps(altered).encode()
        body = text + data[PREFIX + length :]
        forged = data[:12] + len(text).to_bytes(8, "little") + hashlib.sha256(body).digest() + body
        with pytest.raises(ModelFileError, match="missing or wrong"):
            from_bytes(forged, "m")


def test_a_missing_folder_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="cannot be written"):
        write_model(record(), tmp_path / "nowhere" / "m.pbm")
    with pytest.raises(ModelFileError, match="cannot read"):
        read_model(tmp_path / "nothing.pbm")


def test_nothing_half_written_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "nothing was left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ModelFileError, match="nothing was left"):
        write_model(record(), tmp_path / "m.pbm")
    assert list(tmp_path.iterdir()) == []
