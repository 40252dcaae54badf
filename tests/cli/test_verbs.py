"""Each verb, used as meant: what it writes, what it prints, and its JSON."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from privbayes import api
from privbayes.cli.options import TABLE_ENDINGS

from .conftest import KEPT, Clinic, Run, shell


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def _json(text: str) -> Any:
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_help_lists_the_verbs_in_the_order_of_use(run: Run) -> None:
    shown = run("--help")
    assert shown.code == 0
    verbs = ["demo", "schema", "plan", "fit", "sample", "synthesize", "inspect", "marginal"]
    places = [shown.out.index(f"│ {verb} ") for verb in verbs]
    assert places == sorted(places)


@pytest.mark.parametrize("verb", ["demo", "plan", "fit", "sample", "synthesize", "inspect", "marginal"])
def test_every_verb_has_help(run: Run, verb: str) -> None:
    assert f"privbayes {verb}" in run(verb, "--help").out
    assert run(verb, "-h").code == 0


def test_help_names_every_method(run: Run) -> None:
    said = " ".join(run("fit", "--help").out.replace("│", " ").split())
    assert all(name in said for name in api.METHODS)


def test_version(run: Run) -> None:
    assert run("--version").out.startswith("privbayes ")


def test_what_is_wanted_is_said_and_kept(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    model = tmp_path / "m.pbm"
    wanted = ["--workload", "sex,age", "--workload", "age,severity,sex", "--target", "severity", "--weight", "age=2"]
    fitted = run("fit", clinic.table, "-s", clinic.schema, "-e", 1, "--delta", 1e-9, "-o", model, "--json", *wanted)
    assert fitted.code == 0
    spec = _json(run("inspect", model, "--json").out)["spec"]
    assert spec["workload"] == [["sex", "age"], ["age", "severity", "sex"]]
    assert spec["target"] == "severity"
    assert spec["weights"] == {"age": 2.0}
    planned = run("plan", "-s", clinic.schema, "--rows", 500, "-e", 1, "--delta", 1e-9, "--workload", "triples")
    assert planned.code == 0


def test_draft_check_fit_sample(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    schema, model, synthetic = tmp_path / "s.yaml", tmp_path / "m.pbm", tmp_path / "synthetic.csv"

    drafted = run("schema", "draft", clinic.table, "-o", schema)
    assert drafted.code == 0
    assert drafted.err.startswith("privbayes: drafting read the rows")
    checked = run("schema", "check", clinic.table, "-s", schema)
    assert (checked.code, checked.out) == (0, "The table fits the schema.\n")
    assert run("fit", clinic.table, "-s", schema, "-e", 1, "-o", model).code == 0
    assert run("sample", model, "-n", 37, "-o", synthetic).code == 0
    rows = _rows(synthetic.read_text(encoding="utf-8"))
    assert len(rows) == 37
    assert tuple(rows[0]) == KEPT


def test_nothing_is_said_in_a_pipe_when_all_went_well(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    fitted = run("fit", clinic.table, "-s", clinic.schema, "-e", 1, "-o", tmp_path / "m.pbm")
    assert (fitted.code, fitted.out, fitted.err) == (0, "", "")
    sampled = run("sample", tmp_path / "m.pbm", "-o", tmp_path / "synthetic.parquet")
    assert (sampled.code, sampled.out, sampled.err) == (0, "", "")
    assert pq.read_table(tmp_path / "synthetic.parquet").num_rows == clinic.n_rows


def test_a_draft_goes_to_stdout_and_does_not_replace_a_reviewed_file(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    printed = run("schema", "draft", clinic.table)
    assert "smoker" in printed.out
    assert "Review before use" in printed.out
    (tmp_path / "s.yaml").write_text("reviewed", encoding="utf-8")
    run("schema", "draft", clinic.table, "-o", tmp_path / "s.yaml").refused(2, "exists", "--force")
    assert (tmp_path / "s.yaml").read_text(encoding="utf-8") == "reviewed"
    assert run("schema", "draft", clinic.table, "-o", tmp_path / "s.yaml", "--force").code == 0
    assert api.Schema.load(tmp_path / "s.yaml").columns.keys() == set(KEPT)


def test_a_draft_as_json(run: Run, clinic: Clinic) -> None:
    drafted = _json(run("schema", "draft", clinic.table, "--json").out)
    assert list(drafted["schema"]["columns"]) == list(KEPT)
    assert drafted["private"] is False


def test_check_lists_problems_without_cells(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("patient_id,age,sex,smoker,severity\np1,40,Zaphod,true,mild\n", encoding="utf-8")
    checked = run("schema", "check", table, "-s", clinic.schema)
    assert checked.code == 1
    assert "sex" in checked.out
    assert "Zaphod" not in checked.out + checked.err
    result = _json(run("schema", "check", table, "-s", clinic.schema, "--json").out)
    assert result["ok"] is False
    assert len(result["problems"]) == 1


def test_plan_reads_no_table(run: Run, clinic: Clinic) -> None:
    shown = run("plan", "-s", clinic.schema, "--rows", 5000, "-e", 1)
    assert shown.code == 0
    for word in ("5,000 rows", "noisy tables", "severity", "expected error"):
        assert word in shown.out
    plan = _json(run("plan", "-s", clinic.schema, "--rows", 5000, "-e", 1, "--delta", 1e-9, "--json").out)
    assert plan["n_rows"] == 5000
    assert plan["delta"] == 1e-9
    assert {column["name"] for column in plan["columns"]} == set(KEPT) - {"patient_id"}


def test_fit_as_json_says_what_was_bought(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    fitted = _json(run("fit", clinic.table, "-s", clinic.schema, "-e", 2, "-o", tmp_path / "m.pbm", "--json").out)
    assert fitted["guarantee"]["epsilon"] == 2
    assert 0 < sum(receipt["cost"] for receipt in fitted["receipts"]) <= 2 + 1e-12
    assert fitted["output"] == str(tmp_path / "m.pbm")


def test_options_reach_the_method(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    options = "--method privbayes --encoding vanilla --score R --beta 0.5 --theta 2"
    options += " --max-parents 1 --first sex --neighbours add-remove"
    fitted = run("fit", clinic.table, "-s", clinic.schema, "-e", 1, "-o", tmp_path / "m", "--json", *options.split())
    description = _json(fitted.out)
    assert description["spec"]["beta"] == 0.5
    assert description["spec"]["encoding"] == "vanilla"
    assert description["guarantee"]["neighbours"] == "add-remove"
    assert next(iter(description["network"])) == "sex"
    assert max(map(len, description["network"].values())) <= 1


def test_a_network_of_ones_own_costs_nothing_and_may_come_from_inspect(
    run: Run, clinic: Clinic, tmp_path: Path
) -> None:
    fit_once = ["-s", clinic.schema, "-e", 1, "--method", "privbayes", "-o", tmp_path / "first.pbm"]
    assert run("fit", clinic.table, *fit_once).code == 0
    (tmp_path / "n.json").write_text(run("inspect", tmp_path / "first.pbm", "--json").out, encoding="utf-8")
    with_it = ["--method", "privbayes", "-s", clinic.schema, "-e", 1, "--network", tmp_path / "n.json", "--json"]
    fitted = _json(run("fit", clinic.table, "-o", tmp_path / "m", *with_it).out)
    assert fitted["network"] == _json((tmp_path / "n.json").read_text(encoding="utf-8"))["network"]
    assert all(receipt["label"].startswith("table") for receipt in fitted["receipts"])
    links = {"age": [], "sex": ["age"], "smoker": [["age", 1]], "severity": ["age", "smoker"]}
    (tmp_path / "n.json").write_text(json.dumps(links), encoding="utf-8")
    planned = run("plan", "--rows", 500, *with_it)
    assert _json(planned.out)["draws"] == 0


def test_sample_writes_every_format(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    for ending in TABLE_ENDINGS:
        path = tmp_path / f"synthetic{ending}"
        assert run("sample", clinic.model, "-n", 20, "--seed", 7, "-o", path).code == 0
        assert path.stat().st_size > 0
    plain = (tmp_path / "synthetic.csv").read_bytes()
    assert gzip.decompress((tmp_path / "synthetic.csv.gz").read_bytes()) == plain
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"synthetic{ending}" for ending in TABLE_ENDINGS)


def test_the_seed_decides_the_sample(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    texts = []
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        run("sample", clinic.model, "-n", 50, "--seed", seed, "-o", tmp_path / f"{name}.csv")
        texts.append((tmp_path / f"{name}.csv").read_text(encoding="utf-8"))
    assert texts[0] == texts[1] != texts[2]


def test_conditions_hold_in_every_row(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    sampled = run(
        *("sample", clinic.model, "-n", 40, "-o", path, "--json"),
        *("--where", "sex=Female", "--where", "severity=mild", "--where", "smoker="),
    )
    assert _json(sampled.out)["where"] == {"sex": "Female", "severity": "mild", "smoker": None}
    rows = _rows(path.read_text(encoding="utf-8"))
    assert len(rows) == 40
    assert {(row["sex"], row["severity"], row["smoker"]) for row in rows} == {("Female", "mild", "")}


def test_conditions_on_numbers_and_booleans_are_understood_as_text(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    assert run("sample", clinic.model, "-n", 30, "-o", path, "--where", "smoker=true", "--where", "age=40").code == 0
    rows = _rows(path.read_text(encoding="utf-8"))
    assert {row["smoker"] for row in rows} == {"true"}
    assert {row["age"] for row in rows} == {"40"}


def test_synthesize_fits_and_samples_and_keeps_the_model(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    made = run(
        *("synthesize", clinic.table, "-s", clinic.schema, "-e", 1, "-o", tmp_path / "synthetic.csv"),
        *("--model", tmp_path / "m.pbm", "-n", 25, "--json"),
    )
    result = _json(made.out)
    assert result["rows"] == 25
    assert result["guarantee"]["epsilon"] == 1
    assert len(_rows((tmp_path / "synthetic.csv").read_text(encoding="utf-8"))) == 25
    assert api.load(tmp_path / "m.pbm").epsilon == 1


def test_inspect_shows_promise_cost_and_links(run: Run, clinic: Clinic) -> None:
    shown = run("inspect", clinic.model)
    assert shown.code == 0
    for word in ("epsilon = 5", "noisy tables", "replacing one row", "severity", "500 rows"):
        assert word in shown.out
    assert _json(run("inspect", clinic.model, "--json").out)["method"] == "best"


def test_infer_chooses_what_is_made_of_the_tables(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    command = ["fit", clinic.table, "-s", clinic.schema, "-e", 2, "--method", "privbayes", "-o", tmp_path / "m"]
    assert run(*command, "--infer", "joint").code == 0
    shown = run("inspect", tmp_path / "m")
    for word in ("Links:", "Fits", "converged", "noisy tables"):
        assert word in shown.out
    described = _json(run(*command, "--infer", "consistent", "--json").out)
    assert described["spec"]["infer"] == "consistent"
    assert described["kind"] == "bayesian network"
    run(*command, "--infer", "best").refused(2, "--infer", "consistent")


def test_marginal_prints_and_writes_probabilities(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    shown = run("marginal", clinic.model, "sex,smoker")
    assert shown.code == 0
    assert "probability" in shown.out
    answer = _json(run("marginal", clinic.model, "sex", "smoker", "--json").out)
    assert answer["columns"] == ["sex", "smoker"]
    assert sum(cell["probability"] for cell in answer["cells"]) == pytest.approx(1)
    assert run("marginal", clinic.model, "sex,smoker", "-o", tmp_path / "p.csv").out == ""
    assert len(_rows((tmp_path / "p.csv").read_text(encoding="utf-8"))) == len(answer["cells"])


def test_demo_writes_four_files_and_says_how_close_it_came(run: Run, tmp_path: Path) -> None:
    shown = run("demo", "--rows", 3000, "-o", tmp_path / "demo")
    assert (shown.code, shown.err) == (0, "")
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {
        *("table.csv", "schema.yaml", "model.pbm", "synthetic.csv")
    }
    for word in ("3,000 made-up patients", "epsilon = 1", "diagnosis", "privbayes inspect"):
        assert word in shown.out
    result = _json(run("demo", "--rows", 3000, "-o", tmp_path / "demo", "--json").out)
    assert len(result["fidelity"]["columns"]) == 14
    assert all(0 <= distance < 0.5 for distance in result["fidelity"]["columns"].values())
    fits = run("schema", "check", tmp_path / "demo" / "table.csv", "-s", tmp_path / "demo" / "schema.yaml")
    assert fits.code == 0
    original, synthetic = (
        next(csv.reader((tmp_path / "demo" / name).read_text(encoding="utf-8").splitlines()))
        for name in ("table.csv", "synthetic.csv")
    )
    assert original == synthetic


def test_standard_streams(clinic: Clinic, tmp_path: Path) -> None:
    made = shell(
        *("synthesize", "-", "-s", clinic.schema, "-e", 5, "-n", 12, "-o", "-"), stdin=clinic.table.read_bytes()
    )
    assert (made.returncode, made.stderr) == (0, b"")
    assert len(_rows(made.stdout.decode())) == 12


def test_the_endings_named_here_are_those_that_can_be_written() -> None:
    from privbayes.table.files import _FORMATS

    assert set(TABLE_ENDINGS) == set(_FORMATS)


def test_a_fit_starts_from_an_earlier_model(run: Run, clinic: Clinic, tmp_path: Path) -> None:
    settings = (clinic.table, "-s", clinic.schema, "-e", 1, "--delta", 1e-9)
    first, second = tmp_path / "first.pbm", tmp_path / "second.pbm"
    assert run("fit", *settings, "-o", first).code == 0
    assert run("fit", *settings, "-o", second, "--prior", first, "--prior-of", "this-table").code == 0
    assert "this table" in _json(run("inspect", second, "--json").out)["spec"]["prior"]
    run("fit", *settings, "-o", second, "--prior", first).refused(1, "prior_of must be one of")
