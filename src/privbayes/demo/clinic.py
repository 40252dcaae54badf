"""A made-up clinic: patients drawn from a Bayesian network written out below, so that nobody's data is in it.

Each function is one node of the network: it takes its parents and returns its column. The numbers are plausible, not
measured anywhere. Reading order is drawing order::

    age -> sex -> smoker -> bmi -> diagnosis -> ward, severity -> blood pressure, length of stay -> readmitted, ...
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["clinic_schema", "clinic_table"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SEXES = ("Female", "Male")
SEVERITIES = ("mild", "moderate", "severe", "critical")
INSURANCES = ("Public", "Private", "Self-pay", "Charity fund", "Foreign scheme")
LISTED_INSURANCES = INSURANCES[:3]  # the schema lists these; the rest arrive as `other`, as in real life

FIRST_DAY, LAST_DAY = np.datetime64("2022-01-01"), np.datetime64("2024-12-31")
N_DAYS = int((LAST_DAY - FIRST_DAY).astype(np.int64)) + 1
WINTER = np.isin((FIRST_DAY + np.arange(N_DAYS)).astype("datetime64[M]").astype(np.int64) % 12 + 1, (11, 12, 1, 2))


class Diagnosis(NamedTuple):
    """What decides how common a diagnosis is, and what follows from it."""

    by_age: tuple[float, ...]  # its weight at 18-34, 35-49, 50-64, 65-79, 80 and over ...
    woman: float  # ... times these, where they apply
    smoker: float
    obese: float
    strain: float  # how severe it tends to be, added to what age does
    days: float  # how long a moderate case stays
    ward: str  # where it is usually treated


DIAGNOSES = {
    "Hypertension":  Diagnosis(( 1.0,  4.0,  8.0,  8.0,  6.0),  1.0,  1.2,  1.8, -0.8,  3.0, "Internal medicine"),
    "Heart failure": Diagnosis(( 0.2,  0.6,  3.0,  9.0, 14.0),  0.9,  1.3,  1.5,  0.9,  8.0, "Cardiology"),
    "Heart attack":  Diagnosis(( 0.1,  1.2,  4.5,  6.5,  6.0),  0.5,  2.6,  1.4,  1.3,  6.0, "Cardiology"),
    "Stroke":        Diagnosis(( 0.2,  0.6,  2.5,  6.0,  9.0),  0.9,  1.8,  1.2,  1.4, 10.0, "Neurology"),
    "Asthma":        Diagnosis(( 5.0,  3.5,  2.0,  1.0,  0.5),  1.2,  1.4,  1.3, -0.4,  3.0, "Pulmonology"),
    "COPD":          Diagnosis(( 0.1,  0.8,  3.5,  6.0,  5.0),  0.9,  6.0,  0.9,  0.5,  7.0, "Pulmonology"),
    "Pneumonia":     Diagnosis(( 2.0,  2.0,  3.0,  5.0,  9.0),  0.9,  1.5,  1.0,  0.5,  7.0, "Pulmonology"),
    "Diabetes":      Diagnosis(( 1.0,  3.0,  5.0,  5.0,  3.0),  0.9,  1.1,  3.2, -0.3,  5.0, "Internal medicine"),
    "Appendicitis":  Diagnosis(( 7.0,  3.0,  1.5,  0.8,  0.4),  0.9,  1.0,  1.0,  0.0,  3.0, "General surgery"),
    "Gallstones":    Diagnosis(( 2.0,  4.0,  4.0,  3.0,  2.0),  2.0,  1.0,  2.0, -0.2,  4.0, "General surgery"),
    "Cancer":        Diagnosis(( 0.5,  2.0,  6.0,  8.0,  6.0),  1.0,  1.8,  1.1,  0.8,  8.0, "Oncology"),
    "Hip fracture":  Diagnosis(( 0.1,  0.2,  0.8,  3.0, 10.0),  1.9,  1.2,  0.6,  0.7, 11.0, "Orthopaedics"),
    "Other injury":  Diagnosis(( 9.0,  6.0,  4.0,  3.0,  3.0),  0.6,  1.1,  0.9, -0.1,  3.0, "Orthopaedics"),
    "Depression":    Diagnosis(( 5.0,  5.0,  3.5,  1.5,  1.0),  1.6,  1.5,  1.2,  0.0, 14.0, "Psychiatry"),
    "Childbirth":    Diagnosis((14.0,  4.0,  0.0,  0.0,  0.0),  1.0,  0.9,  0.9, -1.0,  5.0, "Maternity"),
}  # fmt: skip
WINTERY = ("Asthma", "COPD", "Pneumonia")  # admitted more often between November and February
WARDS = ("Internal medicine", "Cardiology", "Neurology", "Pulmonology", "Oncology", "General surgery",
         "Orthopaedics", "Maternity", "Psychiatry", "Intensive care")  # fmt: skip
_MATERNITY = WARDS.index("Maternity")

DIAGNOSIS_TREE = [
    [["Hypertension", "Heart failure", "Heart attack"], "Stroke"],
    ["Asthma", "COPD", "Pneumonia"],
    [["Appendicitis", "Gallstones"], "Diabetes"],
    ["Hip fracture", "Other injury"],
    "Cancer",
    ["Depression", "Childbirth"],
]
WARD_TREE = [
    [["Internal medicine", "Cardiology"], ["Neurology", "Pulmonology"], "Oncology"],
    ["General surgery", "Orthopaedics", "Intensive care"],
    ["Maternity", "Psychiatry"],
]


def clinic_table(n_rows: int = 50_000, *, seed: int = 0) -> pa.Table:
    """Patients of the made-up clinic, one row each: 15 columns of every kind the schema knows, some cells missing."""
    rng = np.random.default_rng(seed)
    age = _age(rng, n_rows)
    sex = _sex(rng, age)
    smoker = _smoker(rng, age, sex)
    bmi = _bmi(rng, age, sex)
    diagnosis = _diagnosis(rng, age, sex, smoker, bmi)
    admitted = _admitted(rng, diagnosis)
    severity = _severity(rng, age, diagnosis)
    ward = _ward(rng, diagnosis, severity)
    systolic_bp = _systolic_bp(rng, age, bmi, diagnosis)
    stay = _length_of_stay(rng, age, diagnosis, severity)
    discharged = _discharged(rng, admitted, stay)
    visits = _prior_visits(rng, age, severity)
    readmitted = _readmitted(rng, severity, stay, visits)
    insurance = _insurance(rng, age)

    emergency = severity >= 2  # in an emergency some things are not asked or measured
    return pa.table(
        {
            "patient_id": _patient_ids(rng, n_rows),
            "age": pa.array(age),
            "sex": _labels(SEXES, sex),
            "smoker": pa.array(smoker, mask=rng.random(n_rows) < np.where(emergency, 0.12, 0.03)),
            "bmi": pa.array(bmi, mask=rng.random(n_rows) < np.where(emergency, 0.18, 0.05)),
            "insurance": _labels(INSURANCES, insurance),
            "admitted": pa.array(FIRST_DAY + admitted),
            "diagnosis": _labels(tuple(DIAGNOSES), diagnosis),
            "severity": _labels(SEVERITIES, severity),
            "ward": _labels(WARDS, ward),
            "systolic_bp": pa.array(systolic_bp, mask=rng.random(n_rows) < np.where(ward == _MATERNITY, 0.15, 0.02)),
            "length_of_stay": pa.array(stay),
            "discharged": pa.array(discharged, mask=rng.random(n_rows) < 0.01),  # not yet written down
            "prior_visits": pa.array(visits),
            "readmitted": pa.array(readmitted),
        }
    )


def clinic_schema() -> dict[str, Any]:
    """The schema of `clinic_table`, in the format of a schema file: what anyone may know about the clinic."""
    return {
        "rows_per_person": 1,
        "columns": {
            "patient_id": {"type": "id", "prefix": "P"},
            "age": {"type": "integer", "min": 18, "max": 97, "bins": 16},
            "sex": {"type": "categorical", "values": list(SEXES)},
            "smoker": {"type": "boolean", "nullable": True},
            "bmi": {"type": "number", "min": 14, "max": 54, "bins": 16, "nullable": True},
            "insurance": {"type": "categorical", "values": list(LISTED_INSURANCES), "other": True},
            "admitted": {"type": "date", "min": "2022-01-01", "max": "2024-12-31", "bins": 12},
            "diagnosis": {"type": "categorical", "values": list(DIAGNOSES), "taxonomy": DIAGNOSIS_TREE},
            "severity": {"type": "ordinal", "values": list(SEVERITIES)},
            "ward": {"type": "categorical", "values": list(WARDS), "taxonomy": WARD_TREE},
            "systolic_bp": {"type": "integer", "min": 80, "max": 223, "bins": 16, "nullable": True},
            "length_of_stay": {"type": "integer", "min": 0, "max": 31, "bins": 16},
            "discharged": {
                "type": "datetime",
                "min": "2022-01-01T00:00:00",
                "max": "2025-02-01T00:00:00",
                "bins": 12,
                "nullable": True,
            },
            "prior_visits": {"type": "integer", "min": 0, "max": 9},
            "readmitted": {"type": "boolean"},
        },
    }


def _age(rng: np.random.Generator, n: int) -> Ints:
    """P(age): young adults with injuries and births, and a broad hump of older patients."""
    younger = rng.normal(33.0, 9.0, n)
    older = rng.normal(67.0, 13.0, n)
    return np.clip(np.where(rng.random(n) < 0.35, younger, older), 18, 97).astype(np.int64)


def _sex(rng: np.random.Generator, age: Ints) -> Ints:
    """P(sex | age): women outlive men."""
    return (rng.random(len(age)) >= np.where(age < 45, 0.53, np.where(age < 80, 0.49, 0.60))).astype(np.int64)


def _smoker(rng: np.random.Generator, age: Ints, sex: Ints) -> Bools:
    """P(smoker | age, sex)."""
    rate = np.array([[0.20, 0.24, 0.22, 0.12, 0.05], [0.28, 0.31, 0.28, 0.16, 0.07]])
    return rng.random(len(age)) < rate[sex, _age_band(age)]


def _bmi(rng: np.random.Generator, age: Ints, sex: Ints) -> Floats:
    """P(bmi | age, sex): rises to about 60, falls in old age; a long right tail."""
    middle = 23.5 + 4.0 * np.exp(-(((age - 60.0) / 24.0) ** 2)) + np.where(sex == 1, 0.6, 0.0)
    drawn: Floats = middle * np.exp(rng.normal(0.0, 0.17, len(age)))
    return np.clip(drawn, 14.0, 54.0).round(1)


def _diagnosis(rng: np.random.Generator, age: Ints, sex: Ints, smoker: Bools, bmi: Floats) -> Ints:
    """P(diagnosis | age, sex, smoker, bmi), from the table `DIAGNOSES`."""
    ages = np.array([d.by_age for d in DIAGNOSES.values()]).T
    woman, smoking, obese = (
        _factor([getattr(d, name) for d in DIAGNOSES.values()]) for name in ("woman", "smoker", "obese")
    )
    weights: Floats = (
        ages[:, None, None, None]
        * woman[None, ::-1, None, None]
        * smoking[None, None, :, None]
        * obese[None, None, None]
    )
    weights[:, 1, ..., _code("Childbirth")] = 0.0
    return _draw(rng, weights, _age_band(age), sex, smoker.astype(np.int64), (bmi >= 30.0).astype(np.int64))


def _admitted(rng: np.random.Generator, diagnosis: Ints) -> Ints:
    """P(day of admission | diagnosis): flat, but for what the winter brings."""
    seasons = np.stack([np.ones(N_DAYS), np.where(WINTER, 2.5, 1.0)])
    return _draw(rng, seasons, np.isin(diagnosis, [_code(name) for name in WINTERY]).astype(np.int64))


def _severity(rng: np.random.Generator, age: Ints, diagnosis: Ints) -> Ints:
    """P(severity | age, diagnosis): a hidden strain, cut at three thresholds."""
    of_diagnosis = np.array([d.strain for d in DIAGNOSES.values()])[diagnosis]
    strain: Floats = of_diagnosis + (age - 55.0) / 40.0 + rng.logistic(0.0, 0.6, len(age))
    return np.searchsorted(np.array([0.0, 1.3, 2.7]), strain).astype(np.int64)


def _ward(rng: np.random.Generator, diagnosis: Ints, severity: Ints) -> Ints:
    """P(ward | diagnosis, severity): the ward of the diagnosis, intensive care, or wherever a bed was free."""
    usual = np.array([WARDS.index(d.ward) for d in DIAGNOSES.values()])[diagnosis]
    intensive = rng.random(len(usual)) < np.array([0.0, 0.01, 0.08, 0.55])[severity]
    elsewhere = (rng.random(len(usual)) < 0.06) & (usual != _MATERNITY)
    ward = np.where(elsewhere, WARDS.index("Internal medicine"), usual)
    return np.where(intensive, WARDS.index("Intensive care"), ward)


def _systolic_bp(rng: np.random.Generator, age: Ints, bmi: Floats, diagnosis: Ints) -> Ints:
    """P(systolic blood pressure | age, bmi, diagnosis)."""
    usual = 108.0 + 0.32 * (age - 18) + 0.7 * (bmi - 25.0)
    raised = 22.0 * (diagnosis == _code("Hypertension")) + 16.0 * (diagnosis == _code("Stroke"))
    lowered = 12.0 * (diagnosis == _code("Heart failure"))
    pressure: Floats = usual + raised - lowered + rng.normal(0.0, 13.0, len(age))
    return np.clip(np.rint(pressure), 80, 223).astype(np.int64)


def _length_of_stay(rng: np.random.Generator, age: Ints, diagnosis: Ints, severity: Ints) -> Ints:
    """P(days in hospital | age, diagnosis, severity)."""
    days = np.array([d.days for d in DIAGNOSES.values()])[diagnosis]
    mean: Floats = days * np.array([0.5, 1.0, 1.6, 2.2])[severity] * np.where(age >= 75, 1.25, 1.0)
    return np.minimum(rng.gamma(2.5, mean / 2.5), 31).astype(np.int64)


def _discharged(rng: np.random.Generator, admitted: Ints, stay: Ints) -> NDArray[np.datetime64]:
    """P(time of discharge | day of admission, days): around noon."""
    minute = np.clip(rng.normal(12 * 60, 110, len(stay)), 7 * 60, 21 * 60).astype(np.int64)
    midnight = (FIRST_DAY + admitted + stay).astype("datetime64[us]")
    discharged: NDArray[np.datetime64] = midnight + minute.astype("timedelta64[m]")
    return discharged


def _prior_visits(rng: np.random.Generator, age: Ints, severity: Ints) -> Ints:
    """P(visits in the year before | age, severity)."""
    return np.minimum(rng.poisson(0.3 + (age - 18) / 50.0 + 0.4 * severity), 9)


def _readmitted(rng: np.random.Generator, severity: Ints, stay: Ints, visits: Ints) -> Bools:
    """P(back within 30 days | severity, days, visits before)."""
    rate = np.array([0.03, 0.07, 0.15, 0.24])[severity] + 0.03 * np.minimum(visits, 6) + 0.05 * (stay > 14)
    return rng.random(len(stay)) < rate


def _insurance(rng: np.random.Generator, age: Ints) -> Ints:
    """P(insurance | age)."""
    shares = np.array(
        [
            [0.62, 0.22, 0.14, 0.01, 0.01],
            [0.60, 0.31, 0.07, 0.01, 0.01],
            [0.66, 0.28, 0.04, 0.01, 0.01],
            [0.83, 0.15, 0.01, 0.01, 0.00],
            [0.88, 0.11, 0.00, 0.01, 0.00],
        ]
    )
    return _draw(rng, shares, _age_band(age))


def _age_band(age: Ints) -> Ints:
    """18-34, 35-49, 50-64, 65-79, 80 and over."""
    return np.searchsorted((35, 50, 65, 80), age, side="right").astype(np.int64)


def _code(diagnosis: str) -> int:
    return list(DIAGNOSES).index(diagnosis)


def _factor(when_it_applies: list[float]) -> Floats:
    """One row for those it does not apply to, one for those it does."""
    return np.stack([np.ones(len(when_it_applies)), np.array(when_it_applies)])


def _draw(rng: np.random.Generator, weights: Floats, *parents: Ints) -> Ints:
    """One value a row from P(value | parents); ``weights`` has an axis for each parent and the values last."""
    cumulative = np.cumsum(weights, axis=-1).reshape(-1, weights.shape[-1])
    cumulative /= cumulative[:, -1:]
    configuration = np.ravel_multi_index(parents, weights.shape[:-1])
    # One search for all rows: configuration c lives in [c, c + 1).
    flat = (cumulative + np.arange(len(cumulative))[:, None]).ravel()
    position = np.searchsorted(flat, configuration + rng.random(len(configuration)), side="right")
    value: Ints = position - configuration * weights.shape[-1]
    return value


def _labels(names: tuple[str, ...], codes: Ints) -> pa.Array:
    """The names of the codes, as plain text."""
    return pc.take(pa.array(names), pa.array(codes))


def _patient_ids(rng: np.random.Generator, n: int) -> pa.Array:
    """Distinct record numbers in no particular order."""
    numbers = pc.utf8_lpad(pc.cast(pa.array(rng.permutation(n) + 1), pa.string()), 6, "0")
    return pc.binary_join_element_wise("P", numbers, "")
