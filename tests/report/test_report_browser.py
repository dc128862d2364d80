"""Pages in a real browser, opened from files: nothing in the console, nothing from the network, wide or narrow."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine
from sklearn.pipeline import make_pipeline

from perceptrons import KernelPerceptron, Perceptron
from perceptrons.features import HashedText
from perceptrons.plots import BoundaryAnimation
from perceptrons.report import report
from tests.conftest import gaussian
from tests.support.browser import browser, find_browser

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_browser() is None,
        reason="no Chromium or Chrome is installed (apt install chromium), so pages are not opened",
    ),
]
OVERFLOWS = """
[...document.querySelectorAll("main *")]
  .filter(part => part.getBoundingClientRect().right > innerWidth + 1 && !part.closest(".scroll, pre"))
  .map(part => part.outerHTML.slice(0, 80))
"""
COLLIDING = """
[...document.querySelectorAll("main tr")].flatMap(row => {
  const range = document.createRange();
  const boxes = [...row.querySelectorAll(".number, .bar")].map(part => {
    range.selectNodeContents(part);
    return part.matches(".bar") ? part.getBoundingClientRect() : range.getBoundingClientRect();
  }).filter(box => box.width);
  return boxes.filter((box, k) => boxes.some((other, j) => j > k && box.left < other.right && other.left < box.right
    && box.top < other.bottom && other.top < box.bottom)).map(() => row.textContent);
})
"""
BROKEN = """
(() => {
  const found = [], range = document.createRange();
  for (const name of document.querySelectorAll("main table bdi")) {
    const walker = document.createTreeWalker(name, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      for (const word of node.textContent.matchAll(/[\\p{L}\\p{N}]+/gu)) {
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const tops = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
        if (tops.size > 1) found.push(word[0]);
      }
    }
  }
  return found;
})()
"""
PALE = """
(() => {
  const light = colour => {
    const [r, g, b] = colour.match(/[0-9.]+/g).map(part => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = part => {
    for (; part; part = part.parentElement) {
      const colour = getComputedStyle(part).backgroundColor;
      if (!/, 0\\)$/.test(colour)) return /rgba/.test(colour) ? null : colour;
    }
    return "rgb(255, 255, 255)";
  };
  return [...document.querySelectorAll("main *")].filter(part => {
    const own = [...part.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    if (!own || !part.getClientRects().length) return false;
    const paper = behind(part);
    if (paper === null) return false;
    const [a, b] = [light(getComputedStyle(part).color), light(paper)].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05) < 4.5;
  }).map(part => part.outerHTML.slice(0, 120));
})()
"""


@pytest.fixture(scope="module")
def chromium():
    """One browser for all tests of a module."""
    with browser() as running:
        yield running


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page of images, one of texts, one of two features, and one of names that are long and odd."""
    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(0)
    X, y = load_digits(return_X_y=True)
    report(Perceptron(max_iter=3).fit(X[:300], y[:300]), X[300:500], y[300:500]).save(folder / "images.html")
    texts = [" ".join(rng.choice(["free", "cash", "see", "you", "at", "noon", "x" * 90], 12)) for _ in range(60)]
    labels = ["spam" if "free" in text.split()[:4] else "ham" for text in texts]
    model = make_pipeline(HashedText(words=(1, 2)), Perceptron(max_iter=2)).fit(texts[:30], labels[:30])
    report(model, texts, labels).save(folder / "texts.html")
    X, y = gaussian(rng, 150, 2, 3)
    report(KernelPerceptron(kernel="rbf", max_iter=3).fit(X, y), X, y).save(folder / "plane.html")
    X, y = gaussian(rng, 200, 6, 20)
    odd = np.array(
        [f"<script>throw {k}</script> {'very' * 12} long {k}" if k % 2 else f"ספר {k} 😀" for k in range(20)]
    )
    names = [f"feature {'n' * 40} <img src=x onerror=throw> {k}" for k in range(6)]
    report(Perceptron(max_iter=2).fit(X, odd[y]), X, odd[y], feature_names=names).save(folder / "odd.html")
    wine = load_wine()
    kinds = np.array(["Barolo", "Grignolino", "Barbera"])[wine.target]
    model = Perceptron(max_iter=9).fit(wine.data, kinds)
    report(model, wine.data, kinds, feature_names=wine.feature_names, max_seconds=1).save(folder / "scales.html")
    return folder


def test_the_browser_notices_errors_requests_and_pages_that_are_too_wide(chromium, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!DOCTYPE html><title>bad</title><main><p style='width:2000px;color:#ddd'>wide and pale</p>"
        "<img src='http://127.0.0.1:9/none.png'></main><script>console.error('oh'); throw new Error('no')</script>"
    )
    page = chromium.open(bad, 360)
    assert "http://127.0.0.1:9/none.png" in page.requests
    assert any("oh" in what for what in page.complaints)
    assert any("Uncaught" in what for what in page.complaints)
    assert page.ask("document.documentElement.scrollWidth") > 360
    assert len(page.ask(OVERFLOWS)) == 1
    assert len(page.ask(PALE)) == 1
    page.close()


@pytest.mark.parametrize("name", ["images", "texts", "plane", "odd"])
def test_a_report_opens_from_a_file_without_a_complaint_or_a_request(chromium, pages, name):
    page = chromium.open(pages / f"{name}.html")
    assert page.requests == [page.address]
    assert page.complaints == []
    assert page.ask("document.querySelectorAll('h1').length") == 1
    assert page.ask("document.querySelectorAll('main section h2').length") >= 7
    assert page.ask("document.images.length") >= 2
    assert page.ask("[...document.images].filter(image => !image.naturalWidth || !image.alt).length") == 0
    assert page.ask("document.scripts.length") == 0
    assert (
        page.ask("document.characterSet + document.compatMode + document.documentElement.lang") == "UTF-8CSS1Compaten"
    )
    page.close()


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("name", ["images", "texts", "plane", "odd"])
def test_a_report_is_never_wider_than_the_screen(chromium, pages, name, width):
    page = chromium.open(pages / f"{name}.html", width)
    assert page.ask("innerWidth") == width
    assert page.ask("document.documentElement.scrollWidth") <= width
    assert page.ask(OVERFLOWS) == []
    page.ask("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.ask("document.documentElement.scrollWidth") <= width
    assert page.ask(OVERFLOWS) == []
    page.close()


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
@pytest.mark.parametrize("name", ["texts", "plane", "odd", "scales"])
def test_no_number_lies_on_a_bar_and_no_name_in_a_table_breaks_within_a_word(chromium, pages, name, width):
    page = chromium.open(pages / f"{name}.html", width)
    page.ask("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.ask("document.querySelectorAll('main tr .number').length") > 4
    assert page.ask(COLLIDING) == []
    assert page.ask(BROKEN) == []
    assert page.ask("document.documentElement.scrollWidth") <= width
    page.close()


def test_collisions_and_broken_words_are_noticed(chromium, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!DOCTYPE html><title>bad</title><main><table style='table-layout:fixed;width:90px'><tr>"
        "<th style='overflow-wrap:anywhere'><bdi>proanthocyanins</bdi></th>"
        "<td class='number' style='white-space:nowrap'>+1.234e+56789</td>"
        "<td><span class='bar' style='display:block;height:9px;background:red'></span></td></tr></table></main>"
    )
    page = chromium.open(bad)
    assert len(page.ask(COLLIDING)) == 1
    assert page.ask(BROKEN) == ["proanthocyanins"]
    page.close()


def test_both_curves_have_words_for_who_cannot_see_them_and_stand_side_by_side_where_there_is_room(chromium, pages):
    for width, beside in ((1280, True), (390, False)):
        page = chromium.open(pages / "scales.html", width)
        alts = page.ask("[...document.querySelectorAll('#curves ~ .side-by-side img')].map(image => image.alt)")
        assert [alt.split(" of ")[0] for alt in alts] == ["ROC curve", "Precision-recall curve"]
        tops = page.ask(
            "[...document.querySelectorAll('.side-by-side img')].map(image => image.getBoundingClientRect().top)"
        )
        assert (tops[0] == tops[1]) == beside
        page.close()


@pytest.mark.parametrize("dark", [False, True])
def test_words_stand_out_from_their_paper_by_day_and_by_night(chromium, pages, dark):
    page = chromium.open(pages / "texts.html", dark=dark)
    dimmest = page.ask("getComputedStyle(document.body).backgroundColor")
    assert (dimmest == "rgb(255, 255, 255)") != dark
    assert page.ask(PALE) == []
    page.close()


def test_the_list_of_contents_leads_to_its_sections(chromium, pages):
    page = chromium.open(pages / "texts.html")
    page.ask("document.documentElement.style.scrollBehavior = 'auto'")
    page.ask("document.querySelector('nav li:nth-child(4) a').click()")
    top = page.ask("document.querySelector(location.hash).getBoundingClientRect().top")
    assert abs(top) < 40
    page.close()


def test_a_report_shows_itself_in_the_frame_of_a_notebook(chromium, tmp_path):
    X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 0.0]], ["a", "b", "b"]
    page = report(Perceptron().fit(X, y), X, y, title="In a frame")
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!DOCTYPE html><title>n</title><p id='own'>mine</p>{page._repr_html_()}", "utf-8")
    opened = chromium.open(notebook)
    assert opened.complaints == []
    assert opened.ask("document.querySelector('iframe').getBoundingClientRect().height") > 300
    assert opened.ask("getComputedStyle(document.getElementById('own')).maxWidth") == "none"  # no style leaks out
    opened.close()


def test_the_page_of_an_animation_plays_and_its_slider_changes_the_frame(chromium, rng, tmp_path):
    X, y = gaussian(rng, 30, 2, 2)
    path = tmp_path / "film.html"
    BoundaryAnimation.from_data(X, y, max_iter=2).save(path)
    page = chromium.open(path, 360)
    assert page.requests == [page.address]
    assert page.ask("document.documentElement.scrollWidth") <= 360
    state = "[document.getElementById('text').textContent, document.getElementById('region0').getAttribute('points')]"
    first = page.ask(state)
    page.ask("document.getElementById('slider').focus()")
    page.press("ArrowRight")
    second = page.ask(state)
    assert second[0] != first[0]
    page.ask("(s => { s.value = s.max; s.dispatchEvent(new Event('input')); })(document.getElementById('slider'))")
    last = page.ask(state)
    assert last != first
    assert last[0] != second[0]
    assert page.complaints == []
    page.close()
