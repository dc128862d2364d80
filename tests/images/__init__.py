"""The pictures that image tests compare with, and how each is drawn. `python -m tests.images` draws them anew.

Data are whole numbers divided by 8, by rule and not at random, so that every machine draws the same.
"""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from PIL import Image
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from perceptrons import KernelPerceptron
from perceptrons import plots as p
from tests.support.lecture import rosenblatt

FOLDER = Path(__file__).parent
DPI = 60
BLOCK = 8  # pixels whose mean is compared: other versions of matplotlib draw letters and edges a little differently
TOLERANCE = 14.0  # of 255, root of the mean square difference of the blocks
INSIDE = {"weights": 14.0, "confusion": 9.0}  # without letters, 4.5: but bars and cells end at other pixels


def tolerances(name: str) -> tuple[float, float]:
    """How different a picture, and what is inside, may be: about twice what another way of drawing letters makes."""
    return TOLERANCE, INSIDE.get(name.split("-")[0], 4.5)


def clusters(k: int, n: int, spread: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """n points around each of k centres on a circle, and their classes."""
    around, turn = 2 * np.pi * np.arange(k) / k, 2.399963 * np.arange(n)  # the golden angle
    centres = (3 if k < 6 else 9) * np.stack([np.cos(around), np.sin(around)], 1)
    cloud = (spread * np.sqrt(np.arange(1, n + 1) / n))[:, None] * np.stack([np.cos(turn), np.sin(turn)], 1)
    X = np.round(8 * (centres[:, None] + cloud[None])) / 8
    return X.reshape(-1, 2), np.repeat(np.arange(k), n)


def ring() -> tuple[np.ndarray, np.ndarray]:
    turn = 2.399963 * np.arange(60)
    r = np.where(np.arange(60) % 2, 3.0, 1.2) + np.arange(60) % 7 / 6
    return np.round(8 * r[:, None] * np.stack([np.cos(turn), np.sin(turn)], 1)) / 8, np.arange(60) % 2


def boundary(k: int, spread: float) -> Any:
    X, y = clusters(k, 40 if k < 6 else 12, spread)
    names = np.array([f"class {label}" for label in range(k)])
    model = rosenblatt(combine="last", max_iter=20).fit(X, names[y])
    return p.BoundaryDisplay.from_estimator(model, X, names[y], resolution=120).plot().figure_


def kernel() -> Any:
    X, y = ring()
    return p.BoundaryDisplay.from_estimator(KernelPerceptron(max_iter=5).fit(X, y), X, y, resolution=120).plot().figure_


def history(**parameters: Any) -> Any:
    X, y = clusters(2, 60, 4.0)
    return p.HistoryDisplay.from_estimator(rosenblatt(tol=None, **parameters).fit(X, y)).plot().figure_


def bounded() -> Any:
    X, y = clusters(3, 40, 2.0)
    return p.HistoryDisplay.from_estimator(rosenblatt(tol=None).fit(X, y), X, y).plot().figure_


def weights(k: int, d: int, **how: Any) -> Any:
    w = np.sin(1 + np.arange(k * d) ** 1.5).reshape(k, d) * np.linspace(0.2, 1, d)
    labels = [f"class {label}" for label in range(max(2, k))]
    return p.WeightsDisplay(w, labels, names=[f"feature {j}" for j in range(d)]).plot(**how).figure_


def margins(k: int, spread: float) -> Any:
    X, y = clusters(k, 60, spread)
    return p.MarginsDisplay.from_estimator(rosenblatt(max_iter=10).fit(X, y), X, y).plot().figure_


def curves(k: int, kind: str) -> Any:
    X, y = clusters(k, 60, 4.0)
    names = np.array([f"class {label}" for label in range(k)])
    model = rosenblatt(max_iter=5).fit(X, names[y])
    return p.CurvesDisplay.from_estimator(model, X, names[y]).plot(kind=kind).figure_


def path(curves: bool) -> Any:
    X, y = clusters(2, 40, 2.5)
    display = p.PathDisplay.from_data(X + np.array([6, 4]), y)
    return (display.plot_curves() if curves else display.plot()).figure_


def confusion(k: int) -> Any:
    X, y = clusters(k, 60, 3.0)
    names = np.array([f"class {label}" for label in range(k)])
    return p.confusion(rosenblatt(max_iter=5).fit(X, names[y]), X, names[y]).figure_


class Softmax(ClassifierMixin, BaseEstimator):
    """Probabilities that are quick to find: the scores of a perceptron made positive, and to add up to 1."""

    def fit(self, X: Any, y: Any) -> Any:
        self.model_ = rosenblatt(max_iter=5).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        s = self.model_.decision_function(X)
        s = np.stack([-s, s], axis=1) if s.ndim == 1 else s
        e = np.exp(3 * (s - s.max(axis=1, keepdims=True)) / np.abs(s).max())
        return e / e.sum(axis=1, keepdims=True)


def calibration(k: int) -> Any:
    X, y = clusters(k, 60, 4.0)
    return p.calibration(Softmax().fit(X, y), X, y, n_bins=5)[0].figure_


def film(k: int, frame: int) -> Any:
    X, y = clusters(k, 20, 3.5)
    return p.BoundaryAnimation.from_data(X, y, max_iter=3).draw(frame).figure


LECTURE: dict[str, Any] = {"eta0": 0.1, "coef_init": [0.2, 0.0], "intercept_init": -0.1, "shuffle": False}
POINTS, SIGNS = [[1.0, 1.0], [2.0, 1.0], [1.5, 1.0], [1.0, 3.0]], [-1, 1, 1, 1]


def lecture(frame: int, **how: Any) -> Any:
    return p.BoundaryAnimation.from_data(POINTS, SIGNS, **LECTURE, **how).draw(frame).figure


def mapped() -> Any:
    X, y = ring()
    circle = make_pipeline(PolynomialFeatures(2, include_bias=False), rosenblatt(combine="vote", max_iter=5, tol=None))
    return p.BoundaryAnimation.from_estimator(circle.fit(X, y), X, y).draw(-2).figure


PICTURES: dict[str, Callable[[], Any]] = {
    "boundary-2": lambda: boundary(2, 2.5),
    "boundary-3": lambda: boundary(3, 3.2),
    "boundary-20": lambda: boundary(20, 1.2),
    "boundary-kernel": kernel,
    "history-1": lambda: history(max_iter=1),
    "history-many": lambda: history(max_iter=150, early_stopping=True, n_iter_no_change=150, margin=1.0),
    "history-bound": bounded,
    "losses": lambda: p.LossesDisplay.from_losses().plot().figure_,
    "weights-2": lambda: weights(1, 30),
    "weights-3": lambda: weights(3, 30, top=6),
    "weights-20": lambda: weights(20, 30, top=4),
    "weights-images-2": lambda: weights(1, 64, image_shape=(8, 8)),
    "weights-images-20": lambda: weights(20, 64, image_shape=(8, 8)),
    "margins-2": lambda: margins(2, 4.0),
    "margins-3": lambda: margins(3, 2.0),
    "margins-20": lambda: margins(20, 2.0),
    "curves-roc-2": lambda: curves(2, "roc"),
    "curves-roc-20": lambda: curves(20, "roc"),
    "curves-precision-2": lambda: curves(2, "precision_recall"),
    "curves-precision-3": lambda: curves(3, "precision_recall"),
    "path-plane": lambda: path(False),
    "path-curves": lambda: path(True),
    "confusion-2": lambda: confusion(2),
    "confusion-3": lambda: confusion(3),
    "confusion-20": lambda: confusion(20),
    "calibration-2": lambda: calibration(2),
    "calibration-3": lambda: calibration(3),
    "calibration-20": lambda: calibration(20),
    "film-2": lambda: film(2, -1),
    "film-3": lambda: film(3, -1),
    "film-20": lambda: film(20, -1),
    "film-lecture-start": lambda: lecture(0),
    "film-lecture-far": lambda: lecture(4),
    "film-lecture-right": lambda: lecture(3, every_visit=True),
    "film-map": mapped,
    "path-lecture": lambda: p.PathDisplay.from_data(POINTS, SIGNS, **LECTURE).plot().figure_,
}


def drawn(name: str) -> tuple[bytes, bytes]:
    """A picture as the bytes of a PNG, and what is inside its axes, without letters."""
    figure = PICTURES[name]()
    pngs = p.picture(figure, dpi=DPI), inside(figure)
    plt.close(figure)
    return pngs


def kept(name: str) -> tuple[bytes, bytes]:
    return (FOLDER / f"{name}.png").read_bytes(), (FOLDER / "inside" / f"{name}.png").read_bytes()


def inside(figure: Any) -> bytes:
    """What is inside each of the axes, all of one size: the same however wide letters are and where the axes lie."""
    for text in figure.findobj(Text):
        text.set_visible(False)
    for ax in figure.axes:
        if ax.get_legend() is not None:
            ax.get_legend().set_visible(False)
    figure.set_dpi(DPI)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    whole = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    shown = [ax for ax in figure.axes if ax.axison]
    width, height = (160, 120) if len(shown) <= 4 else (72, 56)
    columns = min(len(shown), 5)
    strip = Image.new("RGB", (columns * width, -(-len(shown) // columns) * height), "white")
    for i, ax in enumerate(shown):
        box = ax.get_window_extent()
        cut = whole.crop((round(box.x0), round(whole.height - box.y1), round(box.x1), round(whole.height - box.y0)))
        strip.paste(cut.resize((width, height), Image.Resampling.BOX), (i % columns * width, i // columns * height))
    buffer = BytesIO()
    strip.save(buffer, "PNG")
    return buffer.getvalue()


def difference(one: bytes, other: bytes) -> float:
    """How different two pictures look: 0 is equal; infinite where their sizes are."""
    a, b = (np.asarray(Image.open(BytesIO(png)).convert("RGB"), np.float64) for png in (one, other))
    if a.shape != b.shape:
        return np.inf
    return float(np.sqrt(((_blocks(a) - _blocks(b)) ** 2).mean()))


def _blocks(image: np.ndarray) -> np.ndarray:
    rows, columns = (side // BLOCK * BLOCK for side in image.shape[:2])
    return image[:rows, :columns].reshape(rows // BLOCK, BLOCK, columns // BLOCK, BLOCK, 3).mean(axis=(1, 3))
