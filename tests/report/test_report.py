"""`perceptrons.report` and `perceptrons report`: what is on the page, for all kinds of models, data and names."""

import base64
import gzip
import io
import json
import re
import shlex
from xml.etree import ElementTree

import numpy as np
import pytest
import scipy.sparse as sp
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import perceptrons
from perceptrons import KernelPerceptron, Perceptron, SequencePerceptron
from perceptrons.features import HashedText
from perceptrons.report import Origin, report
from perceptrons.report.mistakes_section import mark_words, word_contributions
from perceptrons.report.page import grey_image, signed_image
from perceptrons.report.reproduce_section import as_command
from perceptrons.report.subject import find_image_shape
from tests.conftest import gaussian
from tests.support.pages import Outline

ALLOWED = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "nav", "section", "h1", "h2", "h3", "p", "div",
    "span", "strong", "b", "bdi", "code", "pre", "br", "wbr", "ul", "ol", "li", "a", "dl", "dt", "dd", "table", "thead",
    "tbody", "tr", "th", "td", "figure", "figcaption", "img", "details", "summary", "article", "blockquote", "mark",
}  # fmt: skip
HOSTILE = [
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a&amp;b 'c'", "שלום \u202e עולם", "😀 👩\u200d🔬",
    "\x01\x1b[31m\ud800",
]  # fmt: skip


@pytest.fixture
def pictures():
    """For tests that need real pictures: drawing them is most of the work."""


@pytest.fixture(autouse=True)
def drawn_quickly(request, monkeypatch):
    if "pictures" not in request.fixturenames:
        plain = b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'
        monkeypatch.setattr("perceptrons.report.page.render", lambda display, **how: (plain, "image/svg+xml"))


@pytest.fixture
def blobs(rng):
    return gaussian(rng, 120, 2, 3)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


class Saved:
    """A page that the command wrote."""

    def __init__(self, path):
        self.html = path.read_text("utf-8")


def outline(page):
    found = Outline(page.html)
    assert {tag for tag, _ in found.elements} <= ALLOWED
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [attributes["href"] for attributes in found.all("a")]
    assert links
    assert all(link.startswith("#") and link[1:] in ids for link in links)
    assert all(image["alt"] for image in found.all("img"))
    assert not any(name.startswith("on") for _, attributes in found.elements for name in attributes)
    assert "http:" not in page.html
    assert "https:" not in page.html
    for media, content in found.pictures():
        if media == "image/svg+xml":
            ElementTree.fromstring(content)
        else:
            assert content.startswith(b"\x89PNG")
    return found


def test_the_page_has_the_figures_the_sections_and_the_pictures(blobs, pictures):
    X, y = blobs
    model = Perceptron(max_iter=7, tol=None).fit(X, y)
    page = report(model, X, y, title="Three clouds", feature_names=["left", "up"])
    found, right = outline(page), int((model.predict(X) == y).sum())
    assert found.text.count("Three clouds") == 1
    for part in (
        f"{right} of 120 right", "95% interval", "always predicting", "Examples by class",
        "The maximum of 7 epochs was reached",
        "precision recall F1", "Most important features", "The worst mistakes", "Decision boundary", "Margins",
        "Metrics and curves", "Matthews correlation", "ROC AUC",
        "Perceptron(max_iter=7, tol=None)", "perceptrons train DATA --max-iter 7 --tol 0 -o MODEL", "scikit-learn",
    ):  # fmt: skip
        assert part in found.text, part
    assert len(found.pictures()) == 5  # history, ROC and precision-recall curves, boundary, margins
    assert [name for name in ("left", "up") if name not in found.text] == []


def test_the_same_model_and_examples_give_the_same_bytes(blobs, pictures):
    X, y = blobs
    model = Perceptron(max_iter=3).fit(X, y)
    assert report(model, X, y).html == report(model, X.copy(), y.copy()).html


def test_the_interval_and_the_baseline_are_those_of_the_answers():
    X, y = np.array([[1.0, 0.0]] * 8 + [[0.0, 1.0]] * 2), ["no"] * 7 + ["yes"] + ["yes"] * 2
    model = Perceptron().fit([[1.0, 0.0], [0.0, 1.0]], ["no", "yes"])
    text = outline(report(model, X, y)).text
    assert "90.0% 9 of 10 right" in text
    assert "59.6% to 98.2%" in text  # Wilson's, by hand
    assert "70.0% always predicting no" in text
    assert "8 in 1 group: no classifier can be right on all of these, so 90.0% is the best accuracy possible" in text


def test_mistakes_come_the_worst_first_with_their_place(rng):
    X = np.array([[2.0], [5.0], [-1.0], [3.0]])
    model = Perceptron(combine="last", fit_intercept=False).fit([[1.0], [-1.0]], ["up", "down"])
    text = outline(report(model, X, ["down", "down", "up", "up"], lines=[11, 12, 13, 14])).text
    assert text.index("line 12; score") < text.index("line 11; score") < text.index("line 13; score")
    assert "line 14; score" not in text
    everything_right = outline(report(model, X, ["up", "up", "down", "up"])).text
    assert "There are none: every prediction is right." in everything_right


def test_a_page_says_if_its_examples_may_be_those_learned_from(blobs):
    X, y = blobs
    model = Perceptron(max_iter=5).fit(X[:80], y[:80])
    assert "exactly as many examples here as in the training set." in outline(report(model, X[:80], y[:80])).text
    assert "cannot know whether the model was trained on" in outline(report(model, X[80:], y[80:])).text


def test_a_second_look_at_test_data_cannot_be_overlooked(blobs):
    X, y = blobs
    model = Perceptron().fit(X, y)
    interval = {"low": 0.8, "high": 0.95, "level": 0.95, "method": "Wilson"}
    model.recipe_ = {
        "split": "stratified", "sizes": {"train": 72, "dev": 24, "test": 24}, "metric": "accuracy", "dev_score": 0.9375,
        "test_score": 0.875, "test_interval": interval, "looks": 1, "settings_tried": 4,
    }  # fmt: skip
    once = outline(report(model, X, y))
    assert "Test accuracy 0.8750 (95% interval 0.8000 to 0.9500)" in once.text
    assert "were looked at" not in once.text
    assert "After tuning, it was tested on 24 held-out examples: accuracy 0.8750" in once.text
    split = Perceptron(max_iter=4).fit(X[:96], y[:96])
    split.recipe_ = model.recipe_
    whole = outline(report(split, X, y)).text
    assert "Mind: this model was tuned on exactly as many examples" in whole
    assert "96 of them were used for training or validation," in whole
    model.recipe_ = {**model.recipe_, "looks": 3}
    again = outline(report(model, X, y))
    assert "Mind: the test set of the tuning was used 3 times" in again.text


def test_a_proof_is_given_for_examples_that_cannot_be_separated():
    X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0]
    text = outline(report(Perceptron(max_iter=3).fit(X, y), X, y)).text
    assert "These examples are not linearly separable" in text
    assert "4 examples that cancel out" in text
    X, y = [[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]], [0, 0, 1, 1]
    model = Perceptron().fit(X, y)
    text = outline(report(model, X, y)).text
    assert "These examples are linearly separable" in text
    allowed = re.search(r"model can have made at most ([\d,]+) updates; it made ([\d,]+)", text)
    assert int(allowed[1].replace(",", "")) >= int(allowed[2]) == model.n_updates_


@pytest.mark.parametrize(
    "model",
    [
        Perceptron(max_iter=3, combine="vote"), Perceptron(max_iter=3, multiclass="ovo"),
        Perceptron(max_iter=3, combine="pocket"), KernelPerceptron(kernel="rbf", max_iter=3),
        KernelPerceptron(kernel="poly", multiclass="ovr", combine="vote", max_iter=3),
        Perceptron(step="arow", max_iter=3),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("sparse", [False, True])
def test_every_kind_of_model_has_a_page(model, sparse, blobs):
    X, y = blobs
    X = sp.csr_matrix(np.c_[X, np.zeros(len(X)), np.abs(X)]) if sparse else X
    found = outline(report(model.fit(X, y), X, y))
    assert ("support vectors" in found.text) == isinstance(model, KernelPerceptron)


def test_models_that_learned_bit_by_bit_have_a_page(blobs):
    X, y = blobs
    text = outline(report(Perceptron().partial_fit(X, y, classes=[0, 1, 2]), X, y)).text
    assert "no stopping rule applied" in text
    assert "no training history to draw." in text
    kernel_values = X @ X.T
    model = KernelPerceptron(kernel="precomputed", max_iter=3).fit(kernel_values, y)
    outline(report(model, kernel_values, y))


def test_images_are_recognised_and_shown_as_images(digits):
    X, y = digits
    model = Perceptron(max_iter=3).fit(X[:200], y[:200])
    found = outline(report(model, X[200:], y[200:]))
    assert "images of 8 × 8 pixels" in found.text
    wrong = int((model.predict(X[200:]) != y[200:]).sum())
    small = [content for media, content in found.pictures() if media == "image/png" and len(content) < 1000]
    assert len(small) == 2 * min(wrong, 12)  # the image, and which pixels spoke for the answer
    assert "images of" not in outline(report(model, X[200:], y[200:], image_shape=None)).text
    assert "images of 4 × 16 pixels" in outline(report(model, X[200:], y[200:], image_shape=(4, 16))).text


def test_shuffled_pixels_negative_numbers_and_telling_names_are_no_images(digits, rng):
    class Unnamed:
        are_known = False

    class Named:
        are_known = True

        def __init__(self, name):
            self.name = name

        def of_columns(self, columns):
            return [self.name.format(column) for column in columns], None

    X, _ = digits
    assert find_image_shape("auto", X, Unnamed) == (8, 8)
    assert find_image_shape("auto", sp.csr_matrix(X), Unnamed) == (8, 8)
    assert find_image_shape("auto", X, Named("pixel{}")) == find_image_shape("auto", X, Named("column {}")) == (8, 8)
    assert find_image_shape("auto", X, Named("word {}a")) is None
    assert find_image_shape("auto", X[:, rng.permutation(64)], Unnamed) is None
    assert find_image_shape("auto", X - 1, Unnamed) is None
    assert find_image_shape("auto", X[:, :63], Unnamed) is None
    assert find_image_shape("auto", rng.random((50, 64)), Unnamed) is None


def test_small_images_are_pngs_in_grey_or_orange_and_blue():
    def pixels(uri):
        content = base64.b64decode(uri.removeprefix("data:image/png;base64,"))
        return np.asarray(Image.open(io.BytesIO(content))).tolist()

    assert pixels(grey_image(np.array([[0.0, 1.0], [2.0, 4.0]]), 0.0, 4.0)) == [[255, 191], [128, 0]]
    white, orange, blue = [255, 255, 255], [213, 94, 0], [0, 114, 178]
    assert pixels(signed_image(np.array([[0.0, 3.0], [-3.0, 0.0]]), 3.0)) == [[white, orange], [blue, white]]


def test_texts_are_shown_as_texts_with_the_words_that_decided():
    texts = ["win a free prize", "free cash", "see you at noon", "noon is fine", "a free noon"]
    model = make_pipeline(HashedText(), Perceptron()).fit(texts[:4], ["spam", "spam", "ham", "ham"])
    said = model.predict(texts[4:])[0]
    other = "ham" if said == "spam" else "spam"
    found = outline(report(model, texts, ["spam", "spam", "ham", "ham", other]))
    marks = dict(zip([text for tag, text in found.texts if tag == "mark"],
                     [mark["class"] for mark in found.all("mark")], strict=True))  # fmt: skip
    speaks = {"spam": "for", "ham": "against"} if said == "spam" else {"spam": "against", "ham": "for"}
    assert marks["free"] == speaks["spam"]
    assert marks["noon"] == speaks["ham"]
    assert "a free noon" in found.text
    assert "HashedText → Perceptron" in found.text


def test_words_count_alone_and_as_parts_of_runs():
    scores = word_contributions(
        ["a", "new", "york", "new"], [("new york", 4.0), ("new", -1.0), ("‹yo", 9.0), ("text=a | b", 0.5)]
    )
    assert scores == [0.5, 1.0, 2.0, -1.0]


def test_a_long_text_is_cut_around_its_first_mark():
    text = "x " * 1000 + "decisive " + "y " * 1000
    pieces = mark_words(text, [("decisive", 1.0)])
    assert ("for", "decisive") in pieces
    shown = "".join(piece for _, piece in pieces)
    assert shown.startswith("… x")
    assert shown.endswith("y …")
    assert len(shown) < 600


def test_names_labels_and_texts_of_users_are_harmless(rng, pictures):
    X, y = gaussian(rng, 60, 3, len(HOSTILE))
    labels = np.array(HOSTILE, object)[y]
    model = Perceptron(max_iter=2).fit(X, labels)
    names = [f"{HOSTILE[0]}1", HOSTILE[1], HOSTILE[4]]
    texts = [HOSTILE[k % len(HOSTILE)] + " free text" for k in range(60)]
    origin = Origin(f"perceptrons report {HOSTILE[0]}", (("model", HOSTILE[1], None), ("data", HOSTILE[0], "0" * 64)))
    for extra in ({"examples": texts}, {}):
        page = report(model, X, labels, feature_names=names, title=HOSTILE[1], origin=origin, features=(0, 2), **extra)
        text = outline(page).text
        for part in HOSTILE[:3]:
            assert part in text, part
        assert "שלום" in text
        assert "😀" in text
        page.html.encode()  # no lone surrogate
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", page.html)
    frame = page._repr_html_()
    (attributes,) = Outline(frame).all("iframe")
    assert attributes["srcdoc"] == page.html
    assert attributes["sandbox"] == ""


def test_many_classes_are_shown_by_the_worst(rng):
    X, y = gaussian(rng, 400, 8, 40)
    found = outline(report(Perceptron(max_iter=2).fit(X, y), X, y))
    assert "The 20 classes of 40 with the lowest F1" in found.text
    assert "20 more classes" in found.text
    assert "The most frequent of" in found.text
    assert not any(attributes.get("class") == "confusion" for attributes in found.all("table"))


def test_labels_that_the_model_does_not_know_are_mistakes(blobs):
    X, y = blobs
    model = Perceptron().fit(X, y)
    strange = np.where(np.arange(len(y)) < 6, 7, y)
    text = outline(report(model, X, strange)).text
    assert "6 examples with labels that the model does not know (7) count as mistakes" in text
    assert f"{int((model.predict(X) == strange).sum())} of 120 right" in text


def test_features_of_many_scales_are_weighed_by_their_deviations(rng):
    X, y = gaussian(rng, 100, 2, 2)
    X = np.c_[X, np.ones(100)] * [1, 1000, 1]
    text = outline(report(Perceptron().fit(X, y), X, y, feature_names=["m", "mm", "one"])).text
    assert "Mind: the features differ widely in scale: mm reaches" in text
    assert "weight × deviation" in text
    assert "1 feature is constant and adds nothing: one." in text


def test_what_no_page_can_be_about_is_refused(blobs):
    X, y = blobs
    several = Perceptron().fit(X, np.c_[y == 0, y == 1].astype(int))
    tagger = SequencePerceptron(max_iter=1).fit([[["a"], ["b"]]], [["X", "Y"]])
    model = Perceptron().fit(X, y)
    for call, kind, words in (
        (lambda: report(several, X, y), ValueError, "one label per example, but this model predicts several"),
        (
            lambda: report(several, X, [[7], [8, 9]] * 60),
            ValueError,
            "None of the labels \\(7, 8, 9\\) is a label of the",
        ),
        (lambda: report(tagger, X, y), TypeError, "not a SequencePerceptron.*tag evaluate"),
        (lambda: report(StandardScaler().fit(X), X, y), TypeError, "not a StandardScaler"),
        (lambda: report(Perceptron(), X, y), ValueError, "not fitted"),
        (lambda: report(model, X[:0], y[:0]), ValueError, "no examples"),
        (lambda: report(model, X, np.full(120, "x")), ValueError, "None of the labels"),
        (lambda: report(model, X, y, feature_names=["a"]), ValueError, "1 feature_names for 2 features"),
        (lambda: report(model, X, y, examples=["a"]), ValueError, "1 examples for 120 rows"),
        (lambda: report(model, X, y, image_shape=(3, 3)), ValueError, "9 pixels, and there are 2 features"),
        (lambda: report(model, X, y, image_shape="square"), ValueError, "give \\(rows, columns\\)"),
        (lambda: report(model, X, y, features=("a", "b")), ValueError, "no feature 'a'"),
        (lambda: report(model, X, y, features=(1, 1)), ValueError, "two different"),
        (lambda: report(model, X, y, max_seconds=0), ValueError, "above 0"),
        (lambda: report(model, X, np.c_[y == 0, y == 1].astype(int)), ValueError, "several labels"),
    ):
        with pytest.raises(kind, match=words):
            call()


def test_a_page_is_saved_whole_or_not_at_all(blobs, tmp_path, monkeypatch):
    X, y = blobs
    page = report(Perceptron().fit(X, y), X, y)
    path = tmp_path / "page.html"
    page.save(path)
    assert path.read_text("utf-8") == page.html
    assert f"{len(path.read_bytes()):,} bytes" in repr(page)
    with pytest.raises(FileNotFoundError, match="the folder"):
        page.save(tmp_path / "none" / "page.html")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        page.save(tmp_path)
    path.write_text("old")
    monkeypatch.setattr("os.replace", lambda *paths: (_ for _ in ()).throw(OSError("no")))
    with pytest.raises(OSError, match="no"):
        page.save(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


# ---- the command


def messages(n=30):
    spam, ham = "free cash now, win a prize", "see you at noon"
    return "".join(f"spam\t{spam} {k}\nham\t{ham} {k}\n" for k in range(n))


def test_the_command_writes_the_page_of_a_table(run, blobs, tmp_path):
    X, y = blobs
    data, model, page = tmp_path / "t.csv", tmp_path / "m.model", tmp_path / "r.html"
    rows = "\n".join(f"{a:.4f},{b:.4f},c{label}" for (a, b), label in zip(X, y, strict=True))
    data.write_text(f"left,up,kind\n{rows}\n")
    assert run("train", data, "-o", model, "--quiet", "--test-share", "0")[0] == 0
    code, out, err = run("report", model, data, "-o", page)
    assert (code, err) == (0, "")
    assert out.startswith(f"{page}: ")
    text = outline(Saved(page)).text
    for part in (
        "m.model on t.csv",
        "left",
        "c0",
        "Decision boundary",
        f"perceptrons report {model} {data} -o {page}",
        "SHA-256",
    ):
        assert part in text, part
    first = page.read_bytes()
    assert run("report", model, data, "-o", page, "--quiet") == (0, "", "")
    assert page.read_bytes() == first


def test_the_command_shows_the_lines_of_texts_packed_or_not(run, tmp_path):
    model, page = tmp_path / "m.model", tmp_path / "r.html"
    data = tmp_path / "train.txt"
    data.write_text(messages())
    assert run("train", data, "--format", "text", "--epochs", "2", "-o", model, "--quiet")[0] == 0
    content = messages(3) + "ham\tWin <b>FREE</b> cash NOW & ever\n\nspam\tsee you at noon é\n"
    (tmp_path / "test.txt").write_text(content)
    (tmp_path / "test.txt.gz").write_bytes(gzip.compress(content.encode()))
    for name in ("test.txt", "test.txt.gz"):
        assert run("report", model, tmp_path / name, "-o", page, "--quiet") == (0, "", "")
        found = outline(Saved(page))
        assert "Win <b>FREE</b> cash NOW & ever" in found.text
        assert "line 7; score" in found.text
        assert "line 9; score" in found.text
        assert "see you at noon é" in found.text
        assert "--format text" in found.text


@pytest.mark.parametrize("kind", ["csv", "jsonl", "fasttext", "vw"])
def test_texts_are_found_in_tables_and_other_lines(run, kind, tmp_path):
    lines = [line.split("\t") for line in messages().splitlines()]
    odd = ["spam", 'noon, "at" noon']
    if kind == "csv":
        content = "id,body,label\n" + "".join(f'{k},"{text}",{label}\n' for k, (label, text) in enumerate(lines))
        more, options = (
            '99,"noon, ""at"" noon",spam\n',
            ["--text-column", "body", "--label-column", "label", "--ignore", "id"],
        )
    elif kind == "jsonl":
        content = "".join(f'{{"label": "{label}", "body": "{text}"}}\n' for label, text in lines)
        more = '{"label": "spam", "body": "noon, \\"at\\" noon"}\n'
        options = ["--text-column", "body", "--label-column", "label"]
    elif kind == "vw":
        content = "".join(f"{1 if label == 'spam' else -1} |w {text.replace(',', '')}\n" for label, text in lines)
        more, options, odd = "1 |w noon at noon\n", ["--format", "vw"], ["1", "|w noon at noon"]
    else:
        content = "".join(f"__label__{label} {text}\n" for label, text in lines)
        more, options = '__label__spam noon, "at" noon\n', ["--format", "text"]
    ending = {"fasttext": "txt"}.get(kind, kind)
    train, test, model, page = (tmp_path / name for name in (f"a.{ending}", f"b.{ending}", "m.model", "r.html"))
    train.write_text(content)
    test.write_text(content + more)
    assert run("train", train, *options, "--epochs", "2", "-o", model, "--quiet") == (0, "", "")
    code, _, err = run("report", model, test, "-o", page)
    assert (code, err) == (0, "")
    found = outline(Saved(page))
    quoted = "".join(text for tag, text in found.texts if tag in ("blockquote", "mark"))
    assert odd[1] in quoted
    assert "__label__" not in quoted


def test_the_command_says_when_it_read_a_part_only(run, tmp_path):
    data, model, page = tmp_path / "a.txt", tmp_path / "m.model", tmp_path / "r.html"
    data.write_text(messages())
    run("train", data, "--format", "text", "--epochs", "1", "-o", model, "--quiet")
    assert run("report", model, data, "-o", page, "--max-examples", "10", "--quiet") == (0, "", "")
    text = Outline(page.read_text("utf-8")).text
    assert "this page is about the first 10 only." in text
    assert "--max-examples 10" in text
    (tmp_path / "b.txt").write_text(messages(2))
    assert run("report", model, data, tmp_path / "b.txt", "-o", page, "--quiet") == (0, "", "")
    assert "64 of 64 right" in Outline(page.read_text("utf-8")).text


def test_the_command_refuses_in_one_line_and_leaves_the_old_page(run, blobs, tmp_path):
    X, y = blobs
    data, model, page = tmp_path / "t.npz", tmp_path / "m.model", tmp_path / "r.html"
    np.savez(data, X=X, y=y)
    perceptrons.save(Perceptron().fit(X, y), model)
    several, tagger, strange = tmp_path / "s.model", tmp_path / "t.model", tmp_path / "strange.npz"
    np.savez(strange, X=X, y=y + 7)
    perceptrons.save(Perceptron().fit(X, np.c_[y == 0, y == 1].astype(int)), several)
    perceptrons.save(SequencePerceptron(max_iter=1).fit([[["a"], ["b"]]], [["X", "Y"]]), tagger)
    page.write_text("old")
    for arguments, words in (
        ((several, strange), "None of the labels (7, 8, 9) is a label of the model (0, 1)"),
        ((tagger, data), "use perceptrons tag evaluate"),
        ((model, "-"), "standard input"),
        ((model, tmp_path / "none.npz"), "no such file"),
        ((model, data, "--image-shape", "28"), "ROWSxCOLUMNS"),
        ((model, data, "--image-shape", "3x3"), "9 pixels"),
        ((model, data, "--image-shape", "1x2", "--no-images"), "cannot be combined"),
        ((model, data, "--max-seconds", "0"), "above 0"),
        ((model, data, "--features", "a", "b"), "no feature 'a'"),
        ((model, data, "--text-column", "a"), "--text-column does not apply to files of format 'npz':"),
    ):
        code, out, err = run("report", *arguments, "-o", page)
        assert (code, out) == (2, ""), arguments
        assert words in err, err
        assert err.count("\n") == 1
    assert page.read_text() == "old"
    code, _, err = run("report", model, data, "-o", data)
    assert (code, "would overwrite it:" in err) == (2, True)


def test_one_label_per_line_is_judged_as_a_set_of_one_where_the_model_gives_several(run, blobs, tmp_path):
    X, y = blobs
    data, model, page = tmp_path / "t.npz", tmp_path / "m.model", tmp_path / "r.html"
    np.savez(data, X=X, y=y)
    perceptrons.save(Perceptron().fit(X, np.c_[y == 0, y == 1].astype(int)), model)
    assert run("report", model, data, "-o", page, "--quiet") == (0, "", "")
    truth, found = np.c_[y == 0, y == 1, y == 2], perceptrons.load(model).predict(X)
    right = int((truth == np.c_[found, np.zeros(len(y), int)]).all(axis=1).sum())
    assert 0 < right < len(y)
    assert f"{right} of {len(y)} label sets right" in page.read_text("utf-8")
    told = json.loads(run("evaluate", model, data, "--json")[1])
    assert (told["right"], told["accuracy"]) == (right, pytest.approx(right / len(y)))


@pytest.mark.parametrize(
    "options",
    [
        ("--combine", "last", "--max-iter", "3", "--no-shuffle"), ("--step", "pa1", "--C", "0.5", "--seed", "3"),
        ("--kernel", "rbf", "--gamma", "0.5", "--tol", "0", "--max-iter", "2"),
        ("--class-weight", '{"c0": 2, "c1": 1, "c2": 1}', "--no-intercept", "--early-stopping"),
        ("--epochs", "3", "--margin", "1"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_the_command_that_the_page_gives_trains_the_same_model(run, blobs, options, tmp_path):
    X, y = blobs
    data, first, second = tmp_path / "t.csv", tmp_path / "a.model", tmp_path / "b.model"
    data.write_text("a,b,k\n" + "".join(f"{a:.4f},{b:.4f},c{k}\n" for (a, b), k in zip(X, y, strict=True)))
    assert run("train", data, *options, "-o", first, "--quiet") == (0, "", "")
    command, missing = as_command(perceptrons.load(first))
    assert missing == set()
    words = [{"DATA": data, "MODEL": second}.get(word, word) for word in shlex.split(command)]
    assert words[0] == "perceptrons"
    assert run(*words[1:], "--quiet") == (0, "", "")
    before, now = perceptrons.load(first), perceptrons.load(second)
    assert now.get_params() == before.get_params()
    for name in ("coef_", "dual_coef_"):
        if hasattr(before, name):
            assert np.array_equal(getattr(now, name), getattr(before, name))


def test_no_figure_is_left_open_and_settings_stay_as_they_are(blobs, pictures):
    plt = pytest.importorskip("matplotlib.pyplot")
    X, y = blobs
    own = plt.figure()
    before = dict(plt.rcParams)
    report(Perceptron().fit(X, y), X, y)
    assert plt.get_fignums() == [own.number]
    assert dict(plt.rcParams) == before
    plt.close(own)
