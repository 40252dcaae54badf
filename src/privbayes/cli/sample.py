"""The verb `sample`: draw synthetic rows from a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from privbayes.cli.console import progress, remark, show_json
from privbayes.cli.options import Json, ModelFile, Rows, Seed, TableOut, Where, check_target, conditions

if TYPE_CHECKING:
    from privbayes.api import Model

__all__ = ["sample", "write_sample"]


def sample(
    model: ModelFile, output: TableOut, rows: Rows = None, where: Where = None, seed: Seed = None, json: Json = False
) -> None:
    """Draw synthetic rows from a model.

    This costs nothing more: draw as many, and as often, as you like.
    """
    check_target(output, table=True, as_json=json, reads=[model])
    wanted = conditions(where)
    from privbayes import api

    result = write_sample(api.load(model), output, rows, wanted, seed)
    if json:
        show_json(result)


def write_sample(
    model: Model, output: str, rows: int | None, where: dict[str, str | None] | None, seed: int | None
) -> dict[str, Any]:
    """Draw rows and write them piece by piece; the file appears under its name only when it is whole."""
    from privbayes import api

    total = model.n_rows if rows is None else rows
    with progress(hidden=output == "-") as report:
        api.write_table(model.sample_batches(total, seed=seed, where=where, progress=report), output)
    remark(f"Wrote {total:,} synthetic rows to {output}.")
    return {"output": output, "rows": total, "where": where, "seed": seed}
