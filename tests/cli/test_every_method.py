"""Every method from the command line: plan, fit, inspect, sample, marginal; and a wrong table refused alike."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from privbayes.api import METHODS
from privbayes.cli.exits import FAILED

from .conftest import Clinic, Run


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_method_from_its_plan_to_its_rows(run: Run, clinic: Clinic, tmp_path: Path, method: str) -> None:
    model, rows = tmp_path / "m.pbm", tmp_path / "rows.csv"
    planned = run("plan", "-s", clinic.schema, "--rows", clinic.n_rows, "-e", 3, "--method", method)
    assert planned.code == 0, planned
    assert method in planned.out
    done = run("fit", clinic.table, "-s", clinic.schema, "-e", 3, "--method", method, "-o", model)
    assert done.code == 0, done
    told = run("inspect", model)
    assert told.code == 0, told
    assert method in told.out
    told = run("inspect", model, "--json")
    assert json.loads(told.out)["method"] == method
    assert run("sample", model, "-n", 40, "--seed", 1, "-o", rows).code == 0
    assert len(rows.read_text(encoding="utf-8").splitlines()) == 41
    table = json.loads(run("marginal", model, "smoker,severity", "--json").out)
    assert table


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_table_that_breaks_its_schema_is_refused_in_one_line(
    run: Run, clinic: Clinic, tmp_path: Path, method: str
) -> None:
    lines = clinic.table.read_text(encoding="utf-8").splitlines()
    lines[7] = lines[7].replace(",Female,", ",Sentinel,").replace(",Male,", ",Sentinel,")
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("\n".join(lines) + "\n", encoding="utf-8")
    outcome = run("fit", wrong, "-s", clinic.schema, "-e", 1, "--method", method, "-o", tmp_path / "m.pbm")
    outcome.refused(FAILED, "sex")
    assert "Sentinel" not in outcome.err
    assert not (tmp_path / "m.pbm").exists()
