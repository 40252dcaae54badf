"""The method jtree on the command line: every knob, from the plan to the rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Clinic, Run

KNOBS = ("--method", "jtree", "--edges", "tree", "--phi", 0.1, "--merge", "none", "--infer", "consistent")


def test_from_the_plan_to_the_rows(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    model, rows = tmp_path / "m.pbm", tmp_path / "rows.csv"
    planned = run("plan", "-s", clinic.schema, "--rows", 5000, "-e", 2, *KNOBS)
    assert planned.code == 0
    assert "cliques" in planned.out
    assert "clusters" in planned.out
    details = json.loads(run("plan", "-s", clinic.schema, "--rows", 5000, "-e", 2, "--json", *KNOBS).out)["details"]
    assert details["clusters"] == details["cliques"]
    assert run("fit", clinic.table, "-s", clinic.schema, "-e", 2, "-o", model, *KNOBS).code == 0
    shown = run("inspect", model)
    assert shown.code == 0
    assert "Cliques: columns that are drawn together" in shown.out
    assert "choosing links" in shown.out
    spec = json.loads(run("inspect", model, "--json").out)["spec"]
    assert [spec[knob] for knob in ("edges", "phi", "merge", "infer")] == ["tree", 0.1, "none", "consistent"]
    assert run("sample", model, "-n", 20, "--where", "sex=Female", "-o", rows).code == 0
    assert len(rows.read_text(encoding="utf-8").splitlines()) == 21
    assert run("marginal", model, "smoker,severity").code == 0


def test_rows_in_one_go_with_a_joint_fit(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    rows, model = tmp_path / "rows.csv", tmp_path / "m.pbm"
    knobs = ("--method", "jtree", "--edges", 3, "--delta", 1e-6, "--infer", "joint", "--model", model)
    assert run("synthesize", clinic.table, "-s", clinic.schema, "-e", 2, "-o", rows, "-n", 9, *knobs).code == 0
    assert len(rows.read_text(encoding="utf-8").splitlines()) == 10
    assert run("inspect", model).code == 0


@pytest.mark.parametrize(
    ("knobs", "word"),
    [
        (("--edges", "forest"), "tree"),
        (("--edges", "-1"), "tree"),
        (("--phi", "1"), "between 0 and 1"),
        (("--merge", "most"), "most"),
        (("--infer", "guess"), "guess"),
    ],
)
def test_wrong_knobs_are_wrong_use(run: Run, clinic: Clinic, knobs: tuple[str, str], word: str) -> None:
    run("plan", "-s", clinic.schema, "--rows", 100, "-e", 1, "--method", "jtree", *knobs).refused(2, word)
