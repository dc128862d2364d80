"""What `StructuredPerceptron` refuses: every message names the example and says what to do; nothing changes."""

import numpy as np
import pytest
import scipy.sparse as sp

from perceptrons import StructuredPerceptron
from tests.conftest import gaussian
from tests.support.structures import Chain, Classes

NAN = float("nan")


class Answering(Classes):
    """Two classes of one number; from the third example on it gives this answer instead of its own."""

    def __init__(self, method, answer, size=2):
        super().__init__(2, 1)
        self.size = size
        self.method, self.answer = method, answer

    def _or(self, method, x, own):
        return self.answer if method == self.method and x[0] >= 3 else own

    def decode(self, x, w, cost_with=None):
        return self._or("decode", x, 0)

    def features(self, x, y):
        return self._or("features", x, ([y], [x[0]]))

    def loss(self, y, y_hat):
        return self._or("loss", [3 if y > 0 else 0], int(y != y_hat))


X = [[1.0], [2.0], [3.0], [4.0]]
y = [0, 0, 1, 1]

WRONG_FEATURES = {
    "an index beyond the size": ({5: 1.0}, r"index 5 is outside 0 to size - 1 = 1"),
    "a negative index": (([-1], [1.0]), r"index -1 is outside 0 to size - 1 = 1"),
    "a huge index": ({2**63: 1.0}, r"index 9223372036854775808 is outside"),
    "an index that is no whole number": (([0.0], [1.0]), "an index must be a whole number, not float64"),
    "an index that is a name": ({"word": 1.0}, "an index must be a whole number,"),
    "an index that is a flag": ({True: 1.0}, "an index must be a whole number, not bool"),
    "a value that is not a number": ({0: "one"}, "a value must be a number,"),
    "a value that is nothing": ({0: None}, "a value must be a number, not object"),
    "a NaN": ({1: NAN}, "the value of index 1 is nan, not a finite number"),
    "an infinite value": (([0, 1], [1.0, np.inf]), "the value of index 1 is inf"),
    "more values than indices": (([0], [1.0, 2.0]), r"as many indices as values,.*\(1,\) and \(2,\)"),
    "values in two dimensions": (([[0]], [[1.0]]), "in one dimension each"),
    "a dense array": (np.ones(2), "a sparse row, not array."),
    "nothing": (None, "row, not None."),
    "a matrix": (sp.csr_matrix(np.eye(2)), "not a matrix of 2 rows"),
    "too wide a row": (sp.csr_matrix(np.ones((1, 3))), "index 2 is outside"),
}


@pytest.mark.parametrize("wrong", WRONG_FEATURES)
@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_wrong_features_are_refused_by_name(wrong, margin):
    features, message = WRONG_FEATURES[wrong]
    model = StructuredPerceptron(Answering("features", features), shuffle=False, margin=margin)
    with pytest.raises(ValueError, match=r"X\[2\]: model.features: .*" + message):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("loss", [-1, NAN, np.inf, None, "1", np.ones(2), 1j])
def test_a_loss_that_is_no_finite_number_of_at_least_0_is_refused_by_name(loss):
    model = StructuredPerceptron(Answering("loss", loss), shuffle=False)
    with pytest.raises(
        ValueError, match=r"X\[2\]: model.loss returned .*, but a loss must be a finite number of at least 0."
    ):
        model.fit(X, y)


@pytest.mark.parametrize("loss", [True, np.bool_(True), np.float32(0.5), np.int8(1), 2**60])
def test_losses_of_any_kind_of_number_are_taken(loss):
    assert StructuredPerceptron(Answering("loss", loss), max_iter=1).fit(X, y).n_mistakes_ == 2


def test_an_output_that_is_none_is_refused_by_name():
    model = StructuredPerceptron(Answering("decode", None), shuffle=False)
    with pytest.raises(ValueError, match=r"X\[2\]: model.decode returned None"):
        model.fit(X, y)
    model.partial_fit(X[:2], y[:2])
    with pytest.raises(ValueError, match=r"^x: model.decode returned None"):
        model.learn_one([3.0], 0)
    with pytest.raises(ValueError, match=r"X\[1\]: model.decode returned None"):
        model.predict([[0.0], [3.0]])
    with pytest.raises(ValueError, match=r"X\[1\]: model.decode returned None"):
        model.score([[0.0], [3.0]], [0, 0])
    with pytest.raises(ValueError, match=r"^x: model.decode returned None"):
        model.predict_one([3.0])
    assert model.t_ == 2


@pytest.mark.parametrize("size", [-1, 1.5, None, "2", True])
def test_a_size_that_is_no_number_of_weights_is_refused(size):
    with pytest.raises(ValueError, match=r"model.size must be the number of weights, a whole number, not"):
        StructuredPerceptron(Answering("", None, size)).fit(X, y)


class Failing(Classes):
    """Its decoder fails at one input."""

    def decode(self, x, w, cost_with=None):
        if x[0] > 100:
            raise RuntimeError("no such parse")
        return super().decode(x, w, cost_with)


@pytest.mark.parametrize("learn", ["fit", "partial_fit", "warm"])
def test_what_the_model_raises_comes_through_with_the_example_and_changes_nothing(learn, rng):
    X, y = gaussian(rng, 30, 2, 3)
    bad = X.copy()
    bad[20, 0] = 101
    fresh = StructuredPerceptron(Failing(3, 2), shuffle=False, warm_start=learn == "warm")
    known = StructuredPerceptron(Failing(3, 2), shuffle=False, warm_start=learn == "warm", max_iter=2).fit(X, y)
    before = dict(known.__dict__), known.coef_average_, known.coef_last_, known.t_, known.history_
    for model in (fresh, known):
        with pytest.raises(RuntimeError, match="no such parse") as caught:
            getattr(model, "fit" if learn == "warm" else learn)(bad, y)
        assert caught.value.__notes__ == ["This happened in model.decode, for X[20]."]
    assert not hasattr(fresh, "coef_")
    assert not hasattr(fresh, "stop_reason_")
    assert known.__dict__ == before[0]
    assert np.array_equal(known.coef_average_, before[1])
    assert np.array_equal(known.coef_last_, before[2])
    assert known.t_ == before[3]
    expected = StructuredPerceptron(Classes(3, 2), shuffle=False, warm_start=True, max_iter=2).fit(X, y).fit(X, y)
    assert np.array_equal(known.set_params(warm_start=True).fit(X, y).coef_average_, expected.coef_average_)


def test_a_failed_single_example_changes_nothing(rng):
    X, y = gaussian(rng, 30, 2, 3)
    model = StructuredPerceptron(Failing(3, 2))
    with pytest.raises(RuntimeError, match="no such parse"):
        model.learn_one([101.0, 0.0], 1)
    assert not hasattr(model, "coef_")
    model.partial_fit(X, y)
    before = model.coef_average_
    with pytest.raises(RuntimeError, match="no such parse"):
        model.learn_one([101.0, 0.0], 1)
    assert np.array_equal(model.coef_average_, before)
    assert model.t_ == 30


@pytest.mark.parametrize("margin", [0.0, 1.0, 0.5])
def test_a_model_cannot_write_to_the_weights(margin, rng):
    class Writing(Classes):
        def decode(self, x, w, cost_with=None):
            w[0] = 7
            return 0

    X, y = gaussian(rng, 10, 2, 3)
    model = StructuredPerceptron(Writing(3, 2), margin=margin)
    with pytest.raises(ValueError, match="read-only"):
        model.fit(X, y)
    model.set_params(model=Classes(3, 2)).fit(X, y).set_params(model=Writing(3, 2))
    for combine in ("average", "last"):
        model.set_params(combine=combine)
        before = model.coef_
        with pytest.raises(ValueError, match="read-only"):
            model.predict(X)
        with pytest.raises(ValueError, match="read-only"):
            model.predict_one(X[0])
        assert np.array_equal(model.coef_, before)


def test_weights_that_overflow_are_refused_and_nothing_is_learned_of_them():
    model = StructuredPerceptron(Classes(2, 1)).partial_fit([[1.0]], [1])
    with pytest.raises(ValueError, match=r"X\[0\]: its features would make weights too large for float64:"):
        model.partial_fit([[-1e200]], [1])
    with pytest.raises(ValueError, match="too large"):
        StructuredPerceptron(Answering("features", ([0, 0], [1.7e308, 1.7e308]))).fit(X, y)
    with pytest.raises(ValueError, match="too large"):
        StructuredPerceptron(Classes(2, 1), step="pa1").partial_fit([[1e300]], [1]).partial_fit([[-1e300]], [1])
    assert np.array_equal(model.coef_last_, [-1.0, 1.0])


def test_a_passive_step_survives_features_too_small_to_square():
    model = StructuredPerceptron(Classes(2, 1), step="pa1", C=0.5).partial_fit([[1e-200]], [1])
    np.testing.assert_allclose(model.coef_last_, [-0.5e-200, 0.5e-200])


def test_an_output_with_the_features_of_the_truth_changes_nothing():
    class Blind(Classes):
        def features(self, x, y):
            return {0: 1.0}

    constant = StructuredPerceptron(Blind(2, 1), max_iter=3).fit([[1.0]], [1])
    assert (constant.n_mistakes_, constant.n_updates_, constant.converged_) == (3, 3, False)
    passive = StructuredPerceptron(Blind(2, 1), max_iter=3, step="pa1").fit([[1.0]], [1])
    assert (passive.n_mistakes_, passive.n_updates_, passive.stop_reason_) == (1, 0, "converged")
    assert passive.history_[0]["loss"] == 1.0
    assert not constant.coef_.any()


@pytest.mark.parametrize("learn", ["fit", "partial_fit", "score"])
def test_inputs_and_outputs_must_be_sequences_of_one_length(learn):
    model = StructuredPerceptron(Classes(2, 1)).partial_fit([[1.0]], [1])
    call = getattr(model, learn)
    with pytest.raises(ValueError, match="X has 2 inputs, but y has 1 outputs: give one output per input"):
        call([[1.0], [2.0]], [0])
    with pytest.raises(ValueError, match="There are no examples:"):
        call([], [])
    for wrong in (None, 3, iter([[1.0]]), {0: [1.0]}, {1}, np.float64(1), np.array(1.0)):
        with pytest.raises(ValueError, match="X must be a sequence, such as a list, not"):
            call(wrong, [0])
        with pytest.raises(ValueError, match="y must be a sequence, such as a list, not"):
            call([[1.0]], wrong)
    assert model.t_ == 1


def test_nothing_can_be_held_out_of_one_example():
    model = StructuredPerceptron(Classes(2, 1), early_stopping=True)
    with pytest.raises(ValueError, match="No examples can be held out:"):
        model.fit([[1.0]], [1])
    assert not hasattr(model, "coef_")


def test_a_model_must_offer_what_is_asked_of_it():
    for wrong, message in (
        (object(), "it is a object without size and decode and features and loss"),
        (Chain, "a class, not an object|without size"),
        (None, "There is no model"),
    ):
        model = StructuredPerceptron(wrong)
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)
        with pytest.raises(ValueError, match=message):
            model.learn_one(X[0], y[0])


def test_a_model_with_fewer_weights_than_were_learned_is_refused(rng):
    X, y = gaussian(rng, 20, 2, 3)
    model = StructuredPerceptron(Classes(3, 2), warm_start=True).fit(X, y).set_params(model=Classes(2, 2))
    for call in (
        lambda: model.predict(X),
        lambda: model.predict_one(X[0]),
        lambda: model.score(X, y),
        lambda: model.partial_fit(X, y),
        lambda: model.learn_one(X[0], 0),
        lambda: model.fit(X, y),
    ):
        with pytest.raises(ValueError, match=r"model.size is 4, but 6 weights were learned"):
            call()
    assert len(model.set_params(warm_start=False).fit(X, y % 2).coef_) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"combine": "vote"}, "combine must be one of 'average', 'last'"),
        ({"step": "pa"}, "step must be one of 'constant', 'pa1'"),
        ({"step": "pa1", "margin": 0}, r"step='pa1', margin=0\) does not work"),
        ({"step": "pa1", "eta0": 0.5}, r"step='pa1', eta0=0.5\) does not work"),
        ({"margin": -1}, "margin must be a number between 0 and"),
        ({"margin": 1e-300}, "margin must be 0, or at least 1e-12"),
        ({"eta0": 0}, "eta0 must be"),
        ({"C": NAN}, "C must be"),
        ({"max_iter": -1}, "max_iter must be"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_parameters_that_make_no_sense_are_refused_wherever_they_matter(options, message, rng):
    X, y = gaussian(rng, 20, 2, 3)
    model = StructuredPerceptron(Classes(3, 2)).fit(X, y).set_params(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, y)
    if options.keys() & {"combine", "step", "margin", "eta0", "C"}:
        with pytest.raises(ValueError, match=message):
            model.learn_one(X[0], y[0])


def test_a_margin_needs_a_decoder_that_takes_costs():
    class Plain(Classes):
        def decode(self, x, w):
            return super().decode(x, w)

    assert StructuredPerceptron(Plain(2, 1)).fit([[1.0], [-1.0]], [0, 1]).score([[1.0]], [0]) == 1
    with pytest.raises(TypeError, match="cost_with") as caught:
        StructuredPerceptron(Plain(2, 1), margin=1).fit([[1.0], [-1.0]], [0, 1])
    assert "model.decode" in caught.value.__notes__[0]
