"""The losses: values by the lecture's formulas, gradients by differences, the perceptron rules as gradient steps."""

import math

import numpy as np
import pytest

from perceptrons import losses
from tests.conftest import whole_numbers
from tests.reference import binary, multiclass

K = 4
COST = np.array([[0.0, 1, 0.25, 2], [3, 0, 0, 0.5], [1, 1, 0, 1], [0.25, 4, 1.5, 0]])
COST_OF_TWO = np.array([[0.0, 2], [0.5, 0]])  # to take -1 for +1 costs 2
WIDE = losses.Hinge(margin=2.5)
BINARY = [*losses.ALL.values(), WIDE, losses.Hinge(cost=COST_OF_TWO), losses.Hinge(margin=0.25, cost=COST_OF_TWO)]
SEVERAL = [*losses.ALL.values(), WIDE, losses.Hinge(cost=COST), losses.Hinge(margin=0.25, cost=COST)]
BOTH = [(loss, False) for loss in BINARY] + [(loss, True) for loss in SEVERAL]
CONVEX = [(loss, many) for loss, many in BOTH if loss is not losses.zero_one]


def case(value):
    return value.name if isinstance(value, losses.Loss) else {True: "several", False: "two"}.get(value, "")


def both(cases=BOTH):
    return pytest.mark.parametrize(("loss", "many"), cases, ids=case)


def draw(rng, many, n=400):
    """Labels, and scores on both sides of every kink."""
    if many:
        return rng.integers(0, K, n), 2 * rng.standard_normal((n, K))
    return rng.choice([-1, 1], n), 3 * rng.standard_normal(n)


def lead(loss, y, k):
    """How far the hinge wants class y ahead of class k."""
    return loss.margin + (0 if loss.cost is None else loss.cost[y, k])


def by_formula(loss, y, s):
    """The loss of one example, as it stands in the lecture."""
    if loss is losses.zero_one:
        return float(y * s <= 0) if np.ndim(s) == 0 else float(s.tolist().index(max(s)) != y)
    if loss is losses.squared:
        return (1 - y * s) ** 2 if np.ndim(s) == 0 else sum((s[k] - (k == y)) ** 2 for k in range(len(s)))
    if loss is losses.logistic:
        return math.log(1 + math.exp(-y * s)) if np.ndim(s) == 0 else -math.log(math.exp(s[y]) / sum(np.exp(s)))
    if np.ndim(s) == 0:
        true = int(y > 0)
        return max(0, lead(loss, true, 1 - true) - y * s)
    return max(0, *(s[k] + lead(loss, y, k) - s[y] for k in range(len(s)) if k != y))


def away_from_kinks(loss, y, s, distance=1e-3):
    """Whether the loss is smooth within the distance: no two of the things it takes the largest of are so close."""
    if loss in (losses.squared, losses.logistic):
        return True
    if np.ndim(s) == 0:
        true = int(y > 0)
        kink = 0 if loss is losses.zero_one else lead(loss, true, 1 - true)
        return abs(y * s - kink) > distance
    raised = [s[k] + (0 if loss is losses.zero_one or k == y else lead(loss, y, k)) for k in range(len(s))]
    second, first = sorted(raised)[-2:]
    return first - second > 2 * distance


@both()
def test_every_loss_is_the_formula_of_the_lecture(loss, many, rng):
    y, s = draw(rng, many)
    expected = [by_formula(loss, y[i], s[i]) for i in range(len(y))]
    np.testing.assert_allclose(loss.value(y, s), expected, rtol=1e-12, atol=1e-14)
    assert np.std(expected) > 0.1


@both()
def test_every_gradient_is_the_central_difference_away_from_kinks(loss, many, rng):
    y, s = draw(rng, many)
    smooth = np.array([away_from_kinks(loss, y[i], s[i]) for i in range(len(y))])
    assert smooth.mean() > 0.9
    y, s = y[smooth], s[smooth]
    gradient, step = loss.gradient(y, s), 1e-5
    assert gradient.shape == s.shape
    for direction in np.eye(K) if many else [1.0]:
        ahead, behind = loss.value(y, s + step * direction), loss.value(y, s - step * direction)
        along = gradient * direction
        np.testing.assert_allclose(along.sum(axis=1) if many else along, (ahead - behind) / (2 * step), atol=1e-7)


@both(CONVEX)
def test_the_gradient_stays_below_the_loss_at_kinks_too(loss, many, rng):
    y, s = draw(rng, many, 2000)
    s = np.round(4 * s) / 4  # as are all margins and costs here: many scores lie on a kink exactly
    kinks = sum(not away_from_kinks(loss, y[i], s[i], 1e-9) for i in range(len(y)))
    assert kinks > 20 or loss in (losses.squared, losses.logistic)
    value, gradient = loss.value(y, s), loss.gradient(y, s)
    for spread in (1e-3, 0.1, 1, 10):
        t = s + spread * rng.standard_normal(s.shape)
        rise = gradient * (t - s)
        assert np.all(loss.value(y, t) >= value + (rise.sum(axis=1) if many else rise) - 1e-9 * spread)


@both(CONVEX)
def test_the_convex_ones_lie_below_their_chords(loss, many, rng):
    (y, s), (_, t) = draw(rng, many), draw(rng, many)
    assert highest_above_the_chord(loss, y, s, t, rng) < 1e-12


@pytest.mark.parametrize("many", [False, True], ids=case)
def test_zero_one_is_not_convex(many, rng):
    (y, s), (_, t) = draw(rng, many), draw(rng, many)
    assert highest_above_the_chord(losses.zero_one, y, s, t, rng) > 0.5


def highest_above_the_chord(loss, y, s, t, rng):
    share = rng.random(len(y))
    mix = share.reshape((-1,) + (1,) * (s.ndim - 1))
    chord = share * loss.value(y, s) + (1 - share) * loss.value(y, t)
    return np.max(loss.value(y, mix * s + (1 - mix) * t) - chord)


def test_the_subgradient_at_kinks_is_what_the_perceptron_does():
    assert losses.perceptron.gradient([1, -1, 1, -1], [0.0, 0.0, -0.0, -0.0]).tolist() == [-1, 1, -1, 1]
    assert losses.hinge.gradient([1, -1, 1, -1], [1.0, -1.0, 1.5, -1.5]).tolist() == [-1, 1, 0, 0]
    assert WIDE.gradient([1, -1], [2.5, -2.5]).tolist() == [-1, 1]
    ties = [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0], [0.0, 2.0, 2.0], [0.0, 2.0, 2.0]]
    to_the_first = [[0, 0, 0], [1, 0, -1], [0, 0, 0], [0, 1, -1]]
    assert losses.perceptron.gradient([0, 2, 1, 2], ties).tolist() == to_the_first
    assert losses.zero_one.value([0, 2, 1, 2], ties).tolist() == [0, 1, 0, 1]
    assert losses.hinge.gradient([0, 1], [[1.0, 0.0], [0.0, 1.0]]).tolist() == [[0, 0], [1, -1]]
    assert losses.zero_one.value([1, -1], [0.0, 0.0]).tolist() == [1, 1]


@both([(losses.zero_one, False), (losses.zero_one, True)])
def test_the_gradient_of_zero_one_is_zero_even_at_its_steps(loss, many):
    y, s = ([0, 1], np.zeros((2, K))) if many else ([-1, 1], np.zeros(2))
    assert np.array_equal(loss.gradient(y, s), np.zeros_like(s))


def test_gradients_of_right_answers_are_plain_zeros():
    gradient = losses.perceptron.gradient([1, -1], [3.0, -3.0])
    assert not np.signbit(gradient).any()
    assert gradient.tolist() == [0, 0]


def test_gradient_steps_on_the_perceptron_loss_are_rule_1(rng):
    X, classes = whole_numbers(rng, 80, 5, 2)
    y, eta, epochs = 2 * classes - 1, 0.5, [rng.permutation(80) for _ in range(3)]
    w, b, lost = np.zeros(5), 0.0, []
    for order in epochs:
        lost.append(0.0)
        for i in order:
            s = [X[i] @ w + b]
            lost[-1] += losses.perceptron.value(y[[i]], s)[0]
            (slope,) = losses.perceptron.gradient(y[[i]], s)
            w, b = w - eta * slope * X[i], b - eta * slope
    run = binary.train(X, y, epochs, eta=eta)
    assert run.updates > 20
    assert np.array_equal(w, run.w)
    assert b == run.b
    assert lost == run.losses


def test_gradient_steps_on_the_perceptron_loss_of_several_classes_are_rule_3(rng):
    X, y = whole_numbers(rng, 80, 5, K)
    epochs = [rng.permutation(80) for _ in range(3)]
    theta, b, lost = np.zeros((K, 5)), np.zeros(K), []
    for order in epochs:
        lost.append(0.0)
        for i in order:
            s = [theta @ X[i] + b]
            lost[-1] += losses.perceptron.value(y[[i]], s)[0]
            (slopes,) = losses.perceptron.gradient(y[[i]], s)
            theta, b = theta - np.outer(slopes, X[i]), b - slopes
    run = multiclass.train(X, y, epochs, K)
    assert run.updates > 20
    assert np.array_equal(theta, run.theta)
    assert np.array_equal(b, run.b)
    assert lost == run.losses


def test_a_batch_step_adds_up_the_mistakes_of_the_batch(rng):
    X, classes = whole_numbers(rng, 50, 5, 2)
    y, w = 2 * classes - 1, rng.integers(-2, 3, 5)
    s = X @ w
    wrong = y * s <= 0
    assert 5 < wrong.sum() < 45
    assert np.array_equal(-losses.perceptron.gradient(y, s) @ X, (y[wrong, None] * X[wrong]).sum(axis=0))
    assert losses.perceptron.value(y, s).sum() == -(y * s)[wrong].sum()


@pytest.mark.parametrize("margin", [None, 0, 0.5, 3])
@pytest.mark.parametrize("cost", [None, COST], ids=["margin", "cost"])
def test_the_hinge_is_cost_augmented_prediction(margin, cost, rng):
    y, s = draw(rng, True)
    loss = losses.Hinge(margin, cost)
    assert loss.margin == (margin if margin is not None else 1 if cost is None else 0)
    value, gradient, others = loss.value(y, s), loss.gradient(y, s), 0
    for i in range(len(y)):
        y_hat, best = -1, -math.inf
        for k in range(K):
            cost_of_k = 0 if k == y[i] else loss.margin + (0 if cost is None else cost[y[i], k])
            if s[i, k] + cost_of_k > best:
                y_hat, best = k, s[i, k] + cost_of_k
        update = np.zeros(K)
        update[y[i]] += 1
        update[y_hat] -= 1
        assert value[i] == best - s[i, y[i]]
        assert np.array_equal(-gradient[i], update)
        others += y_hat != s[i].argmax()
    assert others > 5 or (loss.margin == 0 and cost is None)


def test_with_margin_1_the_hinge_is_the_margin_loss_of_rule_6(rng):
    y, s = draw(rng, True)
    gamma = [s[i, y[i]] - max(np.delete(s[i], y[i])) for i in range(len(y))]
    np.testing.assert_allclose(losses.hinge.value(y, s), np.maximum(0, 1 - np.array(gamma)), atol=1e-14)


@pytest.mark.parametrize("loss", [loss for loss in BINARY if loss is not losses.squared], ids=case)
def test_two_columns_of_scores_lose_what_their_difference_loses(loss, rng):
    y, s = draw(rng, False)
    columns = np.column_stack([-s / 2, s / 2])
    np.testing.assert_allclose(loss.value((y + 1) // 2, columns), loss.value(y, s), atol=1e-14)
    np.testing.assert_allclose(loss.gradient((y + 1) // 2, columns)[:, 1], loss.gradient(y, s), atol=1e-14)


@pytest.mark.parametrize("many", [False, True], ids=case)
def test_the_surrogates_bound_zero_one_and_touch_it(many, rng):
    y, s = draw(rng, many, 5000)
    s[:1000] = np.round(s[:1000])
    mistakes = losses.zero_one.value(y, s)
    assert 100 < mistakes.sum() < 4900
    half = 0.5 if many else 1  # both the true class and another at a half: a mistake that costs a half
    for loss, bound, closest in [
        (losses.hinge, 1, [0.0, 0, 0, 0]),
        (losses.squared, half, [0.5, 0.5, 0, 0]),
        (losses.logistic, math.log(2), [0.0, 0, -99, -99]),
    ]:
        assert np.all(loss.value(y, s) >= bound * mistakes - 1e-12)
        touch = ([1], [closest]) if many else ([1], [0.0])
        assert losses.zero_one.value(*touch) == 1
        assert loss.value(*touch) == pytest.approx(bound)
    assert np.any(losses.perceptron.value(y, s) < mistakes)


@pytest.mark.parametrize("size", [1e4, 1e30])
def test_huge_scores_give_finite_losses_without_warning(size, dtype):
    y, s = [1, 1, -1, -1], np.array([size, -size, size, -size], dtype)
    rows = np.array([[size, 0, -size], [-size, 0, size]], dtype)
    huge = float(dtype.type(size))
    for loss in (losses.perceptron, losses.hinge, losses.logistic):
        assert loss.value(y, s).tolist() == pytest.approx([0, huge, huge, 0], rel=2e-4)
        assert loss.gradient(y, s).tolist() == [0, -1, 1, 0]
        assert loss.value([0, 0], rows).tolist() == pytest.approx([0, 2 * huge], rel=2e-4)
        assert loss.gradient([0, 0], rows).tolist() == [[0, 0, 0], [-1, 0, 1]]


def test_the_logistic_loss_keeps_its_digits_where_it_is_almost_zero():
    tail = math.exp(-40)
    assert losses.logistic.value([1, -1], [40.0, -40.0]) == pytest.approx([tail, tail], rel=1e-12, abs=0)
    assert losses.logistic.gradient([1, -1], [40.0, -40.0]) == pytest.approx([-tail, tail], rel=1e-12, abs=0)
    for true in range(3):
        s = np.where(np.arange(3) == true, 40.0, 0.0)
        assert losses.logistic.value([true], [s]) == pytest.approx([2 * tail], rel=1e-12, abs=0)
        gradient = losses.logistic.gradient([true], [s])[0]
        assert gradient == pytest.approx(np.where(np.arange(3) == true, -2 * tail, tail), rel=1e-12, abs=0)


@both()
def test_float32_stays_float32_and_agrees_with_float64(loss, many, rng):
    y, s = draw(rng, many)
    s = s.astype(np.float32)
    for function in (loss.value, loss.gradient):
        assert function(y, s).dtype == np.float32
        assert function(y, s.astype(float)).dtype == np.float64
        np.testing.assert_allclose(function(y, s), function(y, s.astype(float)), rtol=2e-5, atol=2e-6)


def test_lists_whole_numbers_and_labels_of_any_number_type_are_taken():
    expected = losses.squared.value([1, -1], [3.0, 2.0])
    assert expected.tolist() == [4, 9]
    assert losses.squared.value([1, -1], [3, 2]).dtype == np.float64
    assert losses.squared.value([1, -1], np.array([3, 2], np.int8)).tolist() == [4, 9]
    assert losses.squared.value(np.array([1.0, -1.0]), np.array([3, 2], np.float16)).dtype == np.float32
    for kind in (np.uint8, np.int64, np.float32):
        assert losses.hinge.value(np.array([0, 1], kind), [[5, 0], [0, 0]]).tolist() == [0, 1]


@both()
def test_no_examples_give_no_losses_and_the_input_is_left_alone(loss, many, rng):
    shape = (0, K) if many else (0,)
    assert loss.value([], np.empty(shape)).shape == (0,)
    assert loss.gradient([], np.empty(shape)).shape == shape
    y, s = draw(rng, many)
    copies = y.copy(), s.copy()
    loss.value(y, s)
    loss.gradient(y, s)[...] = 9
    assert np.array_equal(y, copies[0])
    assert np.array_equal(s, copies[1])


def test_all_holds_every_loss_by_name_and_cannot_be_changed():
    assert list(losses.ALL) == ["perceptron", "hinge", "zero_one", "squared", "logistic"]
    assert all(getattr(losses, name) is loss and loss.name == name for name, loss in losses.ALL.items())
    assert all("Use it " in type(loss).__doc__ for loss in losses.ALL.values())
    with pytest.raises(TypeError):
        losses.ALL["mine"] = losses.hinge
    names = {loss.name for loss in (*losses.ALL.values(), WIDE, losses.Hinge(0.25, COST), losses.Hinge(cost=COST))}
    assert len(names) == 8
    assert repr(WIDE) == "<hinge, margin 2.5 loss>"


@pytest.mark.parametrize("loss", [*losses.ALL.values(), WIDE], ids=case)
def test_the_curve_over_the_margin_is_the_loss_of_both_labels(loss):
    z = np.linspace(-3, 3, 25)
    assert np.array_equal(loss.of_margin(z), loss.value(np.ones(25), z))
    assert np.array_equal(loss.of_margin(z), loss.value(-np.ones(25), -z))
    assert loss.of_margin(z.reshape(5, 5)).shape == (5, 5)
    assert loss.of_margin(z.astype(np.float32)).dtype == np.float32
    assert loss.of_margin(-1) == loss.value([1], [-1])[0] > 0


def test_the_curve_of_a_hinge_with_costs_is_that_of_the_positive_label():
    loss = losses.Hinge(cost=COST_OF_TWO)
    assert loss.of_margin([[0.0, 0.1]]).tolist() == [[0.5, 0.4]]
    assert loss.of_margin(0.0) == 0.5
    assert loss.value([1, -1], [0.0, 0.0]).tolist() == [0.5, 2]


def test_a_cost_matrix_changed_afterwards_changes_no_loss():
    cost = COST.copy()
    loss = losses.Hinge(cost=cost)
    cost[0] = 100
    assert loss.value([0], np.zeros((1, K))).tolist() == [2]


@pytest.mark.parametrize("method", ["value", "gradient"])
@pytest.mark.parametrize(
    ("y", "s", "message"),
    [
        ([1, 0, -1], [1.0, 2, 3], r"y\[1\] = 0.*labels must be -1 and \+1\..*np\.where"),
        ([1, 2], [1.0, 2], r"y\[1\] = 2.*labels must be -1 and \+1\."),
        ([0, 3], np.zeros((2, 3)), r"y\[1\] = 3.*\(n, 3\).*0 to 2.*searchsorted"),
        ([-1, 1], np.zeros((2, 3)), r"y\[0\] = -1.*class numbers"),
        ([0, 0.5], np.zeros((2, 3)), r"y\[1\] = 0\.5.*class numbers"),
        (["a", "b"], [1.0, 2], "y is list of <U1: give numbers"),
        ([True, False], [1.0, 2], "y is list of bool"),
        ([1, np.nan], [1.0, 2], r"y\[1\] = nan: give finite numbers"),
        ([1, -1], [1.0, np.nan], r"s\[1\] = nan: give finite numbers; look for NaN"),
        ([1, -1], [np.inf, 1.0], r"s\[0\] = inf"),
        ([0, 1], [[1.0, 2], [3, np.nan]], r"s\[1, 1\] = nan"),
        ([1, -1], [1.0, 2j], "s is list of complex128"),
        ([1, -1], [[1.0, 2], [3]], "s must be an array of numbers"),
        ([1, -1], np.ma.masked_array([1.0, 2], [0, 1]), "s is MaskedArray.*masked"),
        (1, 1.0, r"s has the shape \(\): give \(n,\) for two classes"),
        ([1, -1], np.zeros((2, 2, 2)), r"s has the shape \(2, 2, 2\)"),
        ([1, -1], np.zeros((2, 1)), r"s has the shape \(2, 1\): give \(n,\)"),
        ([1, -1, 1], [1.0, 2], r"y has the shape \(3,\) and s \(2,\): give one label per example, \(2,\)"),
        ([[1], [-1]], [1.0, 2], r"y has the shape \(2, 1\)"),
        ([0], np.zeros((2, 3)), r"y has the shape \(1,\) and s \(2, 3\)"),
    ],
)
def test_wrong_labels_and_scores_are_named_with_their_place(method, y, s, message):
    with pytest.raises(ValueError, match=message):
        getattr(losses.logistic, method)(y, s)


def test_a_margin_that_is_no_number_is_named_in_the_curve():
    with pytest.raises(ValueError, match=r"z\[1\] = nan"):
        losses.hinge.of_margin([0.0, np.nan])
    with pytest.raises(ValueError, match="z = nan"):
        losses.hinge.of_margin(np.nan)


@pytest.mark.parametrize("margin", [-0.5, np.nan, np.inf, "1", [1.0]])
def test_a_hinge_wants_a_margin_of_at_least_zero(margin):
    with pytest.raises(ValueError, match=r"margin=.*at least 0"):
        losses.Hinge(margin=margin)


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ([[0, -1], [1, 0]], r"cost\[0, 1\] = -1.*at least 0"),
        ([[0, 1], [1, 2]], r"cost\[1, 1\] = 2.*diagonal"),
        ([[0, np.nan], [1, 0]], r"cost\[0, 1\] = nan"),
        ([[0, 1, 1], [1, 0, 1]], r"cost has the shape \(2, 3\): give \(K, K\)"),
        ([0, 1], r"cost has the shape \(2,\)"),
        ("high", "cost is str"),
    ],
)
def test_a_cost_matrix_is_square_not_negative_and_zero_on_the_diagonal(cost, message):
    with pytest.raises(ValueError, match=message):
        losses.Hinge(cost=cost)


def test_a_cost_matrix_must_fit_the_number_of_classes():
    with pytest.raises(ValueError, match=r"cost has the shape \(4, 4\), but there are 3 classes: give \(3, 3\)"):
        losses.Hinge(cost=COST).value([0], [[1.0, 2, 3]])
    with pytest.raises(ValueError, match=r"but there are 2 classes: give \(2, 2\)"):
        losses.Hinge(cost=COST).gradient([1], [1.0])
