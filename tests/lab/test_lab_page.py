"""The lab page in a real browser: presets, rules, mouse, touch, keys, links, files; nothing from the network."""

import json
from urllib.parse import quote

import numpy as np
import pytest

from perceptrons.lab import show
from tests.report.test_report_browser import PALE
from tests.support.tiers import slow

PRESETS = ("lecture", "and", "or", "xor", "iris", "moons", "scaled", "street", "drifting")
RULES = ("perceptron", "margin", "pa", "pa1", "arow", "batch", "decay")
SPACES = ("none", "squares", "poly", "rbf")
DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))"
PROVED = "new Promise(done => { const wait = () => lab.proof ? done(!lab.proof.why) : setTimeout(wait, 20); wait(); })"
OVERFLOWS = """
[...document.querySelectorAll("body *")]
  .filter(part => part.getBoundingClientRect().right > innerWidth + 1 && !part.closest(".hidden, option"))
  .map(part => part.outerHTML.slice(0, 80))
"""
UNNAMED = """
[...document.querySelectorAll("button, input, select, canvas, [tabindex]")].filter(part => {
  const label = part.labels && [...part.labels].map(one => one.textContent.trim()).join("");
  return !(part.getAttribute("aria-label") || label || part.textContent.trim());
}).map(part => part.outerHTML.slice(0, 80))
"""


def choose(page, name, value):
    page.ask(f"(f => {{ f.value = {value!r}; f.dispatchEvent(new Event('change')) }})(byId({name!r}))")


def place(page, x, y):
    """Where a point of the plane is in the window."""
    return page.ask(
        f"(box => [box.left + lab.plane.across({x}), box.top + lab.plane.up({y})])"
        "(byId('plane').getBoundingClientRect())"
    )


def quiet(page):
    return page.complaints == [] and page.requests == [page.address.partition("#")[0]]


def test_the_page_is_smaller_than_200_kb_and_asks_for_nothing(opened, lab_file):
    assert lab_file.stat().st_size < 200_000
    page = opened()
    page.ask(DRAWN)
    assert quiet(page), (page.complaints, page.requests)
    assert page.ask("byId('slideTitle').textContent") == "Start"


@pytest.mark.parametrize(
    "preset", ["lecture", "iris", *slow(*(name for name in PRESETS if name not in ("lecture", "iris")))]
)
def test_every_preset_is_stepped_to_the_end_by_every_rule(opened, preset):
    page = opened()
    choose(page, "preset", preset)
    assert page.ask("byId('message').textContent") == ""
    for rule in RULES:
        choose(page, "features", "none")
        choose(page, "rule", rule)
        assert page.ask("lab.state.settings.rule") == rule
        length, stop = page.ask("[lab.run.length, lab.run.stop]")
        # forwards through the whole run, in eleven steps that are drawn and written down
        page.ask("(() => { for (let t = 0; t <= lab.run.length; t += Math.max(1, Math.floor(lab.run.length / 10)))"
                 " { lab.t = t; lab.render(); } })()")  # fmt: skip
        page.ask(f"byId('last').click(), {DRAWN}")
        assert page.ask("[lab.t, Number(byId('time').value)]") == [length, length]
        assert (page.ask("byId('stopText').textContent") != "") == (length > 0)
        assert stop in ("converged", "stuck", "epochs")
        assert page.ask("byId('visit').disabled")
        page.ask(f"byId('first').click(), {DRAWN}")
        assert page.ask("lab.t") == 0
    assert quiet(page), (page.complaints, page.requests)


@pytest.mark.parametrize("preset", ["and", "iris"])
@pytest.mark.parametrize("space", SPACES)
def test_every_feature_space_is_drawn_with_all_four_ways_to_predict(opened, space, preset):
    page = opened()
    choose(page, "preset", preset)
    choose(page, "epochs", "5")
    choose(page, "features", space)
    for kind in ("average", "vote", "pocket"):
        page.ask(f"byId('show-{kind}').click()")
    page.ask(f"byId('last').click(), {DRAWN}")
    said = page.ask("byId('errors-vote').textContent")
    assert said.endswith(" wrong"), said
    assert page.ask("byId('small-pocket').closest('figure').hidden") == (space in ("poly", "rbf"))
    assert page.ask(PROVED) == (space != "rbf")
    page.ask(DRAWN)
    assert quiet(page), (page.complaints, page.requests)


def test_the_slide_shows_the_arithmetic_of_the_lecture(opened):
    page = opened()
    page.ask(f"byId('visit').click(), {DRAWN}")
    lines = page.ask("[...document.querySelectorAll('#arithmetic p')].map(line => line.textContent)")
    assert lines == [
        "x = (1, 1),   y = −1",
        "s = w·x + b = 0.2·1 + 0·1 − 0.1 = 0.1",
        "y·s = −0.1 < 0",
        "w ← w + η y x = (0.2, 0) + 0.1·(−1)·(1, 1) = (0.1, −0.1)",
        "b ← b + η y = −0.1 + 0.1·(−1) = −0.2",
    ]
    assert page.ask("byId('verdict').textContent") == "Mistake"
    assert page.ask("[byId('nMistakes'), byId('nUpdates')].map(one => one.textContent)") == ["1", "1"]


def test_the_bound_stands_beside_the_count(opened):
    page = opened("points=0,0,0;0,1,0;1,0,0;1,1,1")  # AND
    page.ask(PROVED)
    page.ask(f"byId('last').click(), {DRAWN}")
    updates, bound = page.ask("[byId('nUpdates'), byId('bound')].map(one => Number(one.textContent))")
    assert 0 < updates <= bound
    assert page.ask("byId('boundText').textContent") == f"{updates} updates so far, at most {bound} in any order."
    choose(page, "preset", "xor")
    page.ask(PROVED)
    page.ask(DRAWN)
    assert page.ask("byId('proofTitle').textContent") == "Not linearly separable"
    assert page.ask("[...document.querySelectorAll('#witness b')].map(one => one.textContent)") == ["0.25"] * 4
    assert page.ask("byId('boundBox').hidden")


def test_the_mouse_adds_moves_and_removes_points_and_moves_the_line(opened):
    page = opened()
    page.click(*place(page, 1.5, 1.5))
    page.ask(DRAWN)
    assert page.ask("lab.state.points.length") == 5
    x, y, c = page.ask("(({x, y, c}) => [x, y, c])(lab.state.points[4])")
    assert (round(x, 1), round(y, 1), c) == (1.5, 1.5, 0)
    page.click(*place(page, x, y), to=tuple(place(page, 1.8, 1.2)))
    page.ask(DRAWN)
    x, y = page.ask("(({x, y}) => [x, y])(lab.state.points[4])")
    assert (round(x, 1), round(y, 1)) == (1.8, 1.2)
    page.ask("lab.choose('erase')")
    page.click(*place(page, x, y))
    page.ask(DRAWN)
    assert page.ask("lab.state.points.length") == 4
    page.ask("lab.choose('line')")
    page.click(*place(page, 0.5, 1.2), to=tuple(place(page, 1.2, 1.2)))  # the line 0.2 x - 0.1 = 0
    page.ask(DRAWN)
    w1, w2, b, start = page.ask("(({w1, w2, b, start}) => [w1, w2, b, start])(lab.state.settings)")
    assert (w1, w2, start) == (0.2, 0, "own")
    assert -b / w1 == pytest.approx(1.2, abs=0.02)
    tip = page.ask("(box => lab.plane.arrowOf(shownLine(lab)).to.map((v, k) => v + [box.left, box.top][k]))"
                   "(byId('plane').getBoundingClientRect())")  # fmt: skip
    foot = page.ask("lab.plane.world(...lab.plane.arrowOf(shownLine(lab)).from)")
    page.click(*tip, to=tuple(place(page, foot[0], foot[1] + 0.4)))  # turn w upwards
    page.ask(DRAWN)
    w1, w2 = page.ask("(({w1, w2}) => [w1, w2])(lab.state.settings)")
    assert abs(w1) < 0.02
    assert w2 == pytest.approx(0.2, abs=0.01)
    assert quiet(page)


def test_a_line_can_be_drawn_where_there_is_none(opened):
    page = opened("points=0,0,0;2,2,1")
    page.ask("lab.choose('line')")
    page.click(*place(page, 0, 1.5), to=tuple(place(page, 2, 1.5)))
    page.ask(DRAWN)
    w1, w2, b = page.ask("(({w1, w2, b}) => [w1, w2, b])(lab.state.settings)")
    assert abs(w1) < 0.02
    assert w2 == pytest.approx(1, abs=0.01)
    assert b == pytest.approx(-1.5, abs=0.05)


def test_a_finger_adds_and_moves_points_on_a_phone(opened):
    page = opened(width=360, height=740)
    page.touch(*place(page, 1.5, 1.4))
    page.ask(DRAWN)
    assert page.ask("lab.state.points.length") == 5
    x, y = page.ask("(({x, y}) => [x, y])(lab.state.points[4])")
    page.touch(*place(page, x, y), to=tuple(place(page, 1.2, 0.6)))
    page.ask(DRAWN)
    assert page.ask("lab.state.points.length") == 5
    moved = page.ask("(({x, y}) => [x, y])(lab.state.points[4])")
    np.testing.assert_allclose(moved, [1.2, 0.6], atol=0.05)
    visit = page.ask("(byId('visit').scrollIntoView(), (box => [box.left + box.width / 2, box.top + box.height / 2])"
                     "(byId('visit').getBoundingClientRect()))")  # fmt: skip
    page.touch(*visit)
    page.ask(
        "new Promise(done => { let n = 0; (function wait() { lab.t || n++ > 200 ? done() : setTimeout(wait, 20) })() })"
    )
    assert page.ask("lab.t") == 1  # a click follows a tap a moment later
    small = page.ask("[...document.querySelectorAll('.buttons button, .tools label')].filter(part =>"
                     " part.offsetHeight && part.getBoundingClientRect().height < 36).length")  # fmt: skip
    assert small == 0


def test_keys_step_run_and_go_back(opened):
    page = opened()
    steps = [
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowLeft", 1),
        ("m", 2),
        ("ArrowUp", 4),
        ("Home", 0),
        ("End", None),
    ]
    for key, t in steps:
        page.press(key)
        page.ask(DRAWN)
        assert page.ask("lab.t") == (page.ask("lab.run.length") if t is None else t), key
    page.press("Home")
    page.press(" ")
    assert page.ask("[lab.running, byId('arithmetic').getAttribute('aria-live')]") == [True, "off"]
    page.press(" ")
    assert page.ask("[lab.running, byId('arithmetic').getAttribute('aria-live')]") == [False, "polite"]
    for key, tool in (("2", "1"), ("e", "erase"), ("l", "line"), ("1", "0"), ("3", "0")):
        page.press(key)
        assert page.ask("lab.tool") == tool


def test_arrow_keys_step_after_a_tool_was_clicked(opened):
    page = opened()
    page.click(
        *page.ask("(box => [box.left + 8, box.top + 8])(document.getElementsByName('tool')[1].getBoundingClientRect())")
    )
    page.press("ArrowRight")
    page.ask(DRAWN)
    assert page.ask("[lab.tool, lab.t]") == ["1", 1]


def test_points_are_placed_and_removed_by_keys_alone(opened):
    page = opened("points=0,0,0;2,2,1")
    page.ask("byId('plane').focus()")
    for key in ("Enter", "ArrowRight", "ArrowRight", "ArrowUp", "Enter"):
        page.press(key)
    page.ask(DRAWN)
    assert page.ask("[lab.state.points.length, lab.t]") == [3, 0]
    x, y = page.ask("(({x, y}) => [x, y])(lab.state.points[2])")
    assert x > 1
    assert y > 1
    page.press("Delete")
    page.press("Escape")
    page.press("ArrowRight")
    page.ask(DRAWN)
    assert page.ask("[lab.state.points.length, lab.cursor, lab.t]") == [2, None, 1]


def test_a_run_moves_in_time_and_ends(opened):
    page = opened()
    page.ask("byId('speed').value = 10, byId('run').click()")
    page.ask("new Promise(done => { const wait = () => lab.running ? setTimeout(wait, 20) : done(); wait(); })")
    assert page.ask("lab.t") == page.ask("lab.run.length") > 0
    assert page.ask("byId('run').textContent") == "▶ Run"
    page.ask("(time => { time.value = 3; time.dispatchEvent(new Event('input')) })(byId('time'))")
    page.ask(DRAWN)
    assert page.ask("[lab.t, byId('slideTitle').textContent]") == [3, "Visit 3: example 3, epoch 1"]


def test_a_link_brings_everything_back(opened):
    page = opened()
    choose(page, "preset", "iris")
    choose(page, "rule", "pa1")
    choose(page, "C", "0.1")
    choose(page, "features", "squares")
    fragment, points, settings = page.ask("[toFragment(lab.state), lab.state.points, lab.state.settings]")
    again = opened(fragment)
    assert again.ask("[lab.state.points, lab.state.settings]") == [points, settings]
    assert again.ask("[lab.state.names, lab.state.axes]") == page.ask("[lab.state.names, lab.state.axes]")
    assert quiet(again)


@pytest.mark.parametrize(
    "fragment",
    [
        "points=1,1,0;2,2,<img src=x onerror=alert(1)>", "rule=<script>alert(1)</script>", "eta=1e999", "eta=NaN",
        "classes=7", "points=1,2", "points=1,2,5", "points=1,2,0.5", "constructor=1", "__proto__=1", "points=1e9,1,0",
        "epochs=1e99", "degree=2.5", "points=" + ";".join(["1,1,0"] * 2001), "points=Infinity,1,0", "eta=0x10",
    ],
)  # fmt: skip
def test_a_link_that_is_not_valid_is_refused_in_words(opened, fragment):
    page = opened(quote(fragment, safe="=,;&"))
    page.ask(DRAWN)
    assert page.ask("byId('message').textContent").startswith(("The link", "Point"))
    assert page.ask("lab.state.points.length") == 4  # the worked example
    assert page.ask("document.querySelectorAll('img, main script').length") == 0
    assert quiet(page), page.complaints


def test_names_in_a_link_are_shown_as_text_and_never_run(opened):
    evil = "<img src=x onerror=\"document.title='run'\">"
    page = opened(f"name={quote(evil)}&name=b&axis={quote(evil)}&points=1,1,0;2,2,1;0,2,1")
    page.ask(PROVED)
    page.ask(f"byId('visit').click(), {DRAWN}")
    assert page.ask("byId('name0').textContent").startswith("<img")
    assert page.ask("document.querySelectorAll('img').length") == 0
    assert page.ask("document.title") == "Perceptron lab"
    assert quiet(page)


def test_a_csv_file_comes_back_as_it_was_saved(opened):
    page = opened()
    choose(page, "preset", "iris")
    same = "JSON.stringify(lab.state.points) === JSON.stringify(fromCSV(toCSV(lab.state)).points)"
    assert page.ask(same) is True
    assert page.ask("fromCSV(toCSV(lab.state)).names") == ["setosa", "versicolor", "virginica"]
    assert page.ask("toCSV(newState([{x: 0.1, y: 1e-7, c: 1}]))") == "x1,x2,class\n0.1,1e-7,1\n"
    assert page.ask('fromCSV(\'"a ""b""",y,c\\n1,2,no\\n3,4,yes\').axes') == ['a "b"', "y"]
    assert page.ask("fromCSV('1;2;1\\n3;4;-1').points") == [{"x": 1, "y": 2, "c": 1}, {"x": 3, "y": 4, "c": 0}]


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "empty"), ("a,b\n1,2", "three columns"), ("x,y,c\n", "no examples"), ("1,2,a\n3,4,a", "1 different"),
     ("1,2,a\n3,oops,b", "Line 2"), ("1,2,a\n3,4,b\n5,6,c\n7,8,d", "4 different"),
     ("u,v,w\na,b,c\nd,e,f", "two columns")],
)  # fmt: skip
def test_a_csv_file_that_cannot_be_read_is_refused_in_words(opened, text, words):
    page = opened()
    said = page.ask(
        f"(() => {{ try {{ fromCSV({json.dumps(text)}); return '' }} catch (e) {{ return e.message }} }})()"
    )
    assert words in said


def test_random_data_keep_their_margin_and_their_noise(opened):
    page = opened()
    page.ask("byId('randomN').value = 300, byId('randomMargin').value = 0.5, byId('random').click()")
    page.ask(PROVED)
    assert page.ask("[lab.state.points.length, lab.proof.separable, lab.proof.street.width >= 1 - 0.02]") == [
        300,
        True,
        True,
    ]
    page.ask("byId('randomNoise').value = 0.2, byId('random').click()")
    page.ask(PROVED)
    assert page.ask("lab.proof.separable") is False
    assert page.ask("byId('message').textContent") == ""


def test_a_value_that_is_not_possible_changes_nothing_and_is_marked(opened):
    page = opened()
    choose(page, "eta", "-3")
    assert page.ask("[lab.state.settings.eta, byId('eta').checkValidity()]") == [0.1, False]
    choose(page, "eta", "0.5")
    assert page.ask("[lab.state.settings.eta, byId('eta').checkValidity()]") == [0.5, True]


@pytest.mark.parametrize("width", [360, 768, 1280, 1920])
@pytest.mark.parametrize("preset", ["lecture", "iris", "scaled"])
def test_the_page_is_never_wider_than_the_screen(opened, width, preset):
    page = opened(width=width, height=800)
    choose(page, "preset", preset)
    page.ask(f"byId('mistake').click(), {DRAWN}")
    assert page.ask("document.documentElement.scrollWidth") <= width
    assert page.ask(OVERFLOWS) == []


@pytest.mark.parametrize("dark", [False, True])
def test_words_stand_out_from_their_paper_by_day_and_by_night(opened, dark):
    page = opened(dark=dark)
    page.ask(PROVED)
    page.ask(f"byId('visit').click(), {DRAWN}")
    pale = [one for one in page.ask(PALE) if "disabled" not in one]
    assert pale == []


def test_everything_that_can_be_used_has_a_name(opened):
    page = opened()
    page.ask(PROVED)
    page.ask(DRAWN)
    assert page.ask(UNNAMED) == []
    assert page.ask("document.documentElement.lang") == "en"
    assert "4 points" in page.ask("byId('plane').getAttribute('aria-label')")


def test_the_policy_of_the_page_lets_no_other_script_run(opened):
    page = opened()
    page.ask(
        "(s => { s.textContent = 'window.intruder = 1'; document.body.append(s) })(document.createElement('script'))"
    )
    assert page.ask("typeof window.intruder") == "undefined"


def test_the_users_own_examples_are_shown_with_their_names(opened, tmp_path):
    page = show(
        [[0.5, 1], [2, 1], [1, 3]], ["no", "yes", "</script><b>"], feature_names=["length", "width"], title="Mine"
    )
    page.save(tmp_path / "own.html")
    opened_page = opened(path=tmp_path / "own.html")
    opened_page.ask(DRAWN)
    assert opened_page.ask("lab.state.points.map(({x, y, c}) => [x, y, c])") == [[0.5, 1, 1], [2, 1, 2], [1, 3, 0]]
    assert opened_page.ask("[lab.state.axes, lab.state.names]") == [["length", "width"], ["</script><b>", "no", "yes"]]
    assert opened_page.ask("byId('preset').selectedOptions[0].textContent") == "Mine"
    assert quiet(opened_page)


def test_the_page_works_in_the_frame_of_a_notebook(opened, tmp_path):
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!doctype html><meta charset=utf-8>{show([[0, 0], [1, 1]], [0, 1])._repr_html_()}")
    page = opened(path=notebook)
    page.ask(DRAWN)
    assert page.ask("document.querySelector('iframe').getBoundingClientRect().height") > 500
    assert page.complaints == []


ACTIONS = """((seed, times) => {
  const random = randomBy(seed), pick = list => list[Math.floor(random() * list.length)], done = [];
  const set = (id, value) => { byId(id).value = value; byId(id).dispatchEvent(new Event("change")); };
  const options = id => [...byId(id).options].map(one => one.value).filter(Boolean);
  const acts = {
    choose: () => { const id = pick(["preset", "classes", "rule", "zero", "features", "start", "order"]); set(id, pick(options(id))); },
    number: () => { const id = pick(["eta", "margin", "C", "decay", "batch", "degree", "gamma", "w1", "w2", "b", "seed"]);
      set(id, pick(["0", "1", "-1", "0.5", "3", "1e6", "1e-6", "", "9"])); },
    epochs: () => set("epochs", pick(["1", "2", "7"])),
    tick: () => byId(pick(["bias", "showProof", "show-last", "show-average", "show-vote", "show-pocket"])).click(),
    press: () => byId(pick(["first", "back", "visit", "mistake", "epoch", "last", "fit", "random", "visit"])).click(),
    clear: () => random() < 0.2 && byId("clear").click(),
    add: () => addPoint(lab, {x: pick([0, 1, 0.5, -3, 1e6]), y: pick([0, 1, 2.5, -1e6])}, Math.floor(random() * lab.state.settings.classes)),
    remove: () => lab.state.points.length && removePoint(lab, 0),
  };
  for (let k = 0; k < times; k++) { const name = pick(Object.keys(acts)); done.push(name); acts[name](); lab.render(); }
  return done.length;
})"""  # noqa: E501


@pytest.mark.parametrize("seed", [0, *slow(1, 2, 3)])
def test_whatever_people_do_the_page_never_complains(opened, seed):
    page = opened()
    assert page.ask(f"{ACTIONS}({seed}, 120)") == 120
    page.ask(PROVED)
    page.ask(DRAWN)
    assert quiet(page), page.complaints
    assert page.ask("fromFragment(toFragment(lab.state)).points.length === lab.state.points.length")
    choose(page, "preset", "and")
    assert page.ask("lab.state.points.length") == 4


def test_the_arithmetic_of_three_classes_names_the_class_of_every_row(opened):
    page = opened()
    choose(page, "preset", "iris")
    page.ask(DRAWN)
    start = page.ask("byId('arithmetic').innerText")
    for name in ("setosa", "versicolor", "virginica"):
        assert f"θ({name}) = (0, 0),   b = 0" in start
    page.ask("byId('mistake').click()")
    page.ask(DRAWN)
    update = page.ask("byId('arithmetic').innerText")
    assert "s(setosa) = θ(setosa)·x + b" in update
    assert "θ(versicolor) ← θ(versicolor) + η x" in update
    assert "θ(setosa) ← θ(setosa) − η x" in update


def test_the_legend_names_the_line_before_an_update_only_where_it_is_drawn(opened):
    page = opened()
    choose(page, "preset", "lecture")
    shown = []
    for _ in range(4):  # mistake, mistake, right, mistake
        page.ask("byId('visit').click()")
        page.ask(DRAWN)
        shown.append("grey dashes: before this update" in page.ask("byId('legend').innerText"))
    assert shown == [True, True, False, True]


@pytest.mark.parametrize(("bias", "vectors"), [(True, "y·(x, 1)"), (False, "y·x")])
def test_the_proof_that_no_line_exists_says_which_sum_is_zero(opened, bias, vectors):
    page = opened()
    choose(page, "preset", "xor")
    if not bias:
        page.ask("byId('bias').click()")
    assert page.ask(PROVED)
    page.ask(DRAWN)
    assert f"the sum of {vectors} over these points is exactly 0" in page.ask("byId('proofText').innerText")
