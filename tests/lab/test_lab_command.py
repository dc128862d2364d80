"""`perceptrons lab` and `perceptrons.lab.show`: what is written, what is said, what is refused."""

import json
import re
import webbrowser

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from perceptrons.cli import lab as command
from perceptrons.lab import Lab, show


def data_of(html):
    """What the page starts with."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)[1])


def test_the_command_writes_one_page_without_opening_a_browser_where_nobody_is(run, tmp_path, monkeypatch):
    monkeypatch.setattr(webbrowser, "open", lambda address: pytest.fail("no browser may be opened"))
    page = tmp_path / "lab.html"
    code, out, err = run("lab", "-o", page)
    assert (code, err) == (0, "")
    assert re.fullmatch(r".*lab\.html: \d+ kB, everything inside; open it in a browser\.\n", out)
    assert page.read_text("utf-8") == show().html
    assert "own" not in data_of(page.read_text("utf-8"))
    assert run("lab", "--output", page, "--quiet") == (0, "", "")


def test_the_command_opens_the_browser_where_somebody_is(run, tmp_path, monkeypatch):
    addresses = []
    monkeypatch.setattr(webbrowser, "open", lambda address: addresses.append(address) or True)
    monkeypatch.setattr(command, "can_open", lambda: True)
    code, out, _ = run("lab", "-o", tmp_path / "a page.html")
    assert code == 0
    assert out.endswith("opened in your browser.\n")
    assert addresses == [(tmp_path / "a page.html").resolve().as_uri()]
    assert run("lab", "-o", tmp_path / "b.html", "--no-open")[1].endswith("open it in a browser.\n")
    assert len(addresses) == 1


def test_no_browser_is_opened_without_a_terminal_or_a_display(monkeypatch):
    class Terminal:
        def isatty(self):
            return True

    monkeypatch.setattr(webbrowser, "get", lambda: object())
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setenv("DISPLAY", ":0")
    assert command.can_open()
    monkeypatch.setattr(webbrowser, "get", lambda: (_ for _ in ()).throw(webbrowser.Error("none")))
    assert not command.can_open()
    monkeypatch.setattr(webbrowser, "get", lambda: object())
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not command.can_open()
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(Terminal, "isatty", lambda self: False)
    assert not command.can_open()


def test_the_page_starts_with_the_examples_of_a_file_in_their_own_units(run, tmp_path):
    (tmp_path / "flowers.csv").write_text("length,width,kind\n150,2,a\n100.5,1,b\n120,3,a\n")
    code, _, err = run("lab", tmp_path / "flowers.csv", "-o", tmp_path / "lab.html")
    assert (code, err) == (0, "")
    own = data_of((tmp_path / "lab.html").read_text("utf-8"))["own"]
    assert own["points"] == [[150, 2, 0], [100.5, 1, 1], [120, 3, 0]]
    assert (own["axes"], own["names"], own["note"]) == (["length", "width"], ["a", "b"], "")
    assert own["title"] == "flowers.csv"


def test_more_features_become_principal_components_and_the_command_says_so(run, tmp_path, rng):
    X = rng.standard_normal((30, 4)) * [5, 3, 1, 0.1]
    table = pd.DataFrame(X, columns=list("abcd")).assign(y=np.arange(30) % 2)
    table.to_csv(tmp_path / "t.csv", index=False)
    code, out, _ = run("lab", tmp_path / "t.csv", "-o", tmp_path / "lab.html")
    assert code == 0
    assert out.startswith("The axes are the first two principal components of 4 features, with ")


@pytest.mark.parametrize(
    ("content", "words"),
    [("a,b,y\n1,2,u\n3,4,v\n5,6,w\n7,8,z\n9,1,u\n9,2,v\n9,3,w\n9,9,z\n", "has 4 classes"),
     ("a,y\n1,0\n2,1\n3,0\n4,1\n", "one feature"),
     ("a,b,y\n1,2,0\n1e9,3,1\n2,2,0\n3,3,1\n", "beyond 1,000,000"), ("a,b,y\n1,2,x\n3,4,x\n", "only one class")],
)  # fmt: skip
def test_data_that_do_not_fit_a_plane_are_refused_in_one_line(run, tmp_path, content, words):
    (tmp_path / "t.csv").write_text(content)
    code, out, err = run("lab", tmp_path / "t.csv", "-o", tmp_path / "lab.html")
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
    assert not (tmp_path / "lab.html").exists()


def test_a_page_is_not_written_over_its_data(run, tmp_path):
    (tmp_path / "t.csv").write_text("a,b,y\n1,2,0\n3,4,1\n")
    code, _, err = run("lab", tmp_path / "t.csv", "-o", tmp_path / "t.csv")
    assert code == 2
    assert "would overwrite it" in err


def test_principal_components_keep_all_distances_of_a_plane_in_space(rng):
    plane = rng.standard_normal((40, 2)) * [3, 1]
    turned, _ = np.linalg.qr(rng.standard_normal((5, 5)))
    page = show(plane @ turned[:2] + 7, np.arange(40) % 3)
    shown = np.array(data_of(page.html)["own"]["points"])[:, :2]
    distances = [np.linalg.norm(one[:, None] - one[None], axis=2) for one in (plane, shown)]
    np.testing.assert_allclose(*distances, atol=1e-9)
    assert page.note.endswith("with 100.0% of the variance.")
    assert data_of(page.html)["own"]["axes"] == ["component 1", "component 2"]


def test_frames_sparse_matrices_and_lists_are_the_same_points():
    X, y = [[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]], ["b", "a", "b"]
    pages = [show(data, y) for data in (X, np.array(X), sp.csr_matrix(X), pd.DataFrame(X, columns=["x₁", "x₂"]))]
    assert len({page.html for page in pages}) == 1
    assert data_of(pages[0].html)["own"]["points"] == [[1, 0, 1], [0, 2, 0], [3, 4, 1]]


def test_of_many_examples_two_thousand_are_shown_and_the_page_says_so(rng):
    X, y = rng.standard_normal((3000, 2)), np.arange(3000) % 2
    page = show(X, y)
    points = data_of(page.html)["own"]["points"]
    assert page.note == "2,000 of 3,000 examples, drawn at random."
    assert len(points) == 2000
    assert {tuple(row) for row in np.c_[X, y].tolist()} >= {tuple(point) for point in points}
    assert show(X, y).html == page.html


def test_x_without_y_is_refused():
    with pytest.raises(ValueError, match="both X and y"):
        show([[1, 2]])
    with pytest.raises(ValueError, match="3 names, but X has 2 features"):
        show([[1, 2], [3, 4]], [0, 1], feature_names=["a", "b", "c"])


def test_a_page_is_saved_whole_and_shown_in_a_frame(tmp_path):
    page = show()
    assert isinstance(page, Lab)
    page.save(tmp_path / "lab.html")
    assert (tmp_path / "lab.html").read_text("utf-8") == page.html
    assert repr(page).startswith("<Lab, 1")
    frame = page._repr_html_()
    assert frame.startswith('<iframe sandbox="allow-scripts allow-downloads"')
    assert "<!doctype" not in frame
    with pytest.raises(FileNotFoundError, match="folder does not exist"):
        page.save(tmp_path / "none" / "lab.html")
    with pytest.raises(IsADirectoryError, match="not a regular file"):
        page.save(tmp_path)


def test_labels_cannot_end_the_data_of_the_page():
    html = show([[0, 0], [1, 1]], ["</script><script>alert(1)</script>", "b"]).html
    assert html.count("<script>") == 1
    assert data_of(html)["own"]["names"][0] == "</script><script>alert(1)</script>"


def test_the_page_needs_nothing_from_elsewhere():
    html = show().html
    assert not re.search(
        r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=|url\(|@import|\bimport\(|fetch\(""", html
    )
    assert len(html.encode()) < 200_000
