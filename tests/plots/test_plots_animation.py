"""The film of the boundary: every frame is the model after its updates, and its files are whole and their own."""

import json
import re
import shutil
import subprocess
import sys
from html import unescape

import numpy as np
import pytest
from matplotlib.path import Path as PlotPath
from PIL import Image
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from perceptrons import Perceptron
from perceptrons.plots import BoundaryAnimation
from perceptrons.plots.regions import region_polygons
from perceptrons.plots.updates import Updates
from perceptrons.theory import trace
from tests.images import clusters, plt
from tests.support.lecture import rosenblatt
from tests.support.pages import Outline

X2, Y2 = clusters(2, 20, 2.5)
X3, Y3 = clusters(3, 20, 3.2)
X2 = X2 + np.array([6, 4])


@pytest.mark.parametrize(("X", "y"), [(X2, Y2), (X3, Y3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("parameters", [{}, {"fit_intercept": False}, {"init": "ones", "margin": 2.0}, {"eta0": 0.5}])
def test_replayed_weights_end_exactly_at_the_last(X, y, dtype, parameters):
    model = Perceptron(combine="vote", max_iter=3, **parameters).fit(X.astype(dtype), y)
    *_, last = Updates(model)
    assert last.w.dtype == dtype
    assert last.w.tolist() == model.coef_last_.tolist()
    assert last.b.tolist() == model.intercept_last_.tolist()
    assert last.k == model.n_updates_


def test_every_version_is_the_model_that_stopped_there():
    versions = {
        int(v.k): (v.w.copy(), v.b.copy())
        for v in Updates(rosenblatt(combine="vote", shuffle=False, max_iter=2).fit(X3, Y3))
    }
    model = rosenblatt(combine="last")
    for x, y in zip(np.tile(X3, (2, 1)), np.tile(Y3, 2), strict=True):
        model.partial_fit([x], [y], classes=[0, 1, 2])
        w, b = versions[model.n_updates_]
        assert w.tolist() == model.coef_.tolist()
        assert b.tolist() == model.intercept_.tolist()


def test_classes_that_came_late_are_replayed():
    with pytest.warns(UserWarning, match="sorted by label"):
        late = Perceptron(combine="vote").partial_fit(X3[:40], Y3[:40]).partial_fit(X3[40:], Y3[40:])
    *_, last = Updates(late)
    assert last.w.tolist() == late.coef_last_.tolist()


@pytest.mark.parametrize(("X", "y"), [(X2, Y2), (X3, Y3)])
def test_the_regions_of_a_frame_are_what_the_weights_predict(X, y):
    film = BoundaryAnimation.from_data(X, y, max_iter=3)
    rng = np.random.default_rng(0)
    points = film.box[:, 0] + rng.random((300, 2)) * np.ptp(film.box, axis=1)
    for frame in (film.frames[0], film.frames[1], film.frames[-1]):
        s = points @ frame.w.T + frame.b
        winner = (s[:, 0] > 0).astype(int) if len(frame.w) == 1 else s.argmax(axis=1)
        for k, rings in enumerate(film.regions(frame)):
            region = rings[0] if rings else []
            assert len(rings) <= 1
            assert (inside(region, points) == (winner == k)).all()


def inside(region, points):
    if not len(region):
        return np.zeros(len(points), bool)
    a, b = region, np.roll(region, -1, axis=0)
    turn = (b - a)[:, 0] * (points[:, None, 1] - a[:, 1]) - (b - a)[:, 1] * (points[:, None, 0] - a[:, 0])
    return (turn >= 0).all(axis=1) | (turn <= 0).all(axis=1)


LECTURE = {"eta0": 0.1, "coef_init": [0.2, 0.0], "intercept_init": -0.1, "shuffle": False}
POINTS, SIGNS = [[1, 1], [2, 1], [1.5, 1], [1, 3]], [-1, 1, 1, 1]


def scores_on_the_rim(frame, view):
    """Scores along the sides of a view, and so of all corners."""
    t = np.linspace(0, 1, 200)
    (left, right), (low, high) = view
    across, up = left + t * (right - left), low + t * (high - low)
    rim = [np.c_[across, 0 * t + low], np.c_[across, 0 * t + high], np.c_[0 * t + left, up], np.c_[0 * t + right, up]]
    return np.concatenate(rim) @ frame.w.T + frame.b


def test_every_frame_of_the_lectures_example_shows_the_line_and_all_examples():
    film = BoundaryAnimation.from_data(POINTS, SIGNS, **LECTURE)
    assert len(film.frames) == 16
    hidden = 0
    for number, (frame, view) in enumerate(zip(film.frames, film.views, strict=True)):
        s = scores_on_the_rim(frame, view)[:, 0]
        assert s.min() < 0 < s.max()
        drawn = film.draw(number)
        assert np.allclose([drawn.get_xlim(), drawn.get_ylim()], view)
        assert (np.min(POINTS, axis=0) > view[:, 0]).all()
        assert (np.max(POINTS, axis=0) < view[:, 1]).all()
        plain = scores_on_the_rim(frame, np.array([[0.92, 2.08], [0.84, 3.16]]))[:, 0]
        hidden += not plain.min() < 0 < plain.max()
    assert hidden == 11  # of these a box around the examples would show no line


def test_every_frame_of_the_page_has_both_regions_and_the_arrow_within_the_picture():
    page = BoundaryAnimation.from_data(POINTS, SIGNS, **LECTURE).html()
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])
    left, right, floor, top = data["area"]
    assert len(data["frames"]) == 16
    for frame in data["frames"]:
        assert all(region.startswith("M") for region in frame["r"])
        x1, y1, x2, y2 = frame["a"]
        assert left < min(x1, x2) <= max(x1, x2) < right
        assert top < min(y1, y2) <= max(y1, y2) < floor
    assert len({tuple(frame["v"]) for frame in data["frames"]}) > 8  # the view moves


def test_the_view_changes_by_and_by():
    film = BoundaryAnimation.from_data(POINTS, SIGNS, **LECTURE)
    sizes = np.array([np.ptp(view, axis=1) for view in film.views])
    assert (sizes.max(axis=0) > 1.2 * sizes.min(axis=0)).all()
    assert np.allclose(sizes[:, 0] / sizes[:, 1], sizes[0, 0] / sizes[0, 1])
    assert (np.abs(np.diff(np.log(sizes), axis=0)) < 0.25).all()


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_the_line_is_in_every_frame_at_any_scale_and_for_three_classes(scale):
    for X, y in ((X2, Y2), (X3, Y3)):
        film = BoundaryAnimation.from_data(X * scale, y, max_iter=2)
        for frame, view in zip(film.frames[1:], film.views[1:], strict=True):
            assert sum(map(bool, film.surface.regions(frame.w, frame.b, view))) > 1


def test_w_is_an_arrow_at_right_angles_to_the_boundary():
    film = BoundaryAnimation.from_data(POINTS, SIGNS, **LECTURE)
    for frame, view in zip(film.frames, film.views, strict=True):
        foot, tip = film.surface.arrow(frame.w, frame.b, view)
        assert frame.w[0] @ foot + frame.b[0] == pytest.approx(0, abs=1e-12)
        assert np.allclose((tip - foot) / np.linalg.norm(tip - foot), frame.w[0] / np.linalg.norm(frame.w[0]))
        assert ((view[:, 0] < tip) & (tip < view[:, 1])).all()


def test_a_frame_tells_the_numbers_of_its_update():
    film = BoundaryAnimation.from_data(POINTS, SIGNS, **LECTURE)
    assert film.frames[0].numbers(["-", "+"]) == "w, b: (0.2, 0), -0.1"
    assert film.frames[1].numbers(["-", "+"]) == "y·s = -0.1; w, b: (0.2, 0), -0.1 → (0.1, -0.1), -0.2"
    assert "y·s = -0.1; w, b: (0.2, 0), -0.1 → (0.1, -0.1), -0.2" in film.draw(1).get_title(loc="left")
    three = BoundaryAnimation.from_data(X3, Y3, max_iter=1).frames[1]
    assert three.numbers(["a", "b", "c"]).count("→") == 2


def test_a_long_title_is_wrapped_once_so_that_no_line_is_a_leftover_word():
    film = BoundaryAnimation.from_data(*clusters(3, 20, 3.5), max_iter=3)
    event, numbers, rest = film.draw().get_title(loc="left").splitlines()
    assert event.endswith("mistakes so far")
    assert f"{numbers} {rest}" == film.frames[-1].numbers(["0", "1", "2"])


def test_visits_that_were_right_are_frames_if_asked_for():
    film = BoundaryAnimation.from_data(POINTS, SIGNS, every_visit=True, **LECTURE)
    only = BoundaryAnimation.from_data(POINTS, SIGNS, **LECTURE)
    learned = [frame for frame in film.frames if frame.is_update]
    assert [frame.update for frame in learned] == [frame.update for frame in only.frames]
    assert np.allclose([frame.w for frame in learned], [frame.w for frame in only.frames], atol=1e-15)
    assert film.frames[3].text(15, ["-", "+"]) == "after 2 of 15 updates: + is right"
    assert film.frames[3].numbers(["-", "+"]).startswith("y·s = 0.35; ")
    assert film.note() == only.note() == ""
    assert BoundaryAnimation.from_trace(trace(POINTS, SIGNS, visits=2), POINTS, SIGNS).frames[2].example.tolist() == [
        2,
        1,
    ]
    with pytest.raises(ValueError, match="film is of two"):
        BoundaryAnimation.from_trace(trace([[1.0]], [1], visits=1), [[1.0]], [1])


def test_a_pipeline_with_a_feature_map_is_shown_in_the_original_plane():
    X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1.0]]), ["same", "other", "other", "same"]
    model = make_pipeline(PolynomialFeatures(2, include_bias=False), rosenblatt(combine="vote", tol=None)).fit(X, y)
    film = BoundaryAnimation.from_estimator(model, X, y)
    assert film.box.shape == (2, 2)
    assert all(frame.example is None or frame.example.tolist() in X.tolist() for frame in film.frames)
    last, view = film.frames[-1], film.views[-1]
    rng = np.random.default_rng(0)
    points = view[:, 0] + rng.random((400, 2)) * np.ptp(view, axis=1)
    scores = model[0].transform(points) @ last.w[0] + last.b[0]
    for k, rings in enumerate(film.regions(last, view)):
        there = np.zeros(len(points), bool)
        for ring in rings:
            there ^= PlotPath(ring).contains_points(points)
        clear = np.abs(scores) > 0.05
        assert np.array_equal(there[clear], (scores > 0)[clear] == k)
    foot, tip = film.surface.arrow(last.w, last.b, view)
    at = model[0].transform(np.array([foot, tip])) @ last.w[0] + last.b[0]
    assert abs(at[0]) < 0.01 < at[1]
    wide = model[0].transform(np.stack(np.meshgrid(*[np.linspace(-20, 20, 300)] * 2), axis=-1).reshape(-1, 2))
    for frame, one in zip(film.frames, film.views, strict=True):
        there = np.unique(np.sign(wide @ frame.w[0] + frame.b[0]))
        assert sum(map(bool, film.regions(frame, one))) == (2 if {-1, 1} <= set(there) else 1)
    with pytest.raises(ValueError, match="other examples than X"):
        BoundaryAnimation.from_estimator(model, X + 0.5, y)


def test_weights_of_zero_are_one_region_of_the_class_that_wins_ties():
    box = np.array([[0.0, 1.0], [0.0, 1.0]])
    assert [len(part) for part in region_polygons(np.zeros((1, 2)), np.zeros(1), box)] == [4, 0]
    assert [len(part) for part in region_polygons(np.zeros((1, 2)), np.zeros(1), box, positive_at_zero=True)] == [0, 4]
    assert [len(part) for part in region_polygons(np.zeros((3, 2)), np.array([0.0, 1.0, 1.0]), box)] == [0, 4, 0]


@pytest.mark.parametrize("parameters", [{}, {"margin": 1.0}])
@pytest.mark.parametrize(("X", "y"), [(X2, Y2), (X3, Y3)])
def test_mistakes_so_far_are_those_that_the_model_counted(X, y, parameters):
    model = rosenblatt(combine="vote", max_iter=3, **parameters).fit(X, y)
    film = BoundaryAnimation.from_estimator(model, X, y)
    assert film.frames[-1].mistakes == model.n_mistakes_
    assert film.frames[-1].update == film.updates == model.n_updates_
    assert (model.n_mistakes_ < model.n_updates_) == bool(parameters)
    right = [frame for frame in film.frames if frame.example is not None and frame.true == frame.predicted]
    assert len(right) == model.n_updates_ - model.n_mistakes_
    assert all("right, but within the margin" in frame.text(9, ["a", "b", "c"]) for frame in right)


def test_many_updates_are_thinned_out_and_it_says_so():
    film = BoundaryAnimation.from_data(X3, Y3, max_iter=20, most_frames=10)
    assert film.updates > 10 == len(film.frames)
    assert (film.frames[0].update, film.frames[-1].update) == (0, film.updates)
    assert film.note() == f"10 of {film.updates + 1} versions shown"
    assert "10 of" in film.draw().get_title(loc="left")
    assert f"{film.note()}." in film.html()


def test_a_gif_has_a_frame_an_update_and_the_same_bytes_again(tmp_path):
    film = BoundaryAnimation.from_data(X2, Y2, max_iter=1)
    for name in ("one.gif", "two.gif"):
        film.save(tmp_path / name, dpi=50)
    assert (tmp_path / "one.gif").read_bytes() == (tmp_path / "two.gif").read_bytes()
    with Image.open(tmp_path / "one.gif") as image:
        assert image.n_frames == len(film.frames)
        assert image.size == (320, 220)
        assert image.convert("RGB").getpixel((1, 1)) == (255, 255, 255)
    assert plt.get_fignums() == []


def test_an_mp4_is_written_through_ffmpeg(tmp_path, monkeypatch):
    stand_in = tmp_path / "ffmpeg"
    stand_in.write_text(
        f"#!{sys.executable}\nimport sys\n"
        "open(sys.argv[-1], 'wb').write(len(sys.stdin.buffer.read()).to_bytes(8, 'big'))\n"
    )
    stand_in.chmod(0o755)
    film = BoundaryAnimation.from_data(X2, Y2, max_iter=1)
    with plt.rc_context({"animation.ffmpeg_path": str(stand_in)}):
        film.save(tmp_path / "film.mp4", dpi=50, fps=2.5)
    assert int.from_bytes((tmp_path / "film.mp4").read_bytes(), "big") == len(film.frames) * 320 * 220 * 4


def test_without_ffmpeg_it_says_what_to_do_and_writes_nothing(tmp_path):
    with (
        plt.rc_context({"animation.ffmpeg_path": str(tmp_path / "none")}),
        pytest.raises(RuntimeError, match=r"MP4 needs the program ffmpeg.*\.gif or \.html"),
    ):
        BoundaryAnimation.from_data(X2, Y2).save(tmp_path / "film.mp4")
    assert list(tmp_path.iterdir()) == []


def test_the_page_holds_everything_and_asks_the_network_for_nothing(tmp_path):
    names = np.array(["</script><b>", '"&$x$'])
    film = BoundaryAnimation.from_data(X2, names[Y2], max_iter=3)
    film.save(tmp_path / "film.html")
    page = (tmp_path / "film.html").read_text(encoding="utf-8")
    assert page == film.html()
    assert not re.search(r"https?://|src=|@import|url\((?!#)", page)
    assert page.count("</script>") == 2
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    assert data["classes"] == film.classes.tolist() == sorted(names)
    assert len(data["frames"]) == len(film.frames)
    assert data["frames"][-1]["t"].endswith(f"{film.frames[-1].mistakes} mistakes so far.")
    assert page.count("<use ") == len(X2)
    (frame,) = Outline(film._repr_html_()).all("iframe")
    assert frame["srcdoc"] == page


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="no Chromium on this machine to open the page with")
def test_the_page_works_in_a_browser_by_keys_slider_and_buttons(tmp_path):
    film = BoundaryAnimation.from_data(X3, Y3, max_iter=2)
    acts = """<script>
    const log = [], key = name => document.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true}));
    const note = () => log.push(at("slider").value + ": " + at("text").textContent);
    note(); key("ArrowRight"); note(); key("End"); note(); key("ArrowLeft"); note(); key("Home");
    slider.value = 5; slider.dispatchEvent(new Event("input")); note();
    at("next").click(); note(); key(" "); log.push(play.textContent); play.click(); log.push(play.textContent);
    log.push(String(document.documentElement.scrollWidth <= window.innerWidth));
    document.body.innerHTML = "<pre id=log></pre>"; at("log").textContent = JSON.stringify(log);
    </script></body>"""
    (tmp_path / "film.html").write_text(film.html().replace("</body>", acts), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=500,800", "--enable-logging=stderr"]
    where = [f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", (tmp_path / "film.html").as_uri()]
    ran = subprocess.run(["chromium", *flags, *where], capture_output=True, text=True, timeout=300, check=True)
    log = json.loads(unescape(re.search(r'<pre id="log">(.*?)</pre>', ran.stdout, re.S)[1]))
    last = len(film.frames) - 1
    told = [
        f"{frame.text(film.updates, film.labels)}. {frame.mistakes} mistakes so far.".replace(
            ". 1 mistakes", ". 1 mistake"
        )
        for frame in film.frames
    ]
    assert log[:6] == [f"{i}: {told[i]}" for i in (0, 1, last, last - 1, 5, 6)]
    assert log[6:] == ["⏸ Pause", "▶ Play", "true"]
    assert "CONSOLE" not in ran.stderr


def test_what_is_no_film_is_refused(tmp_path):
    film = BoundaryAnimation.from_data(X2, Y2)
    with pytest.raises(ValueError, match=r"not the name of an animation: use \.gif, \.mp4 or \.html\."):
        film.save(tmp_path / "film.avi")
    with pytest.raises(ValueError, match="fps=0"):
        film.save(tmp_path / "film.gif", fps=0)
    with pytest.raises(ValueError, match="There is no frame 999"):
        film.draw(999)
    with pytest.raises(ValueError, match="The model has 3 features, but the animation needs two:"):
        BoundaryAnimation.from_data(np.eye(3), [0, 1, 0])
    with pytest.raises(ValueError, match="The model has 1 feature, but"):
        BoundaryAnimation.from_data([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="only one class"):
        BoundaryAnimation.from_data(X2, np.zeros(40))
    with pytest.raises(ValueError, match="most_frames=1"):
        BoundaryAnimation.from_data(X2, Y2, most_frames=1)
    with pytest.raises(ValueError, match="fit it with combine='vote'"):
        BoundaryAnimation.from_estimator(Perceptron().fit(X2, Y2), X2, Y2)
