"""Model files damaged on purpose, under a checksum that fits: refused in one line, or as good as whole ones."""

from __future__ import annotations

import copy
import functools
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import privbayes as pb
from privbayes.errors import ModelFileError, PrivBayesError
from privbayes.modelfile.format import LENGTH, MAGIC, PREFIX, VERSION
from privbayes.privacy.noise import ScriptedNoise

METHODS = ("privbayes", "best", "histogram")

SCHEMA = pb.Schema.from_dict(
    {
        "columns": {
            "age": {"type": "integer", "min": 0, "max": 99, "bins": 4},
            "sex": {"type": "categorical", "values": ["F", "M"], "other": True},
            "seen": {"type": "date", "min": "2020-01-01", "max": "2020-12-31", "bins": 2, "nullable": True},
            "id": {"type": "id"},
        }
    }
)

WRONG: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 2**31, 2**63, 2**70, 0.5, 1e308, float("nan"), float("inf")),
    *("", "x", "int8", "double", "date32[day]", "dictionary<string>", "binary", "9" * 5000),
    *([], {}, [[]], [1], ["age"], {"age": 1}),
)


@functools.cache
def whole(method: str) -> bytes:
    """A model file of a small table."""
    from privbayes.modelfile.write import to_bytes

    rows = 40
    table = pa.table(
        {
            "age": [i * 7 % 100 for i in range(rows)],
            "sex": ["F" if i % 3 else "M" for i in range(rows)],
            "seen": pa.array([18_300 + i for i in range(rows)], pa.int32()).cast(pa.date32()),
            "id": list(range(rows)),
        }
    )
    return to_bytes(pb.fit(table, SCHEMA, epsilon=8.0, method=method, noise=ScriptedNoise())._record())


def parts(data: bytes) -> tuple[Any, bytes]:
    """Header and arrays."""
    end = PREFIX + int.from_bytes(data[LENGTH], "little")
    return json.loads(data[PREFIX:end]), data[end:]


def forged(text: bytes, arrays: bytes) -> bytes:
    """A file with a checksum that fits."""
    digest = hashlib.sha256(text + arrays).digest()
    return MAGIC + VERSION.to_bytes(4, "little") + len(text).to_bytes(8, "little") + digest + text + arrays


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a header."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def altered(header: Any, path: tuple[Any, ...], *, wrong: Any = None, drop: bool = False) -> bytes:
    """The header with one place changed or dropped."""
    copied = copy.deepcopy(header)
    inside = copied
    for key in path[:-1]:
        inside = inside[key]
    if drop:
        del inside[path[-1]]
    else:
        inside[path[-1]] = wrong
    return json.dumps(copied).encode()


def used(path: Path) -> None:
    """Load it, and use all of it if that worked. Whatever is wrong must come out as one of our own errors."""
    try:
        model = pb.load(path)
    except ModelFileError:
        return
    try:
        model.describe()
        model.sample(20, seed=1)
        model.marginal(["age"])
    except PrivBayesError:
        pass


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_forged_header_is_refused_or_harmless(tmp_path: Path, method: str, data: st.DataObject) -> None:
    header, arrays = parts(whole(method))
    path = data.draw(st.sampled_from(list(places(header))))
    drop = data.draw(st.booleans())
    text = altered(header, path, drop=True) if drop else altered(header, path, wrong=data.draw(st.sampled_from(WRONG)))
    (tmp_path / "m.pbm").write_bytes(forged(text, arrays))
    used(tmp_path / "m.pbm")


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_forged_bytes_are_refused_or_harmless(tmp_path: Path, method: str, data: st.DataObject) -> None:
    header, arrays = parts(whole(method))
    body = bytearray(json.dumps(header).encode() + arrays)
    for at in data.draw(st.lists(st.integers(0, len(body) - 1), min_size=1, max_size=5)):
        body[at] = data.draw(st.integers(0, 255))
    length = len(body) - len(arrays)
    (tmp_path / "m.pbm").write_bytes(forged(bytes(body[:length]), bytes(body[length:])))
    used(tmp_path / "m.pbm")


@pytest.mark.parametrize("cells", [2**70, 2**62, 10**9])
def test_a_size_that_the_file_does_not_hold_allocates_nothing(tmp_path: Path, cells: int) -> None:
    header, arrays = parts(whole("privbayes"))
    (tmp_path / "m.pbm").write_bytes(forged(altered(header, ("tables", 0, "cells"), wrong=cells), arrays))
    with pytest.raises(ModelFileError, match="missing or wrong"):
        pb.load(tmp_path / "m.pbm")
