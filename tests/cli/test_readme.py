"""What the README shows works as it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

from privbayes import api
from privbayes.demo.clinic import clinic_table

from .conftest import KEPT, Run

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    shlex.split(line, comments=True)[1:]
    for block in re.findall(r"```\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("privbayes ")
]


@pytest.fixture
def patients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the README's patients.csv."""
    monkeypatch.chdir(tmp_path)
    api.write_table(clinic_table(1000).select(KEPT), "patients.csv")
    return tmp_path


@pytest.mark.usefixtures("patients")
def test_the_commands_and_the_python_example(run: Run) -> None:
    assert len(COMMANDS) >= 8
    for command in COMMANDS:
        assert run(*command).code == 0, command
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names = {"df": pd.read_csv("patients.csv")}
    exec(example, names)
    assert len(names["synthetic"]) == 50_000
    assert set(names["women"]["sex"]) == {"Female"}
    assert names["table"]["probability"].sum() == pytest.approx(1)


def test_the_schema_example_is_valid(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    (tmp_path / "s.yaml").write_text(example, encoding="utf-8")
    assert api.Schema.load(tmp_path / "s.yaml").modelled == ("age", "smoker", "severity", "ward")


def test_files_that_the_documents_name_exist() -> None:
    root = Path(__file__).resolve().parents[2]
    for document in (root / "README.md", *(root / "docs").glob("*.md")):
        text = document.read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (document.parent / link).exists(), f"{document.name} links to {link}"
        for module in re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", text):
            assert any((base / module).exists() for base in (root / "src" / "privbayes", root)), (
                f"{document.name}: {module}"
            )
