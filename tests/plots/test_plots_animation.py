"""The film of the boundary: every frame is the model after its updates, and its files are whole and their own."""

import json
import re
import shutil
import subprocess
import sys
from html import unescape

import numpy as np
import pytest
from PIL import Image

from perceptrons import Perceptron
from perceptrons.plots import BoundaryAnimation
from perceptrons.plots.animation import polygons
from perceptrons.plots.updates import Updates
from tests.images import clusters, plt
from tests.support.lecture import rosenblatt

X2, Y2 = clusters(2, 20, 2.5)
X3, Y3 = clusters(3, 20, 3.2)
X2 = X2 + np.array([6, 4])


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


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


def test_shrunk_weights_are_replayed_to_rounding_and_classes_that_came_late_too():
    model = Perceptron(combine="vote", shrink=0.01, max_iter=3).fit(X3, Y3)
    *_, last = Updates(model)
    faded = model.coef_last_[0, 0] / last.w[0, 0]  # by the examples after the last update
    assert np.allclose(last.w * faded, model.coef_last_)
    assert np.log(faded) / np.log(0.99) == pytest.approx(model.t_ - 1 - Updates(model).log[-1, 0])
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
        for k, region in enumerate(film.regions(frame)):
            assert (inside(region, points) == (winner == k)).all()


def inside(region, points):
    if not len(region):
        return np.zeros(len(points), bool)
    a, b = region, np.roll(region, -1, axis=0)
    turn = (b - a)[:, 0] * (points[:, None, 1] - a[:, 1]) - (b - a)[:, 1] * (points[:, None, 0] - a[:, 0])
    return (turn >= 0).all(axis=1) | (turn <= 0).all(axis=1)


def test_weights_of_zero_are_one_region_of_the_class_that_wins_ties():
    box = np.array([[0.0, 1.0], [0.0, 1.0]])
    assert [len(part) for part in polygons(np.zeros((1, 2)), np.zeros(1), box)] == [4, 0]
    assert [len(part) for part in polygons(np.zeros((1, 2)), np.zeros(1), box, positive_at_zero=True)] == [0, 4]
    assert [len(part) for part in polygons(np.zeros((3, 2)), np.array([0.0, 1.0, 1.0]), box)] == [0, 4, 0]


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
    shown = film._repr_html_()
    assert unescape(re.search(r'srcdoc="(.*?)" style', shown, re.S)[1]) == page


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
