"""What the displays draw is what the model and the theory say, and what cannot be drawn is refused in words."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from matplotlib.colors import to_rgb
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import shuffle

from perceptrons import KernelPerceptron, Perceptron, losses
from perceptrons import plots as p
from perceptrons.plots import style, updates
from perceptrons.plots.boundary import find_support
from perceptrons.theory import check_bound, convergence, margins, mistake_bound
from tests.images import clusters
from tests.support.lecture import rosenblatt

X2, Y2 = clusters(2, 30, 2.5)
X3, Y3 = clusters(3, 30, 3.2)
NAMES = np.array(["ant", "bee", "cat"])


def title(display):
    return display.ax_.get_title(loc="left")


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


class TestBoundary:
    @pytest.mark.parametrize("combine", ["last", "average", "vote", "pocket"])
    @pytest.mark.parametrize(("X", "y"), [(X2, Y2), (X3, NAMES[Y3])])
    def test_the_region_of_a_point_is_the_class_predicted_there(self, X, y, combine):
        model = Perceptron(combine=combine, max_iter=5).fit(X, y)
        display = p.BoundaryDisplay.from_estimator(model, X, y, resolution=31)
        grid = np.stack([part.ravel() for part in np.meshgrid(display.grid_x, display.grid_y)], axis=1)
        assert (model.classes_[display.lead.argmax(axis=2).ravel()] == model.predict(grid)).all()
        assert (model.classes_[display.predicted] == model.predict(X)).all()

    @pytest.mark.parametrize(
        "model",
        [KernelPerceptron(max_iter=3), SVC(), DecisionTreeClassifier(max_depth=2), Perceptron(multiclass="ovo"),
         make_pipeline(StandardScaler(), Perceptron())],
    )  # fmt: skip
    def test_so_it_is_with_any_classifier(self, model):
        model.fit(X3, NAMES[Y3])
        display = p.BoundaryDisplay.from_estimator(model, X3, NAMES[Y3], resolution=25)
        grid = np.stack([part.ravel() for part in np.meshgrid(display.grid_x, display.grid_y)], axis=1)
        winner, predicted = display.lead.argmax(axis=2).ravel(), model.predict(grid)
        tied = np.sort(display.lead.reshape(-1, 3), axis=1)[:, -1] <= 1e-12
        assert (NAMES[winner] == predicted)[~tied].all()

    def test_the_margin_is_that_of_the_theory_and_its_lines_run_through_the_closest_right_example(self):
        model = Perceptron().fit(X2, Y2)
        display = p.BoundaryDisplay.from_estimator(model, X2, Y2)
        functional, geometric = margins(model, X2, Y2)
        assert (geometric > 0).all()
        assert display.margin == geometric.min()
        assert display.level == functional[geometric.argmin()]
        assert f"smallest margin γ = {geometric.min():.3g}" in legend(display.plot().ax_)
        closest = model.decision_function(X2[[geometric.argmin()]])[0]
        assert abs(closest) == pytest.approx(display.level)

    @pytest.mark.parametrize("model", [Perceptron(max_iter=2), KernelPerceptron(max_iter=1)])
    def test_with_mistakes_the_smallest_margin_is_negative_and_no_lines_are_drawn_for_it(self, model):
        y = Y2.copy()
        y[:3] = 1 - y[:3]
        model.fit(X2, y)
        assert (model.predict(X2) != y).any()
        display = p.BoundaryDisplay.from_estimator(model, X2, y).plot()
        assert display.level is None
        if isinstance(model, Perceptron):
            smallest = margins(model, X2, y).geometric.min()
            assert smallest < 0
            assert display.margin == smallest
            assert f"smallest margin γ = {smallest:.3g}".replace("-", "−") in [
                text.replace("-", "−") for text in legend(display.ax_)
            ]
        assert not [c for c in display.ax_.collections if "--" in str(c.get_linestyle())]
        assert len([c for c in display.ax_.collections if c.get_zorder() == 1]) == 1  # the boundary

    def test_of_a_slice_it_is_said_how_many_examples_lie_in_the_region_of_another_class(self):
        X, y = load_iris(return_X_y=True)
        model = Perceptron(max_iter=50).fit(X, y)
        display = p.BoundaryDisplay.from_estimator(model, X, y, features=(0, 1)).plot()
        on_the_slice = np.tile(X.mean(axis=0), (len(X), 1))
        on_the_slice[:, :2] = X[:, :2]
        elsewhere = (model.predict(on_the_slice) != y).sum()
        wrong = (model.predict(X) != y).sum()
        assert elsewhere > wrong
        said = " ".join(title(display).split())
        assert said.startswith(f"150 examples, {wrong} mistake")
        assert f"a slice: 2 other features held at the mean; {elsewhere} examples lie in the region of" in said
        present = set(np.unique(display.lead.argmax(axis=2)).tolist())
        assert ("no region of" in said) == (len(present) < 3)

    def test_the_boundary_line_is_where_the_score_is_0(self):
        model = Perceptron().fit(X2, Y2)
        display = p.BoundaryDisplay.from_estimator(model, X2, Y2).plot(margin=False, labels=False)
        lines = [c for c in display.ax_.collections if c.get_zorder() == 1]
        vertices = np.concatenate([path.vertices for path in lines[0].get_paths()])
        assert np.abs(model.decision_function(vertices)).max() < 1e-9 * np.abs(model.decision_function(X2)).max()

    def test_mistakes_are_crossed_and_support_examples_ringed(self):
        model = KernelPerceptron(max_iter=1, combine="last").fit(X3, Y3)
        display = p.BoundaryDisplay.from_estimator(model, X3, Y3).plot()
        wrong = model.predict(X3) != Y3
        assert wrong.any()
        crossed = next(c for c in display.ax_.collections if c.get_zorder() == 4).get_offsets()
        ringed = next(c for c in display.ax_.collections if c.get_zorder() == 3.5).get_offsets()
        assert crossed.tolist() == X3[wrong].tolist()
        assert ringed.tolist() == X3[np.sort(model.support_)].tolist()
        assert title(display) == f"90 examples, {wrong.sum()} mistakes"
        assert legend(display.ax_) == ["0", "1", "2", "support vector", "mistake"]
        plain = display.plot(mistakes=False, support=False, legend=False)
        assert [c for c in plain.ax_.collections if c.get_zorder() in (3.5, 4)] == []
        assert plain.ax_.get_legend() is None

    @pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix])
    def test_the_support_examples_of_votes_are_those_that_made_updates(self, layout):
        X = layout(X3.astype(np.float32))
        model = rosenblatt(combine="vote", max_iter=1, shuffle=False).fit(X, Y3)
        display = p.BoundaryDisplay.from_estimator(model, X, Y3)
        one = rosenblatt(combine="last")
        made = [
            i
            for i in range(len(Y3))
            if (before := one.n_updates_ if i else 0) is not None
            and one.partial_fit(X[[i]], Y3[[i]], classes=[0, 1, 2]).n_updates_ > before
        ]
        assert {tuple(X3[i]) for i in made} == {tuple(point) for point in X3[display.support]}

    @pytest.mark.parametrize(
        "model",
        [*(KernelPerceptron(kernel=kernel, max_iter=2) for kernel in ("rbf", "linear", "cosine", "poly")), SVC(),
         KernelPerceptron(multiclass="ovr", max_iter=2), Perceptron(combine="vote", max_iter=1)],
    )  # fmt: skip
    def test_support_examples_are_told_by_what_they_are_not_by_where_they_were(self, model):
        X, y = np.unique(X3, axis=0, return_index=True)
        y = Y3[y]
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], y[order]
        half = len(y) // 2
        model.fit(X[:half], y[:half])
        here = p.BoundaryDisplay.from_estimator(model, X[:half], y[:half], resolution=9).support
        assert 0 < here.sum() < half
        if not isinstance(model, Perceptron):
            assert np.flatnonzero(here).tolist() == np.unique(model.support_).tolist()
        turned = p.BoundaryDisplay.from_estimator(model, X[:half][::-1], y[:half][::-1], resolution=9).support
        assert turned.tolist() == here[::-1].tolist()
        assert not p.BoundaryDisplay.from_estimator(model, X[half:], y[half:], resolution=9).support.any()
        assert find_support(model, sp.csr_matrix(X[:half])).tolist() == here.tolist()

    def test_support_examples_that_rows_cannot_be_compared_with_have_no_rings(self):
        gram = KernelPerceptron(kernel="precomputed", max_iter=2).fit(X3 @ X3.T, Y3)
        assert find_support(gram, X3) is None
        assert find_support(KernelPerceptron(max_iter=1).fit(X3[:, :1], Y3), X3) is None
        assert find_support(Perceptron().fit(X3, Y3), X3) is None

    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
    def test_names_that_only_the_model_or_only_the_data_know_make_no_warning(self, frame):
        named = frame({"a": X2[:, 0], "b": X2[:, 1]})
        for model in (Perceptron().fit(named, Y2), make_pipeline(StandardScaler(), Perceptron()).fit(named, Y2)):
            for X in (named, X2):
                p.BoundaryDisplay.from_estimator(model, X, Y2, resolution=9)
                p.MarginsDisplay.from_estimator(model, X, Y2)
                p.confusion(model, X, Y2)
        assert p.BoundaryDisplay.from_estimator(Perceptron().fit(named, Y2), X2, Y2, resolution=9).names == ("a", "b")

    def test_frames_lend_their_names_and_other_features_are_held_where_they_are_said_to_be(self):
        frame = pd.DataFrame(
            {"age": X2[:, 0], "pulse": X2[:, 1], "size": np.arange(60.0) ** 2, "city": ["Ulm", "Bonn", "Ulm"] * 20}
        )

        class First(ClassifierMixin, BaseEstimator):
            classes_ = np.array([0, 1])

            def fit(self, X, y):
                self.fitted_ = True
                return self

            def predict(self, X):
                self.seen = X
                return (np.asarray(X["age"]) > 0).astype(int)

        model = First().fit(frame, Y2)
        display = p.BoundaryDisplay.from_estimator(
            model, frame, Y2, features=("pulse", "age"), held="median", resolution=5
        )
        assert (model.seen["size"] == np.median(np.arange(60.0) ** 2)).all()
        assert (model.seen["city"] == "Ulm").all()
        assert list(model.seen.columns) == list(frame.columns)
        display.plot()
        assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("pulse", "age")
        assert "a slice: 2 other features held at the median" in " ".join(title(display).split())
        assert display.points.tolist() == X2[:, ::-1].tolist()

    def test_a_polars_frame_is_drawn_as_the_same_array(self):
        model = Perceptron().fit(X3, Y3)
        frame = pl.DataFrame({"a": X3[:, 0], "b": X3[:, 1]})
        named = Perceptron().fit(frame, Y3)
        one = p.BoundaryDisplay.from_estimator(named, frame, Y3, resolution=20)
        other = p.BoundaryDisplay.from_estimator(model, X3, Y3, resolution=20)
        assert np.array_equal(one.lead, other.lead)
        assert one.names == ("a", "b")

    def test_of_very_many_points_some_are_drawn_and_the_title_says_so(self):
        X, y = clusters(2, 20_000, 2.0)
        model = Perceptron().fit(X, y)
        y[7] = 1 - y[7]
        display = p.BoundaryDisplay.from_estimator(model, X, y).plot()
        assert title(display) == "40,000 examples, 1 mistake (5,000 examples drawn)"
        assert len(display.shown_) == 5000
        assert 7 in display.shown_  # the only mistake

    def test_twenty_classes_have_a_marker_each_and_a_label_where_it_fits(self):
        X, y = clusters(20, 8, 1.0)
        display = p.BoundaryDisplay.from_estimator(Perceptron().fit(X, y), X, y).plot()
        assert (
            len(
                {
                    str(style.class_marker(k))
                    if not hasattr(style.class_marker(k), "vertices")
                    else style.class_marker(k).vertices.tobytes()
                    for k in range(20)
                }
            )
            == 20
        )
        assert {text.get_text() for text in display.ax_.texts} <= {str(k) for k in range(20)}
        assert len(display.ax_.texts) >= 15

    @pytest.mark.parametrize(
        ("X", "y", "how", "says"),
        [
            (np.ones((4, 1)), [0, 1, 0, 1], {}, "X has one feature, but a plane needs two:"),
            (np.eye(4), [0, 1, 0, 1], {}, r"X has 4 features: choose two to draw, such as features=\('x0', 'x1'\)"),
            (np.eye(4), [0, 1, 0, 1], {"features": (0, 9)}, "There is no feature 9: features are numbered from 0 to 3"),
            (np.eye(4), [0, 1, 0, 1], {"features": ("a", "b")}, "There is no feature 'a'"),
            (np.eye(4), [0, 1, 0, 1], {"features": (1, 1)}, "the same feature twice"),
            (np.eye(4), [0, 1, 0, 1], {"features": 3}, "give two features, by number or by name."),
            (np.eye(4), [0, 1, 0, 1], {"features": (0, 1), "held": "mode"}, "held='mode'"),
            (np.eye(4), [0, 1, 0, 1], {"features": (0, 1), "resolution": 1}, "resolution=1"),
            (np.eye(4), [0, 1, 0, 5], {"features": (0, 1)}, r"y\[3\] = 5 is not one of the model's classes,"),
            (np.eye(4), [0, 1, 0], {"features": (0, 1)}, "X has 4 rows, but y has labels for 3"),
            (np.ones((0, 4)), [], {"features": (0, 1)}, "X has no rows"),
            (np.ones(4), [0, 1, 0, 1], {}, "X has the shape"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_drawn_is_refused_in_words(self, X, y, how, says):
        d = X.shape[1] if X.ndim == 2 else 4
        model = Perceptron().fit(np.eye(d, dtype=float)[[0, 0, -1, -1]] + np.arange(4)[:, None], [0, 1, 0, 1])
        with pytest.raises(ValueError, match=says):
            p.BoundaryDisplay.from_estimator(model, X, y, **how)

    def test_models_that_cannot_be_drawn_are_refused_too(self):
        with pytest.raises(NotFittedError):
            p.BoundaryDisplay.from_estimator(Perceptron(), X2, Y2)
        with pytest.raises(TypeError, match="has no predict"):
            p.BoundaryDisplay.from_estimator(StandardScaler().fit(X2), X2, Y2)
        one = Perceptron().partial_fit(X2[:1], Y2[:1])
        with pytest.raises(ValueError, match="knows only the class 0"):
            p.BoundaryDisplay.from_estimator(one, X2, Y2)
        gram = KernelPerceptron(kernel="precomputed").fit(X2 @ X2.T, Y2)
        with pytest.raises(ValueError, match="has no features to draw:"):
            p.BoundaryDisplay.from_estimator(gram, X2 @ X2.T, Y2, features=(0, 1))
        several = Perceptron().fit(X2, np.stack([Y2, 1 - Y2], axis=1))
        with pytest.raises(ValueError, match="several labels"):
            p.BoundaryDisplay.from_estimator(several, X2, Y2)


class TestHistory:
    def test_it_draws_the_history_and_the_bound_of_the_theory(self):
        model = rosenblatt(tol=None).fit(X2 + 4, Y2)
        display = p.HistoryDisplay.from_estimator(model, X2 + 4, Y2).plot()
        bars = [bar.get_height() for bar in display.axes_[0].patches]
        assert bars == [row["mistakes"] for row in model.history_]
        so_far, bound = display.axes_[1].lines
        assert so_far.get_ydata().tolist() == np.cumsum(model.mistakes_).tolist()
        assert set(bound.get_ydata()) == {check_bound(model, X2 + 4, Y2).at_most}
        assert bound.get_ydata()[0] >= so_far.get_ydata()[-1]
        assert display.axes_[2].lines[0].get_ydata().tolist() == [row["loss"] for row in model.history_]
        assert title(display).endswith("stopped: an epoch without an update")

    def test_updates_are_drawn_where_they_are_more_than_the_mistakes_and_accuracy_where_it_was_measured(self):
        model = Perceptron(margin=3.0, early_stopping=True, max_iter=30).fit(X3, Y3)
        display = p.HistoryDisplay.from_estimator(model, bound=mistake_bound(X2, Y2)).plot()
        assert display.axes_[0].lines[0].get_ydata().tolist() == [row["updates"] for row in model.history_]
        assert display.axes_[0].get_ylabel() == "mistakes,\nupdates"
        assert display.axes_[1].get_ylabel() == "updates\nso far"
        accuracy = [row["validation_accuracy"] for row in model.history_]
        assert display.axes_[3].lines[0].get_ydata().tolist() == accuracy
        assert f"(epoch {1 + int(np.argmax(accuracy))})" in legend(display.axes_[3])[0]

    def test_data_that_are_not_separable_have_no_line(self):
        X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0]
        assert p.HistoryDisplay.from_estimator(Perceptron(max_iter=5).fit(X, y), X, y).bound is None

    def test_a_thousand_epochs_are_a_line_and_a_single_one_a_bar(self):
        many = p.HistoryDisplay(range(1, 1001), np.arange(1000)[::-1]).plot()
        assert len(many.axes_[0].patches) == 0
        one = p.HistoryDisplay([1], [3]).plot()
        assert len(one.axes_[0].patches) == 1
        assert [tick for tick in one.axes_[1].get_xticks() if 0.5 < tick < 1.5] == [1]

    def test_a_far_bound_makes_the_scale_logarithmic(self):
        assert p.HistoryDisplay([1], [3], bound=10**6).plot().axes_[1].get_yscale() == "log"
        assert p.HistoryDisplay([1], [3], bound=15).plot().axes_[1].get_yscale() == "linear"
        assert p.HistoryDisplay([1, 2], [100, 51], bound=2250).plot().axes_[1].get_yscale() == "log"

    def test_it_goes_into_axes_that_are_given(self):
        figure, (left, right) = plt.subplots(1, 2)
        display = p.HistoryDisplay([1, 2], [3, 0]).plot(ax=right)
        assert display.figure_ is figure
        assert not right.axison
        assert all(ax.get_subplotspec().get_topmost_subplotspec() == right.get_subplotspec() for ax in display.axes_)
        with pytest.raises(ValueError, match="cannot be divided, because they are not in a grid:"):
            p.HistoryDisplay([1], [3]).plot(ax=figure.add_axes((0.1, 0.1, 0.2, 0.2)))
        assert left.axison

    def test_what_has_no_history_is_refused(self):
        with pytest.raises(ValueError, match="was trained by partial_fit, which has no epochs"):
            p.HistoryDisplay.from_estimator(Perceptron().partial_fit(*shuffle(X2, Y2, random_state=0)))
        with pytest.raises(ValueError, match="has no history_"):
            p.HistoryDisplay.from_estimator(SVC().fit(X2, Y2))
        with pytest.raises(ValueError, match="X without y"):
            p.HistoryDisplay.from_estimator(Perceptron().fit(X2, Y2), X2)
        with pytest.raises(ValueError, match="bound='many'"):
            p.HistoryDisplay([1], [3], bound="many")
        with pytest.raises(ValueError, match="no epoch"):
            p.HistoryDisplay([], [])
        with pytest.raises(ValueError, match="loss has the shape"):
            p.HistoryDisplay([1], [3], loss=[1, 2])


class TestLosses:
    def test_the_lines_are_the_losses(self):
        display = p.LossesDisplay.from_losses().plot()
        lines = [line for line in display.ax_.lines if len(line.get_xdata()) > 2]
        assert len(lines) == len(losses.ALL)
        for line, loss in zip(lines, losses.ALL.values(), strict=True):
            assert np.array_equal(line.get_ydata(), loss.of_margin(line.get_xdata()))
        assert len({line.get_linestyle() + line.get_color() for line in lines}) == len(lines)
        step = display.values["zero_one"]
        assert set(step) == {0.0, 1.0}

    def test_what_is_no_loss_is_refused(self):
        with pytest.raises(TypeError, match="'hinge' is not a loss"):
            p.LossesDisplay.from_losses(["hinge"])
        with pytest.raises(ValueError, match="the smaller one first"):
            p.LossesDisplay.from_losses(low=1, high=0)
        with pytest.raises(ValueError, match="two or more margins"):
            p.LossesDisplay([0.0], {})


class TestWeights:
    def test_bars_are_the_weights_farthest_from_0_by_name(self):
        w = np.array([[0.5, -3.0, 0.0, 2.0, -0.1]])
        display = p.WeightsDisplay(w, ["no", "yes"], names=list("abcde")).plot(top=3)
        assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["d", "a", "b"]
        assert sorted(bar.get_width() for bar in display.ax_.patches) == [-3.0, 0.5, 2.0]
        assert display.ax_.get_xlabel().split() == ["←", "no", "weight", "yes", "→"]

    def test_a_panel_a_class_on_one_scale(self):
        model = Perceptron().fit(X3, NAMES[Y3])
        display = p.WeightsDisplay.from_estimator(model).plot()
        assert [ax.get_title(loc="left") for ax in display.axes_] == ["ant", "bee", "cat"]
        assert len({ax.get_xlim() for ax in display.axes_}) == 1
        for ax, row in zip(display.axes_, model.coef_, strict=True):
            assert sorted(bar.get_width() for bar in ax.patches) == sorted(row)

    def test_pictures_have_one_symmetric_scale(self):
        w = np.arange(60.0).reshape(3, 20) - 20
        display = p.WeightsDisplay(w, NAMES).plot(image_shape=(4, 5))
        for row, ax in zip(w, display.axes_, strict=True):
            (image,) = ax.images
            assert image.get_array().tolist() == row.reshape(4, 5).tolist()
            assert image.get_clim() == (-39.0, 39.0)
        with pytest.raises(ValueError, match="does not have as many pixels as there are features, 20"):
            p.WeightsDisplay(w, NAMES).plot(image_shape=(5, 5))

    def test_names_come_from_pipelines_and_models_and_votes_show_their_average(self):
        frame = pd.DataFrame(X2, columns=["age", "pulse"])
        for model in (Perceptron(), make_pipeline(StandardScaler(), Perceptron())):
            assert list(p.WeightsDisplay.from_estimator(model.fit(frame, Y2)).names) == ["age", "pulse"]
        model = Perceptron(combine="vote").fit(X2, Y2)
        display = p.WeightsDisplay.from_estimator(model)
        assert np.array_equal(display.coef, model.coef_average_)
        assert "averaged" in display.note

    def test_weights_that_cannot_be_drawn_are_refused(self):
        with pytest.raises(ValueError, match="knows only the class 0: there is nothing to draw yet"):
            p.WeightsDisplay.from_estimator(Perceptron().partial_fit(X2[:1], Y2[:1]))
        with pytest.raises(ValueError, match="KernelPerceptron has no feature weights"):
            p.WeightsDisplay.from_estimator(KernelPerceptron().fit(X2, Y2))
        with pytest.raises(ValueError, match="one-vs-one"):
            p.WeightsDisplay.from_estimator(Perceptron(multiclass="ovo").fit(X3, Y3))
        with pytest.raises(ValueError, match="2 names for 3 features"):
            p.WeightsDisplay(np.ones((1, 3)), [0, 1], names=["a", "b"])
        with pytest.raises(ValueError, match="top=0"):
            p.WeightsDisplay(np.ones((1, 3)), [0, 1]).plot(top=0)
        with pytest.raises(ValueError, match="2 rows for 3 classes"):
            p.WeightsDisplay(np.ones((2, 3)), [0, 1, 2])
        with pytest.raises(ValueError, match="NaN"):
            p.WeightsDisplay([[np.nan]], [0, 1])


class TestMargins:
    @pytest.mark.parametrize("layout", [np.asarray, sp.csr_matrix])
    def test_they_are_those_of_the_theory_and_every_example_is_in_a_bar(self, layout):
        model = Perceptron(max_iter=3).fit(layout(X3), NAMES[Y3])
        display = p.MarginsDisplay.from_estimator(model, layout(X3), NAMES[Y3]).plot()
        assert np.allclose(display.margins, margins(model, X3, NAMES[Y3]).geometric, rtol=1e-12)
        edges = display.edges()
        assert 0.0 in edges
        assert display.counts_.tolist() == [
            int(((display.margins > low) & (display.margins <= high)).sum()) for low, high in pairwise(edges)
        ]
        red = sum(bar.get_height() for bar in display.ax_.patches if bar.get_hatch())
        assert red == (display.margins <= 0).sum() == (model.predict(X3) != NAMES[Y3]).sum()
        assert {to_rgb(bar.get_facecolor()[:3]) for bar in display.ax_.patches if bar.get_hatch()} == {
            to_rgb(style.MISTAKE_COLOR)
        }
        assert f"(example {display.margins.argmin()})" in "".join(legend(display.ax_))

    def test_scores_have_leads(self):
        display = p.MarginsDisplay.from_predictions(["b", "a", "b"], [2.0, -1.0, -0.5])
        assert display.margins.tolist() == [2.0, 1.0, -0.5]
        scores = [[3.0, 1.0, 2.5], [0.0, 1.0, 1.0]]
        several = p.MarginsDisplay.from_predictions(["a", "c"], scores, classes=["a", "b", "c"])
        assert several.margins.tolist() == [0.5, 0.0]
        assert not several.geometric

    @pytest.mark.parametrize("model", [KernelPerceptron(), Perceptron(combine="vote"), Perceptron(multiclass="ovo")])
    def test_models_without_a_hyperplane_show_by_how_much_scores_lead(self, model):
        model.fit(X3, Y3)
        display = p.MarginsDisplay.from_estimator(model, X3, Y3).plot()
        scores = model.decision_function(X3)
        others = np.where(np.arange(3) == Y3[:, None], -np.inf, scores).max(axis=1)
        assert np.allclose(display.margins, scores[np.arange(90), Y3] - others)
        assert "lead" in display.axes_[1].get_xlabel()

    def test_a_pipeline_is_measured_in_the_features_that_its_classifier_sees(self):
        model = make_pipeline(StandardScaler(), Perceptron()).fit(X2, Y2)
        expected = margins(model[-1], model[0].transform(X2), Y2).geometric
        assert np.array_equal(p.MarginsDisplay.from_estimator(model, X2, Y2).margins, expected)

    def test_all_on_one_side_and_all_at_0_are_drawn(self):
        for values in ([-1.0, -2.0], [0.0, 0.0], [1e-12], [0.0, 5.0]):
            display = p.MarginsDisplay(values).plot()
            assert display.counts_.sum() == len(values)
        with pytest.raises(ValueError, match="give one number per example,"):
            p.MarginsDisplay([])
        with pytest.raises(ValueError, match="do not match 2 classes"):
            p.MarginsDisplay.from_predictions([0, 1], np.ones((2, 3)))
        with pytest.raises(ValueError, match="bins=0"):
            p.MarginsDisplay([1.0]).plot(bins=0)


class TestPath:
    @pytest.mark.parametrize(("X", "y"), [(X2 + 4, Y2), (X3 + 1, Y3)])
    def test_it_ends_at_the_last_and_the_averaged_weights(self, X, y):
        model = rosenblatt(combine="vote", max_iter=4).fit(X, y)
        display = p.PathDisplay.from_estimator(model)
        last = np.hstack([model.coef_last_, model.intercept_last_[:, None]]).ravel()
        mean = np.hstack([model.coef_average_, model.intercept_average_[:, None]]).ravel()
        assert display.weights[-1].tolist() == last.tolist()  # exactly: sums of eighths
        assert np.allclose(display.averages[-1], mean, rtol=1e-12)
        assert len(display.weights) == model.n_updates_ + 1

    @pytest.mark.parametrize(("X", "y"), [(X2 + 4, Y2), (X3[:, :] * [[1.0, 2.0]], (Y3 > 0).astype(int))])
    def test_the_distance_to_a_solution_is_the_trace_of_the_theory(self, X, y):
        if (y == 1).sum() != 30:
            X = np.where(y[:, None] == 1, X - 5, X + 5)
        known = convergence(X, y, trace=True)
        display = p.PathDisplay.from_data(X, y, shuffle=False)
        assert known.rho == display.rho
        assert np.allclose(display.distances, known.trace, rtol=1e-9)
        assert (np.diff(display.distances) < 0).all()

    def test_the_path_of_a_plane_is_drawn_in_it(self):
        display = p.PathDisplay.from_data(pd.DataFrame(X2 + 4, columns=["age", "pulse"]), Y2).plot()
        path = next(line for line in display.ax_.lines if line.get_label() == "weights after each update")
        assert path.get_xydata().tolist() == display.weights[:, :2].tolist()
        assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("weight of age", "weight of pulse")
        assert title(display.plot_curves()).endswith("updates")
        assert [ax.get_ylabel() for ax in display.axes_] == ["length |w|", "angle to\nlargest margin", "|w − ρw*|²"]

    @pytest.mark.parametrize("how", [{"margin": 50.0}, {"batch_size": 8}, {"step": "pa"}])
    def test_the_distance_is_left_out_where_the_theorem_is_about_other_updates(self, how):
        display = p.PathDisplay.from_data(X2 + 4, Y2, max_iter=5, **how)
        assert display.solution is not None
        assert display.rho is display.distances is None

    def test_what_would_fill_the_memory_is_refused(self, monkeypatch):
        monkeypatch.setattr(updates, "MAX_REPLAYED_VALUES", 100)
        with pytest.raises(ValueError, match="updates of 2 features are too many to replay: use fewer"):
            p.PathDisplay.from_data(X3 + 1, Y3, max_iter=9)

    def test_without_updates_kept_there_is_no_path(self):
        with pytest.raises(ValueError, match="fit it with combine='vote'"):
            p.PathDisplay.from_estimator(Perceptron().fit(X2, Y2))
        with pytest.raises(TypeError, match="not a KernelPerceptron"):
            p.PathDisplay.from_estimator(KernelPerceptron(combine="vote").fit(X2, Y2))
        with pytest.raises(ValueError, match="only combine='vote' keeps every update"):
            p.PathDisplay.from_data(X2, Y2, combine="last")


class TestConfusionAndCalibration:
    def test_the_matrix_counts_and_zeros_are_left_out(self):
        model = Perceptron(max_iter=2).fit(X3, NAMES[Y3])
        display = p.confusion(model, X3, NAMES[Y3])
        predicted = model.predict(X3)
        expected = [[int(((NAMES[Y3] == a) & (predicted == b)).sum()) for b in NAMES] for a in NAMES]
        assert display.confusion_matrix.tolist() == expected
        shown = [[text.get_text() for text in row] for row in display.text_]
        assert shown == [[str(count) if count else "" for count in row] for row in expected]
        assert [label.get_text() for label in display.ax_.get_xticklabels()] == NAMES.tolist()
        shares = p.confusion(model, X3, NAMES[Y3], normalize="true")
        assert shares.text_[0, 0].get_text() == f"{100 * expected[0][0] / 30:.0f}%"

    def test_a_single_label_is_one_cell(self):
        X, y = X2[Y2 == 1], Y2[Y2 == 1]
        assert p.confusion(Perceptron().fit(X2, Y2), X, y).confusion_matrix.tolist() == [[30]]

    def test_labels_that_were_never_predicted_and_long_names_have_their_place(self):
        display = p.confusion_of(["a long name of a class" * 3, "b"], ["b", "b"])
        assert display.confusion_matrix.tolist() == [[0, 1], [0, 1]]
        assert max(len(label.get_text()) for label in display.ax_.get_yticklabels()) <= 16
        with pytest.raises(ValueError, match="no examples"):
            p.confusion_of([], [])

    def test_without_probabilities_it_says_what_to_do(self):
        with pytest.raises(ValueError, match=r"probability='sigmoid'"):
            p.calibration(Perceptron().fit(X2, Y2), X2, Y2)

    def test_a_curve_for_two_classes_and_one_for_each_of_more(self):
        two = p.calibration(CalibratedClassifierCV(Perceptron(), cv=3).fit(X2, Y2), X2, Y2, n_bins=3)
        assert [display.estimator_name for display in two] == ["1"]
        model = CalibratedClassifierCV(Perceptron(), cv=3).fit(X3, NAMES[Y3])
        several = p.calibration(model, X3, NAMES[Y3], n_bins=3)
        assert [display.estimator_name for display in several] == NAMES.tolist()
        assert len({display.ax_ for display in several}) == 1
        assert np.array_equal(several[1].y_prob, model.predict_proba(X3)[:, 1])


class TestStyle:
    def test_names_are_shortened_in_the_middle_and_dollars_are_no_mathematics(self):
        assert style.shorten("abcdefghij", 5) == "ab…ij"
        assert style.shorten("a\nb") == "a b"
        assert style.shorten("$x$") == r"\$x\$"
        assert style.shorten("") == "''"

    def test_two_colours_in_a_row_differ_in_grey_too(self):
        grey = [0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in map(to_rgb, style.COLORS)]
        assert abs(grey[0] - grey[1]) > 0.2

    def test_two_hundred_classes_look_each_like_no_other(self):
        looks = {(style.class_color(k), k % len(style.MARKERS)) for k in range(200)}
        assert len(looks) == 200
        assert all(style.class_marker(k) is style.class_marker(k + 20) for k in range(180))

    def test_a_format_that_is_none_is_refused(self):
        with pytest.raises(ValueError, match="format='bmp'"):
            p.picture(plt.figure(), "bmp")
