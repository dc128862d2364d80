"""The page's engine against the library: the same weights, to the last bit, in Chromium."""

import json
import platform
from fractions import Fraction

import numpy as np
import pytest

from perceptrons import KernelPerceptron, Perceptron
from tests.support.lab_cases import RAN, RULES, SETTINGS, for_library, kernel_cases, points, random_cases
from tests.support.lab_library import X86, answers, train

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def ran_on_page(engine, cases):
    return engine.ask(f"{RAN}({json.dumps(cases)})")


def both(engine, cases):
    ran = ran_on_page(engine, cases)
    learned = answers([for_library(case, one) for case, one in zip(cases, ran, strict=True)])
    return zip(cases, ran, learned, strict=True)


@pytest.mark.skipif(not X86, reason=f"on {platform.machine()} numba always has fused multiply-add, JavaScript never")
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_the_page_learns_the_weights_of_the_library_to_the_last_bit(engine, seed):
    compared = 0
    for case, page, library in both(engine, random_cases(420, seed)):
        for which in ("last", "average"):
            assert page[which] == library[which], case["settings"]
        assert (page["mistakes"], page["updates"]) == (library["mistakes"], library["updates"]), case["settings"]
        compared += page["updates"] > 0
    assert compared > 400  # runs in which something was learned


@pytest.mark.slow
@pytest.mark.skipif(not X86, reason="as above")
def test_every_preset_learned_to_the_end_by_every_rule_has_the_bits_of_the_library(engine):
    cases = engine.ask(
        f"Object.values(PRESETS).flatMap(preset => {list(RULES)}.flatMap(rule => ['none', 'squares'].map(features => {{"
        " const {points, settings} = preset.make(); return {points, settings: {...settings, rule, features}} })))"
    )
    assert len(cases) == 9 * len(RULES) * 2
    for case, page, library in both(engine, cases):
        for which in ("last", "average", "mistakes", "updates"):
            assert page[which] == library[which], case["settings"]


def test_the_page_learns_the_same_bits_as_any_processor_where_sums_are_exact(engine):
    cases = random_cases(60, 7, on_grid=True)
    for case, page in zip(cases, ran_on_page(engine, cases), strict=True):
        library = train(for_library(case, page))
        assert page["last"] == library["last"], case["settings"]
        assert page["updates"] == library["updates"]


@pytest.mark.skipif(not X86, reason="as above")
def test_the_kernel_perceptron_of_the_page_has_the_alphas_of_the_library_to_the_last_bit(engine):
    for case, page, library in both(engine, kernel_cases(80, 0)):
        alpha, scores = np.array(page["last"]["alpha"]), np.array(page["scores"])
        if case["settings"]["classes"] == 2:
            alpha = alpha * np.where([point["c"] == 1 for point in case["points"]], 1.0, -1.0)
            scores = scores[:, 0]
        np.testing.assert_array_equal(alpha, library["alpha"], err_msg=str(case["settings"]))
        # kernel values themselves: sums by BLAS and exp by the C library may differ in the last bit
        np.testing.assert_allclose(scores, library["scores"], rtol=1e-9, atol=1e-9)


def test_the_pocket_of_the_page_is_that_of_the_library(engine):
    cases = [case for case in random_cases(80, 3, on_grid=True) if case["settings"]["order"] == "given"]
    for case, page in zip(cases, ran_on_page(engine, cases), strict=True):
        told = for_library(case, page)
        model = Perceptron(
            combine="pocket", margin=told["rule"]["margin"], eta0=told["rule"]["eta"], zero_score=told["rule"]["zero"],
            batch_size=told["rule"]["batch"] or "all", intercept_scaling=1, fit_intercept=told["bias"], shuffle=False,
            max_iter=len(told["orders"]), tol=None,
        )  # fmt: skip
        model.fit(np.array(told["x"]), told["y"], coef_init=np.array(told["w"]), intercept_init=np.array(told["b"]))
        assert page["pocket"] == {"w": model.coef_.tolist(), "b": model.intercept_.tolist()}, case["settings"]


@pytest.mark.parametrize("features", ["none", "squares", "rbf"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_votes_of_the_page_are_those_of_the_library(engine, features, classes, rng):
    xy, codes = np.round(rng.standard_normal((40, 2)) * 8) / 8, np.arange(40) % classes
    settings = SETTINGS | {"classes": classes, "features": features, "epochs": 3, "gamma": 1.0}
    where = rng.standard_normal((200, 2))
    votes = engine.ask(
        f"(() => {{ const run = new Run({json.dumps(points(xy, codes))}, {json.dumps(settings)});"
        f" return {where.tolist()}.map(run.voter(run.length)) }})()"
    )
    ways = {"shuffle": False, "tol": None, "max_iter": 3, "combine": "vote"}
    if features == "rbf":
        model = KernelPerceptron(kernel="rbf", gamma=1.0, **ways).fit(xy, codes)
        expected = model.decision_function(where)
    else:
        X, at = (mapped(one) if features == "squares" else one for one in (xy, where))
        model = Perceptron(margin=0, intercept_scaling=1, **ways).fit(X, codes)
        expected = model.decision_function(at)
    shares = np.array(votes) / (40 * 3)
    np.testing.assert_allclose(shares[:, 0] if classes == 2 else shares, expected, atol=1e-12)


def mapped(xy):
    x, y = xy.T
    return np.stack([x, y, x * x, y * y, x * y], 1)


def test_every_visit_can_be_gone_back_to(engine):
    for case in random_cases(14, 5):
        same = engine.ask(
            f"(({{points, settings}}) => {{ const run = new Run(points, settings), now = clone(run.kept[0]), kept = [];"
            " kept.push(JSON.stringify(now)); for (let t = 1; t <= run.length; t++) { run.visit(now, t);"
            " kept.push(JSON.stringify(now)); }"
            " return kept.map((one, t) => one === JSON.stringify(run.state(t))).every(Boolean) && run.length; })"
            f"({json.dumps(case)})"
        )
        assert same == engine.ask(f"new Run({json.dumps(case['points'])}, {json.dumps(case['settings'])}).length") > 0


def test_the_worked_example_of_the_lecture_has_the_numbers_of_the_slide(engine):
    seen = engine.ask(
        "(() => { const {points, settings} = PRESETS.lecture.make(), run = new Run(points, settings);"
        " return [1, 2, 3, 4].map(t => { const {seen, after} = run.record(t);"
        " return [seen.ys, seen.update, ...after.m.w[0], after.m.b[0]] }) })()"
    )
    expected = [
        [-0.1, True, 0.1, -0.1, -0.2], [-0.1, True, 0.3, 0, -0.1], [0.35, False, 0.3, 0, -0.1],
        [-0.05, True, 0.25, -0.15, -0.2],
    ]  # fmt: skip
    np.testing.assert_allclose(np.array(seen, float), np.array(expected, float), atol=1e-12)
    assert [row[1] for row in seen] == [row[1] for row in expected]


def test_seeds_give_different_orders_and_the_same_seed_the_same(engine):
    orders = engine.ask(
        "[1, 1, 2].map(seed => [0, 1].map(epoch => visitingOrder(30, {order: 'shuffled', seed}, epoch)))"
    )
    assert orders[0] == orders[1] != orders[2]
    assert orders[0][0] != orders[0][1]
    assert all(sorted(order) == list(range(30)) for run in orders for order in run)


def test_doubles_become_whole_numbers_without_loss(engine, rng):
    values = [0.1, -3.0, 1e-300, 5e-324, 1.7e308, 0.0, *rng.standard_normal(50).tolist()]
    for value, (whole, exponent) in zip(
        values, engine.ask(f"{json.dumps(values)}.map(v => split(v)).map(([w, e]) => [String(w), e])"), strict=True
    ):
        assert Fraction(int(whole)) * Fraction(2) ** exponent == Fraction(value)
