"""What the page says about separability: against the library, and checked in exact arithmetic."""

import json
from fractions import Fraction

import numpy as np
import pytest

from perceptrons.theory import max_margin, mistake_bound, separability
from tests.support.lab_cases import SETTINGS, points

PROVED = """((points, settings) => {
  const examples = examplesOf(points, settings), steps = prove(examples, settings);
  let step; do step = steps.next(); while (!step.done);
  const {members = [], bound, ...rest} = step.value;
  return {...rest, bound: bound === undefined ? null : String(bound), x: examples.x,
    members: members.map(({i, k, whole}) => [i, k, String(whole)])};
})"""


def proved(engine, xy, codes, **settings):
    told = SETTINGS | {"classes": int(max(codes)) + 1} | settings
    return engine.ask(f"{PROVED}({json.dumps(points(xy, codes))}, {json.dumps(told)})")


def augmented(found, bias):
    X = np.array(found["x"])
    return np.c_[X, np.ones(len(X))] if bias else X


def check_witness(found, codes, bias):
    """The weights are positive, and the signed (or paired) examples add up to exactly 0."""
    rows = [[Fraction(value) for value in row] for row in augmented(found, bias).tolist()]
    k_classes = int(max(codes)) + 1
    total = [[Fraction(0)] * len(rows[0]) for _ in range(k_classes)]
    assert found["members"]
    for i, k, whole in found["members"]:
        weight, y = int(whole), int(codes[i])
        assert weight > 0
        other = 1 - y if k_classes == 2 else k
        for f, value in enumerate(rows[i]):
            total[y][f] += weight * value
            total[other][f] -= weight * value
    assert not any(value for row in total for value in row)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("features", ["none", "squares"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_page_and_the_library_agree_on_separability_and_on_the_bound(engine, classes, features, bias, rng):
    seen = set()
    for run in range(14):
        n = int(rng.choice([5, 20, 60]))
        xy, w = rng.standard_normal((n, 2)), rng.standard_normal((classes, 3)) * ([1, 1, 1] if bias else [1, 1, 0])
        codes = (xy @ w[:, :2].T + w[:, 2]).argmax(1)
        if run % 2:
            codes = np.where(rng.random(n) < 0.2, rng.integers(0, classes, n), codes)
        if len(set(codes.tolist())) < classes:
            continue
        found = proved(engine, xy, codes, features=features, bias=bias)
        Z = augmented(found, bias)
        assert found["separable"] == separability(Z, codes, fit_intercept=False).separable
        seen.add(found["separable"])
        if found["separable"]:
            assert int(found["bound"]) == mistake_bound(Z, codes, fit_intercept=False).updates
        else:
            check_witness(found, codes, bias)
    assert seen == {True, False}


def test_the_street_is_as_wide_as_the_largest_margin_allows(engine, rng):
    for _ in range(10):
        xy = rng.standard_normal((30, 2))
        codes = (xy @ rng.standard_normal(2) > 0.2).astype(int)
        if len(set(codes.tolist())) < 2:
            continue
        street = proved(engine, xy, codes)["street"]
        low, high = max_margin(xy, codes).margin  # proved limits
        assert low * (1 - 1e-9) <= street["width"] / 2 <= high * (1 + 1e-9)
        scores = xy @ np.array(street["w"])
        assert scores[codes == 1].min() == pytest.approx(street["high"])
        assert scores[codes == 0].max() == pytest.approx(street["low"])
        assert street["high"] > street["low"]


def test_xor_is_inseparable_by_all_four_points_with_equal_weights(engine):
    xy, codes = [(0, 0), (0, 1), (1, 0), (1, 1)], [0, 1, 1, 0]
    found = proved(engine, xy, codes)
    assert found["separable"] is False
    assert sorted(found["members"]) == [[i, None, "1"] for i in range(4)]


def test_xor_is_separable_by_products_and_by_a_kernel_of_degree_2(engine):
    xy, codes = [(0, 0), (0, 1), (1, 0), (1, 1)], [0, 1, 1, 0]
    assert proved(engine, xy, codes, features="squares")["separable"] is True
    found = proved(engine, xy, codes, features="poly", degree=2, gamma=1.0, bias=False)
    assert found["separable"] is True
    # the kernel's own features, by which the library knows the same bound
    x, y = np.array(xy, float).T
    root = 2**0.5
    Z = np.stack([x * x, y * y, root * x * y, root * x, root * y, np.ones(4)], 1)
    assert int(found["bound"]) == pytest.approx(mistake_bound(Z, codes, fit_intercept=False).updates, abs=1)
    assert proved(engine, xy, codes, features="poly", degree=1, gamma=1.0)["separable"] is False


def test_a_gap_of_one_unit_in_the_last_place_is_found(engine):
    x = 0.1 + 0.2  # and the next double above it; points in between two of the other class would be inseparable
    above = float(np.nextafter(x, 1))
    assert proved(engine, [(x, 0), (above, 0), (x, 1), (above, 1)], [0, 1, 0, 1])["separable"] is True
    assert proved(engine, [(x, 0), (x, 0), (x, 1), (above, 1)], [0, 1, 0, 1])["separable"] is False


def test_the_same_point_in_two_classes_is_its_own_witness(engine):
    found = proved(engine, [(1.5, 2.5), (1.5, 2.5), (0, 0), (9, 9)], [0, 1, 0, 1])
    assert sorted(found["members"]) == [[0, None, "1"], [1, None, "1"]]


def test_nothing_is_claimed_where_nothing_is_proved(engine):
    assert "two classes" in proved(engine, [(0, 0), (1, 1)], [1, 1])["why"]
    assert "RBF" in proved(engine, [(0, 0), (1, 1)], [0, 1], features="rbf")["why"]
    assert "degree 3" in proved(engine, [(0, 0), (1, 1)], [0, 1], features="poly", degree=5)["why"]


def test_no_run_from_zero_makes_more_updates_than_the_bound(engine, rng):
    for seed in range(12):
        xy = np.round(rng.standard_normal((25, 2)), 2)
        w = rng.standard_normal(2)
        codes = (xy @ w > 0.3).astype(int)
        if len(set(codes.tolist())) < 2:
            continue
        settings = SETTINGS | {"order": "shuffled", "seed": seed, "epochs": 1000}
        found = proved(engine, xy, codes)
        run = f"new Run({json.dumps(points(xy, codes))}, {json.dumps(settings)})"
        updates, stop = engine.ask(f"(run => [run.state(run.length).m.updates, run.stop])({run})")
        assert found["separable"]
        assert 0 < updates <= int(found["bound"])
        assert stop == "converged"
