"""The pages of a real server in a real browser: under load, wide and narrow, with text that wants to be HTML."""

import base64
import hashlib
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from threading import Event, Thread

import httpx
import pytest

from perceptrons.serve import pages
from perceptrons.serve.app import document
from tests.report.test_report_browser import PALE
from tests.support.browser import Page, browser, find_browser

needs_browser = pytest.mark.skipif(
    find_browser() is None,
    reason="no Chromium or Chrome is installed (apt install chromium), so pages are not opened",
)
TOKEN = "a-token-of-many-letters"
SECONDS = 60  # a busy machine is slow
ATTACK = '<img src=x onerror="window.attacked=1"><script>window.attacked=1</script> prize'
BAD_LABEL = "<b onclick=alert(1)>spam</b>"
OVERFLOWS = """
[...document.querySelectorAll("body *")]
  .filter(part => part.getBoundingClientRect().right > innerWidth + 1 && !part.closest(".scroll, pre, svg"))
  .map(part => part.outerHTML.slice(0, 80))
"""
NAMELESS = """
[...document.querySelectorAll("button, input, textarea, a, summary, [role=img]")].filter(part => !(
  part.textContent.trim() || part.ariaLabel || part.labels?.length)).map(part => part.outerHTML.slice(0, 80))
"""


class Server:
    """A server process, started with an empty model."""

    def __init__(self, folder, token=None, port=0):
        self._folder, self._token, self.port = folder, token, port
        self.start()

    def start(self):
        command = [sys.executable, "-m", "perceptrons", "serve", "--data", str(self._folder), "--port", str(self.port)]
        if self._token is not None:
            (self._folder.parent / "token").write_text(self._token)
            command += ["--token-file", str(self._folder.parent / "token")]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = self._process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", said)
        assert found, said + self._process.stdout.read()
        self.url, self.port = found[0], int(found[1])
        headers = {} if self._token is None else {"Authorization": f"Bearer {self._token}"}
        self.client = httpx.Client(base_url=self.url, timeout=SECONDS, headers=headers)
        wait_for(lambda: self.client.get("/readyz").status_code == 200, "the server")

    def stop(self):
        self.client.close()
        self._process.terminate()
        self._process.communicate(timeout=SECONDS)

    def learn(self, examples, labels):
        answer = self.client.post("/learn", json={"examples": examples, "labels": labels})
        assert answer.status_code == 200, answer.text
        return answer.json()

    @property
    def stats(self):
        return self.client.get("/stats").json()


def wait_for(happened, what):
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            if happened():
                return
        except httpx.TransportError:
            pass  # it is not there yet
        time.sleep(0.05)
    raise AssertionError(f"{what} did not come in {SECONDS} seconds")


@contextmanager
def serving(folder, **given):
    server = Server(folder, **given)
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def chromium():
    """One browser for all tests."""
    with browser() as running:
        yield running


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """A server of texts that learns and predicts all the time, among them texts and labels that are HTML."""
    with serving(tmp_path_factory.mktemp("loaded") / "data") as server:
        examples = ["win a prize now", "see you at noon", ATTACK, "lunch at noon"] * 5
        labels = ["spam", "ham", BAD_LABEL, "ham"] * 5
        server.learn(examples, labels)
        over = Event()

        def load():
            with httpx.Client(base_url=server.url, timeout=SECONDS) as client:
                while not over.wait(0.02):
                    client.post("/learn", json={"examples": examples, "labels": labels})
                    client.post("/learn", json={"examples": [ATTACK], "labels": ["ham"]})  # a mistake
                    client.post("/predict", json={"examples": examples})

        thread = Thread(target=load)
        thread.start()
        try:
            yield server
        finally:
            over.set()
            thread.join()


def opened(chromium, server, path="/", width=1280, dark=False):
    page = Page(chromium, server.url + path, width, 900, dark)
    if path == "/":
        wait_for(lambda: text(page, "state-text") == "Live", "the page")
    return page


def text(page, name):
    return page.ask(f"document.getElementById({name!r})?.textContent ?? ''")


def try_example(page, example, button="button"):
    """Type an example, press the button and wait for the answer."""
    page.ask("document.getElementById('result').replaceChildren()")
    page.ask(f"document.getElementById('example').value = {example!r}")
    page.ask(f"document.querySelector('#try {button}').click()")
    wait_for(lambda: text(page, "result") not in ("", "Predicting …"), "an answer")
    return text(page, "result")


# ---- without a browser


@pytest.mark.parametrize("make", [pages.live, lambda: pages.docs(document)], ids=["live", "docs"])
def test_the_policy_allows_exactly_the_style_and_the_script_of_the_page(make):
    response = make()
    page, policy = response.body.decode(), response.headers["content-security-policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        inside = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'" for one in inside]
        assert rules.get(rule, "").split() == hashes
    assert rules["default-src"] == rules["base-uri"] == rules["frame-ancestors"] == "'none'"
    assert "unsafe" not in policy
    assert not re.search(r"\son\w+=|\sstyle=|javascript:|https?://(?!127\.0\.0\.1|www\.w3\.org)", page)


def test_the_page_of_a_server_with_a_token_says_so_that_it_is_asked_for_first():
    assert b'<body data-token="needed">' in pages.live(needs_token=True).body
    assert b'<body data-token="unknown">' in pages.live().body


def test_scripts_never_write_html():
    script = "".join(pages._read(name) for name in pages.SCRIPTS)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|srcdoc", script)


# ---- with one


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (360, True), (360, False), (1280, True)])
@pytest.mark.parametrize("path", ["/", "/docs"])
def test_pages_fit_the_screen_and_are_legible_and_silent_under_load(chromium, loaded, path, width, dark):
    page = opened(chromium, loaded, path, width, dark)
    if path == "/":
        before = page.ask("document.getElementById('learned').textContent")
        assert "Prediction:" in try_example(page, "a prize at noon")
        wait_for(lambda: text(page, "learned") != before, "another number")
    assert page.ask("document.documentElement.scrollWidth") <= width
    assert page.ask(OVERFLOWS) == []
    assert page.ask(PALE) == []
    assert page.ask(NAMELESS) == []
    assert all(url.startswith(loaded.url) for url in page.requests)
    assert page.complaints == []
    page.close()


@pytest.mark.slow
@needs_browser
def test_the_page_shows_what_the_server_counts(chromium, loaded):
    page = opened(chromium, loaded)
    wait_for(lambda: page.ask("document.querySelectorAll('#mistakes li').length") > 0, "a mistake")
    assert page.ask("document.querySelectorAll('#windows tr').length") == 4
    assert page.ask("document.querySelector('#error-chart .main').getAttribute('d').length") > 20
    assert page.ask("document.querySelector('#rate-chart .main').getAttribute('d').length") > 20
    assert "prize" in text(page, "features")
    assert "now" in page.ask("document.getElementById('error-chart').ariaLabel")
    assert "leader" in text(page, "facts")
    shown = int(text(page, "learned").replace(",", ""))
    assert 0 < shown <= loaded.stats["version"]
    page.ask("document.getElementById('error-chart').focus()")
    page.press("ArrowLeft")
    assert "wrong; mean around them" in text(page, "error-readout")
    page.close()


@pytest.mark.slow
@needs_browser
def test_text_that_is_html_stays_text_wherever_it_comes_from(chromium, loaded):
    page = opened(chromium, loaded)
    answer = try_example(page, ATTACK)
    wait_for(lambda: ATTACK in text(page, "mistakes"), "the text in the list of mistakes")
    assert BAD_LABEL in text(page, "feedback")  # among the labels to choose
    assert BAD_LABEL in text(page, "facts")
    assert BAD_LABEL in text(page, "features")
    assert "Prediction:" in answer
    assert page.ask("document.querySelectorAll('main img, main script, main b[onclick]').length") == 0
    assert page.ask("window.attacked === undefined")
    assert page.complaints == []
    refused = page.ask(f"try {{ document.body.innerHTML = {ATTACK!r}; 'written' }} catch (error) {{ error.name }}")
    assert refused == "TypeError"  # the policy lets nobody write HTML
    page.close()


@pytest.mark.slow
@needs_browser
def test_a_tried_example_is_explained_and_its_label_is_learned_once(chromium, tmp_path):
    with serving(tmp_path / "data") as server:
        server.learn(["win a prize", "see you at noon"] * 5, ["spam", "ham"] * 5)
        page = opened(chromium, server)
        shown = try_example(page, "a prize for you")
        assert "Prediction: spam" in shown
        assert "Positive: for spam. Negative: for ham." in shown
        found = server.client.post("/predict", json={"examples": ["a prize for you"], "scores": True}).json()
        adds = page.ask("[...document.querySelectorAll('#result div > h3 ~ .scroll .number')].slice(1).map(one => +one"
                        ".textContent.replace('−', '-'))")  # fmt: skip
        assert len(adds) > 1
        assert sum(adds) == pytest.approx(found["predictions"][0]["scores"]["spam"], abs=0.02)
        assert "By the model of version 10." in shown
        page.ask("[...document.querySelectorAll('#feedback button')].find(one => one.textContent === 'ham').click()")
        wait_for(lambda: text(page, "feedback-said"), "what was learned")
        assert text(page, "feedback-said") == "Learned. The model is now at version 11."
        assert server.stats["version"] == 11
        assert page.ask("document.querySelector('#feedback button').disabled")
        wait_for(lambda: "a prize for you" in text(page, "mistakes"), "the mistake")
        page.ask("document.querySelector('#mistakes button').click()")
        wait_for(lambda: "By the model of version 11." in text(page, "result"), "an answer")
        field = "document.querySelector('#feedback input')"
        page.ask(f"{field}.value = 'new label'; {field}.form.requestSubmit()")
        wait_for(lambda: text(page, "feedback-said"), "what was learned")
        assert server.stats["model"]["classes"] == ["ham", "new label", "spam"]
        assert "Type an example first." in try_example(page, " ")
        page.ask("document.getElementById('example').value = 'see you'")
        key = "new KeyboardEvent('keydown', {key: 'Enter', ctrlKey: true, bubbles: true})"
        page.ask(f"document.getElementById('example').dispatchEvent({key})")
        wait_for(lambda: "Prediction: ham" in text(page, "result"), "an answer")
        assert page.complaints == []
        page.close()


KINDS = {
    "numbers": ([[1.0, 2.0], [-1.0, -2.0]] * 4, [7, 8] * 4, "2, 3", "Prediction: 7", 7),
    "features": ([{"size": 2, "is": "big"}, {"size": -1, "is": "small"}] * 4, ["a", "b"] * 4, '{"is": "big"}',
                 "Prediction: a", "a"),
    "tokens": ([["The", "cat"], ["A", "dog"]] * 4, [["D", "N"], ["D", "N"]] * 4, "The dog", "dog", None),
}  # fmt: skip


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_example_can_be_tried_and_learned(chromium, tmp_path, kind):
    examples, labels, typed, expected, right = KINDS[kind]
    with serving(tmp_path / "data") as server:
        page = opened(chromium, server)
        assert "Nothing has been learned yet." in text(page, "error-chart")
        server.learn(examples, labels)
        wait_for(lambda: f"input: {kind}" in text(page, "facts-line"), "the kind of the examples")
        assert expected in try_example(page, typed)
        choose = "" if right is None else f".find(one => one.textContent === '{right}')"
        page.ask(f"[...document.querySelectorAll('#feedback button')]{choose or '[0]'}.click()")
        wait_for(lambda: text(page, "feedback-said"), "what was learned")
        assert text(page, "feedback-said") == f"Learned. The model is now at version {len(examples) + 1}."
        assert server.stats["mistakes"] == len(examples)  # all of the first block, and not what was tried
        assert page.complaints == []
        page.close()


@pytest.mark.slow
@needs_browser
def test_the_page_asks_for_the_token_once_and_keeps_it_in_the_tab(chromium, tmp_path):
    def give(token):
        page.ask(f"document.getElementById('token').value = {token!r}")
        page.ask("document.querySelector('#token-form button').click()")

    with serving(tmp_path / "data", token=TOKEN) as server:
        server.learn(["a", "b"], ["x", "y"])
        page = Page(chromium, server.url + "/", 360, 900, False)
        wait_for(lambda: text(page, "state-text") == "Waiting for the token", "the question")
        give("a-wrong-one-of-many-letters")
        wait_for(lambda: text(page, "token-why") == "The token was not accepted.", "the refusal")
        assert page.ask("sessionStorage.length") == 0
        give(TOKEN)
        wait_for(lambda: text(page, "state-text") == "Live", "the page")
        assert page.ask("document.getElementById('token-form').hidden")
        page.ask("window.before = true; location.reload()")
        wait_for(lambda: page.ask("window.before === undefined") and text(page, "state-text") == "Live", "the page")
        assert "Prediction:" in try_example(page, "a")
        assert page.ask("[localStorage.length, document.cookie]") == [0, ""]
        assert all("401" in complaint for complaint in page.complaints)  # what the browser itself says of a refusal
        page.close()


@pytest.mark.slow
@needs_browser
def test_the_page_says_kindly_that_the_server_is_gone_and_goes_on_when_it_is_back(chromium, tmp_path):
    with serving(tmp_path / "data") as server:
        server.learn(["a", "b"], ["x", "y"])
        page = opened(chromium, server)
        server.stop()
        wait_for(lambda: "The server does not answer." in text(page, "state-text"), "the message")
        assert "The server does not answer." in try_example(page, "a")
        assert text(page, "learned") == "2"
        server.start()
        wait_for(lambda: text(page, "state-text") == "Live", "the page")
        page.close()


@pytest.mark.slow
@needs_browser
def test_the_page_asks_for_nothing_while_nobody_looks(chromium, loaded):
    page = opened(chromium, loaded)

    def look(hidden):
        page.ask(f"Object.defineProperty(document, 'hidden', {{value: {hidden}, configurable: true}})")
        page.ask("document.dispatchEvent(new Event('visibilitychange'))")

    look("true")
    time.sleep(0.5)  # what was asked for already is answered
    before = len(page.requests)
    time.sleep(2.5)
    assert len(page.requests) == before
    look("false")
    wait_for(lambda: len(page.requests) > before, "another request")
    page.close()
