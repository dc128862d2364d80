"""Learning from a group of requests: the bits of learning singly, and nothing at all of what runs out of memory."""

import io
import json

import numpy as np
import pytest

from perceptrons import Perceptron, load
from perceptrons.data import stream
from perceptrons.modelfile import as_bytes
from perceptrons.serve.state import Change, State

WORDS = [
    "free", "cash", "prize", "win", "cheap", "tickets", "call", "now", "text", "you",
    "see", "home", "lunch", "mum", "birthday", "happy", "coming",
]  # fmt: skip


# ---- models and requests of many kinds


def text_example(k, rng):
    kind = int(rng.integers(2))
    words = rng.choice(WORDS[:10] if kind else WORDS[6:], int(rng.integers(1, 9)))
    return f"{' '.join(words)} n{k % 90}", ("spam", "ham")[kind ^ (rng.random() < 0.1)]


def vw_example(k, rng):
    text, label = text_example(k, rng)
    words = text.split()
    half = len(words) // 2
    return f"|a {' '.join(words[:half])} z{k % 9}:{rng.normal():.2f} |b {' '.join(words[half:])}", label


def svmlight_example(k, rng):
    columns = sorted({*rng.integers(1, 12 + k // 10, 5).tolist()})
    return " ".join(f"{column}:{rng.normal():.3f}" for column in columns), int(rng.integers(1, 4))


def table_example(k, rng):
    body, label = text_example(k, rng)
    size = 0.0 if rng.random() < 0.3 else float(np.round(rng.normal(), 2))
    return {"size": size, "age": int(rng.integers(0, 3)), "shop": f"s{k % 25}", "body": body}, label


def numbers_example(k, rng):
    return np.round(rng.normal(size=20), 3).tolist() + [0.0] * 30, int(rng.integers(1, 4))


def texts(rows, **parameters):
    lines = "".join(f"{label}\t{text}\n" for text, label in rows)
    return Perceptron(**parameters).fit_stream(stream(io.StringIO(lines), format="text", hash_bits=10))


def vw(rows, hash_bits=0, quadratic=None, **parameters):
    lines = "".join(f"{label} {text}\n" for text, label in rows)
    source = stream(io.StringIO(lines), format="vw", hash_bits=hash_bits, quadratic=quadratic)
    return Perceptron(**parameters).fit_stream(source)


def svmlight(rows, **parameters):
    lines = "".join(f"{label} {text}\n" for text, label in rows)
    return Perceptron(**parameters).fit_stream(stream(io.StringIO(lines), format="svmlight"))


def table(rows, text_column=None, **parameters):
    ignore = [] if text_column else ["body"]
    lines = "".join(json.dumps(record | {"label": label}) + "\n" for record, label in rows)
    source = stream(
        io.StringIO(lines), format="jsonl", label_column="label", categories=["shop"], text_column=text_column,
        ignore=ignore,
    )  # fmt: skip
    return Perceptron(**parameters).fit_stream(source)


def numbers(rows, **parameters):
    return Perceptron(**parameters).partial_fit(np.array([row for row, _ in rows]), [label for _, label in rows])


CASES = {
    "text": (texts, text_example, {}),
    "text, PA-I": (texts, text_example, {"step": "pa1"}),
    "text, AROW": (texts, text_example, {"step": "arow"}),
    "text, pocket": (texts, text_example, {"combine": "pocket"}),
    "text, recent, decay": (texts, text_example, {"combine": "recent", "shrink": 0.01}),
    "text, vote": (texts, text_example, {"combine": "vote"}),
    "text, random start": (texts, text_example, {"init": "random"}),
    "VW": (vw, vw_example, {}),
    "VW, interactions": (vw, vw_example, {"quadratic": ["ab"]}),
    "VW, interactions, hashed": (vw, vw_example, {"quadratic": ["ab"], "hash_bits": 10}),
    "VW, random start": (vw, vw_example, {"init": "random"}),
    "svmlight": (svmlight, svmlight_example, {}),
    "svmlight, one-vs-one": (svmlight, svmlight_example, {"multiclass": "ovo"}),
    "table": (table, table_example, {}),
    "table, text": (table, table_example, {"text_column": "body"}),
    "table, text, PA-II": (table, table_example, {"text_column": "body", "step": "pa2"}),
    "numbers, pocket": (numbers, numbers_example, {"combine": "pocket"}),
    "numbers, decay": (numbers, numbers_example, {"shrink": 0.02, "combine": "last"}),
}


def requests(example, n, seed=0, first=0):
    rng = np.random.default_rng(seed)
    return [example(k, rng) for k in range(first, first + n)]


def begun(name):
    make, example, parameters = CASES[name]
    return State(make(requests(example, 40), **parameters))


def changes_of(state, rows):
    """Requests of one to three examples."""
    found, at = [], 0
    for n in [1, 1, 3, 1, 2] * len(rows):
        part = rows[at : at + n]
        if part:
            found.append(Change(None, *state.read([row for row, _ in part], [label for _, label in part]), []))
        at += n
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_group_of_requests_is_learned_to_the_bit_as_one_after_the_other(name, tmp_path):
    """However it is cut; and so is what follows a snapshot."""
    singly, example = begun(name), CASES[name][1]
    changes = changes_of(singly, requests(example, 300, 1, first=40))
    together, cut, restarted = (singly.copied() for _ in range(3))
    for change in changes:
        singly.learn(change.examples, change.labels)
    together.learn_all(changes)
    for begin, end in ((0, 1), (1, 90), (90, 95), (95, None)):
        cut.learn_all(changes[begin:end])
        (tmp_path / "snapshot").write_bytes(as_bytes(restarted.model))
        restarted = State(load(tmp_path / "snapshot"), restarted.version)
        restarted.learn_all(changes[begin:end])
    shown = [row for row, _ in requests(example, 50, 2)]
    for other in (together, cut, restarted):
        assert other.version == singly.version
        assert other.predict(shown, scores=True, new_columns=True) == singly.predict(
            shown, scores=True, new_columns=True
        )
        assert as_bytes(other.model) == as_bytes(singly.model)
