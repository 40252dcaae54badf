"""Times and memory of `best`: each case in a process of its own, after one that fills the compile cache.

    python benchmarks/best_speed.py [case ...]

Each table is fitted at epsilon 1 and sampled with as many rows as it has, under pure epsilon and with delta 1e-9: once
with all that a new process has to load, and once more.
"""

from __future__ import annotations

import tempfile
from functools import partial

import numpy as np
import pyarrow as pa
from common import data_paths
from timing import Case, main, repeated, timed

ROWS = (125_000, 250_000, 500_000, 1_000_000)
TABLES = {"nltcs": 2, "acs": 2, "br2000": 2, "adult": 2, "retail": 10}


def one_table(name: str, delta: float | None) -> dict[str, float]:
    import privbayes as pb

    table, rules = data_paths(name)
    schema = pb.Schema.load(rules)
    times: dict[str, float] = {}
    for word in ("first", "warm"):  # the first fit of a process loads compiled code and OpenDP
        fit, model = timed(lambda: pb.fit(table, schema, epsilon=1.0, delta=delta))
        rows, _ = timed(lambda model=model: model.sample(seed=1, as_="arrow"))  # type: ignore[misc]
        times |= {f"{word}_fit": fit, f"{word}_rows": rows}
    return {**times, "total": times["warm_fit"] + times["warm_rows"]}


def many_rows() -> dict[str, float]:
    """Adult repeated: the fit at growing numbers of rows, then as many synthetic rows."""
    import privbayes as pb

    schema = pb.Schema.load(data_paths("adult")[1])
    times: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for rows in ROWS:
            path = repeated("adult", schema, rows, folder)
            pb.fit(path, schema, epsilon=1.0, delta=1e-9)
            times[f"fit_{rows // 1000}k"], model = timed(
                lambda path=path: pb.fit(path, schema, epsilon=1.0, delta=1e-9)  # type: ignore[misc]
            )
        times["rows_1000k"], _ = timed(lambda: model.sample(ROWS[-1], seed=1, as_="arrow"))
    return times


def wide(values: int) -> dict[str, float]:
    """100,000 made-up rows of 200 columns, each leaning on one before it."""
    import privbayes as pb

    rng = np.random.default_rng(1)
    rows, columns = 100_000, 200
    codes = [rng.integers(0, values, rows)]
    for c in range(1, columns):
        follows = rng.random(rows) < 0.6
        codes.append(np.where(follows, codes[rng.integers(c)], rng.integers(0, values, rows)))
    table = pa.table({f"c{c}": column for c, column in enumerate(codes)})
    rule = {"type": "categorical", "values": list(range(values))}
    schema = pb.Schema.from_dict({"columns": dict.fromkeys(table.column_names, rule)})
    del codes
    fit, model = timed(lambda: pb.fit(table, schema, epsilon=1.0, delta=1e-9))
    drawn, _ = timed(lambda: model.sample(seed=1, as_="arrow"))
    return {"fit": fit, "rows": drawn, "total": fit + drawn}


CASES: dict[str, Case] = {
    **{name: partial(one_table, name, 1e-9) for name in TABLES},
    **{f"{name}_pure": partial(one_table, name, None) for name in TABLES},
    "many_rows": many_rows,
    "wide_2": partial(wide, 2),
    "wide_8": partial(wide, 8),
}
TARGETS = {
    **{name: f"fit + rows <= {seconds} s, <= 1 GB" for name, seconds in TABLES.items()},
    **{f"{name}_pure": f"fit + rows <= {seconds} s, <= 1 GB" for name, seconds in TABLES.items()},
    "many_rows": "linear in n past 100,000 rows",
    "wide_2": "fit + rows <= 120 s",
    "wide_8": "fit + rows <= 120 s",
}

if __name__ == "__main__":
    main(__file__, CASES, TARGETS, "best_speed")
