"""Learning from a group of requests: the bits of learning singly, and nothing at all of what runs out of memory."""

import shutil
import sys

import numpy as np
import pytest

from perceptrons import load
from perceptrons.modelfile import as_bytes
from perceptrons.serve.service import prepare
from perceptrons.serve.state import Change, State
from perceptrons.serve.store import Store
from perceptrons.serve.writer import BusyError, Writer
from tests.support.served_kinds import (
    numbers,
    numbers_example,
    svmlight,
    svmlight_example,
    table,
    table_example,
    text_example,
    texts,
    vw,
    vw_example,
)
from tests.support.tiers import slow

CASES = {
    "text": (texts, text_example, {}),
    "text, PA-I": (texts, text_example, {"step": "pa1"}),
    "text, AROW": (texts, text_example, {"step": "arow"}),
    "text, pocket": (texts, text_example, {"combine": "pocket"}),
    "text, recent, decay": (texts, text_example, {"combine": "recent", "penalty": "l2", "alpha": 0.01}),
    "text, L1": (texts, text_example, {"penalty": "l1", "alpha": 0.01, "combine": "last"}),
    "VW, hashed, elastic net": (vw, vw_example, {"hash_bits": 10, "step": "pa2", "penalty": "elasticnet"}),
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
    "numbers, decay": (numbers, numbers_example, {"penalty": "l2", "alpha": 0.02, "combine": "last"}),
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
            read, labels = state.read([row for row, _ in part], [label for _, label in part])
            found.append(Change(examples=read, labels=labels, predictions=[]))
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


# ---- no memory


NOT_ALLOCATING = ("threading.py", "contextlib.py", "__enter__", "__exit__", "acquire", "release")


class Shortage:
    """Raises MemoryError at the n-th call that this package makes of any function, in Python or C, NumPy's among them.

    Every allocation is made by such a call, so all of them fail for some n. Locks and `with` allocate nothing: a call
    that does not release a lock would stop the test for ever.
    """

    def __init__(self):
        self.left = 0

    @property
    def is_over(self):
        return self.left <= 0

    def begin(self, n):
        self.left = n
        sys.setprofile(self._called)

    def end(self):
        sys.setprofile(None)

    def _called(self, frame, event, argument):
        by = frame if event == "c_call" else frame.f_back if event == "call" else None
        if by is None or "/src/perceptrons/" not in by.f_code.co_filename:
            return
        name = argument.__name__ if event == "c_call" else frame.f_code.co_filename
        leaves_block = event == "call" and frame.f_code.co_name == "__exit__"
        if not (leaves_block or name.endswith(NOT_ALLOCATING)):
            self.left -= 1
            if self.left == 0:
                raise MemoryError("no memory left")


class Learning:
    """A store and its writer, whose loop runs in this thread until the queue is empty."""

    def __init__(self, folder, model):
        self.store, self.errors = Store(folder, sync=False), []
        if self.store.is_new:
            prepare(self.store, model, None)
        self.writer = Writer(self.store)
        self.writer.failed = self.errors.append
        self.writer.recover()

    def learn(self, rows, shortage=None, n=0):
        """The future of a request, after the loop of the writer has ended."""
        done = self.writer.submit([row for row, _ in rows], [label for _, label in rows])
        group, tried = [self.writer._jobs.get()], Writer._try_to_learn

        def begin_and_try(*arguments):
            shortage.begin(n)  # again where requests are tried singly
            return tried(self.writer, *arguments)

        if shortage is not None:
            self.writer._try_to_learn = begin_and_try
        try:
            try:
                self.writer._learn_group(group)
            finally:
                if shortage is not None:
                    shortage.end()
        except BaseException as error:  # as in the loop of the writer
            self.writer._give_up(group, error)
            self.store.log.close()
        return done

    def contents(self):
        """The bytes of both copies of the model."""
        with self.writer.buffer.reading() as front:
            return as_bytes(front.model), as_bytes(self.writer.buffer.back.model)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of generators that were closed
@pytest.mark.parametrize("stride", [37, *slow(1)])
@pytest.mark.parametrize("undoing", ["undoing works", "undoing fails, too"])
@pytest.mark.parametrize("name", ["text, pocket", "VW"])
def test_whatever_runs_out_of_memory_leaves_the_model_before_or_after_the_request(
    name, undoing, stride, tmp_path, monkeypatch
):  # fmt: skip
    """The request brings a new class, and where columns are numbered, new columns."""
    make, example, parameters = CASES[name]
    rows = [*requests(example, 2, 3, first=500), (requests(example, 1, 4)[0][0], "another")]
    first, kept, shortage = make(requests(example, 40), **parameters), tmp_path / "kept", Shortage()
    learning = Learning(kept, first)
    before = as_bytes(first)
    warm = State(first).copied()
    warm.predict([row for row, _ in rows], new_columns=True)
    warm.learn(*warm.read([row for row, _ in rows], [label for _, label in rows]))  # compiles all that is needed
    after = as_bytes(warm.model)
    learning.store.log.close()
    copied, ends, n = State.copied, 0, 0
    if undoing != "undoing works":
        monkeypatch.setattr(State, "copied", lambda state: _unless(shortage, copied, state))
    learning = None
    while True:
        n += stride
        if learning is None:
            shutil.rmtree(tmp_path / "served", ignore_errors=True)
            shutil.copytree(kept, tmp_path / "served")
            shortage.left = 10**9
            learning = Learning(tmp_path / "served", None)
        done = learning.learn(rows, shortage, n)
        if not shortage.is_over:
            break
        if learning.errors:
            ends += 1
            shortage.left = 10**9
            restarted = Learning(tmp_path / "served", None)
            assert restarted.contents() in [(before, before), (after, after)], n
            assert done.exception() is not None or restarted.contents() == (after, after), n
            restarted.store.log.close()
            learning = None
        elif done.exception() is None:
            assert learning.contents() == (after, after), n
            learning.store.log.close()
            learning = None
        else:
            assert isinstance(done.exception(), BusyError), n
            assert learning.contents() == (before, before), n
    assert n > 100
    assert ends > 0
    print(f"{name}, {undoing}: {n} calls, the writer ended {ends} times")
    assert done.exception() is None
    assert learning.contents() == (after, after)


def _unless(shortage, function, argument):
    if shortage.is_over:
        raise MemoryError("no memory left")
    return function(argument)
