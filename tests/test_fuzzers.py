"""The seeded fuzzers, a few seeds each; `python -m tools.fuzz` tries many. And whether they would find something."""

import json
from importlib import import_module

import numpy as np
import pytest

from perceptrons.data import reader, source
from tests.support.certificates import truth
from tools.fuzz_certificates import DATA, false_claim
from tools.fuzzing import Case, FoundError, attempt

SEEDS = {"certificates": 60, "files": 60, "caches": 12}  # models and matrices have tests that try every kind of them


@pytest.mark.parametrize("name", SEEDS)
def test_what_is_forged_is_refused_or_used(name, tmp_path, monkeypatch):
    for module, attribute in ((reader, "prefetched"), (reader, "in_order"), (source, "PIECE")):
        monkeypatch.setattr(module, attribute, getattr(module, attribute))  # fuzzers change them
    cases = import_module(f"tools.fuzz_{name}").begin(tmp_path)
    used = 0
    for seed in range(SEEDS[name]):
        case = cases(np.random.default_rng(seed))
        used += case.use()
    assert 0 < used < SEEDS[name]


@pytest.mark.parametrize("name", DATA)
def test_what_is_known_of_the_data_is_true(name):
    data = DATA[name]
    assert truth(data.X, data.y) == data.separable
    assert truth(data.X, data.y, fit_intercept=False) == data.by_origin


def test_false_claims_are_noticed():
    data, honest = DATA["two points"], {True: [1.0, 1.0]}
    claim = {"separable": True, "fit_intercept": True, "margin": [1.0, 1.0], "classes": [0, 1]}
    claim |= {"coef": [1.0], "intercept": -1.0}
    assert false_claim(claim, data, honest) == ""
    for change in ({"separable": False}, {"margin": [1.5, 2.0]}, {"margin": [0.1, 0.5]}, {"intercept": -0.9}):
        assert false_claim(json.loads(json.dumps(claim | change)), data, honest)


def test_errors_that_are_no_refusals_are_findings():
    def forged(draw):
        return Case("a case", lambda: int("x"))

    found = attempt(forged, 3)[1]
    assert found.startswith("seed 3, a case")
    assert "ValueError" in found

    def refused(draw):
        def use():
            raise FoundError("wrong weights")

        return Case("another", use)

    assert "wrong weights" in attempt(refused, 0)[1]
    assert attempt(lambda draw: Case("fine", lambda: True), 0) == (True, "")
