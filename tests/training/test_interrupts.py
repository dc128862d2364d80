"""Ctrl-C and other signals as a compiled pass returns. Weights, votes and counters must stay together."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from perceptrons import Perceptron
from perceptrons.engine.training import interrupts, learner, one_pass
from perceptrons.engine.training.interrupts import Uninterrupted, interruptible
from perceptrons.engine.training.one_pass import one_blas_thread
from tests.conftest import ROOT, gaussian


def interrupting(learn, at):
    """The same learn, but Ctrl-C comes during call number `at`."""
    calls = []

    def learn_and_be_interrupted(*arguments, **keywords):
        calls.append(1)
        if len(calls) == at:
            os.kill(os.getpid(), signal.SIGINT)
        return learn(*arguments, **keywords)

    return learn_and_be_interrupted


def replayed(model):
    """The last weights, put together again from the log of the votes."""
    votes = model._learner.votes
    w = np.zeros(model.n_features_in_)
    for _, support, y, _, step in votes.log:
        w += (step if y == 1 else -step) * votes.matrix(model.n_features_in_)[int(support)]
    return w


@pytest.mark.parametrize("at", [1, 2, 5])
@pytest.mark.parametrize("combine", ["vote", "average", "pocket"])
def test_an_interrupted_fit_is_consistent(monkeypatch, rng, combine, at):
    X, y = gaussian(rng, 3000, 5, 2)
    monkeypatch.setattr(learner, "PIECE_OPERATIONS", 1)  # pieces of 1,024 examples
    monkeypatch.setattr(learner, "learn", interrupting(one_pass.learn, at))
    model = Perceptron(combine=combine, max_iter=50, tol=None)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.stop_reason_ == "interrupted"
    assert model.t_ == sum(row["examples"] for row in model.history_) > 0
    assert model.n_updates_ == sum(row["updates"] for row in model.history_)
    if combine == "vote":
        assert len(model._learner.votes.log) == model.n_updates_
        np.testing.assert_allclose(replayed(model), model.coef_last_[0], atol=1e-9)
    np.testing.assert_array_equal(model.coef_average_, model._learner.weights.average()[0])


@pytest.mark.parametrize("combine", ["vote", "average"])
def test_an_interrupted_partial_fit_is_consistent(monkeypatch, rng, combine):
    X, y = gaussian(rng, 3000, 5, 2)
    model = Perceptron(combine=combine).partial_fit(X[:100], y[:100])
    _ = model.coef_average_
    monkeypatch.setattr(learner, "PIECE_OPERATIONS", 1)
    monkeypatch.setattr(learner, "learn", interrupting(one_pass.learn, 2))
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    assert model.t_ == 100 + 2048
    expected = Perceptron(combine=combine).partial_fit(X[:100], y[:100]).partial_fit(X[:2048], y[:2048])
    assert np.array_equal(model.coef_average_, expected.coef_average_)
    assert model.n_updates_ == expected.n_updates_
    assert np.array_equal(model.decision_function(X), expected.decision_function(X))


def test_the_old_handler_is_back_afterwards_and_is_called():
    called = []
    before = signal.signal(signal.SIGINT, lambda *arguments: called.append(1))
    try:
        with Uninterrupted() as hold:
            os.kill(os.getpid(), signal.SIGINT)
            assert not called
            hold.let()
            assert called == [1]
            hold.let()
            os.kill(os.getpid(), signal.SIGINT)
            assert called == [1]
        assert called == [1, 1]
        os.kill(os.getpid(), signal.SIGINT)
        assert called == [1, 1, 1]
    finally:
        signal.signal(signal.SIGINT, before)


ALARMED = """
import collections, signal, sys, warnings
import numpy as np
import perceptrons

class Late(Exception):
    pass

def late(number, frame):
    raise Late

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, y = rng.standard_normal((2000, 10)), rng.integers(0, 3, 2000)
make = lambda n: getattr(perceptrons, sys.argv[1])(combine=sys.argv[2], max_iter=n, tol=None)
make(1).fit(X, y)
signal.signal(signal.SIGALRM, late)
for k in range(20):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.002 + 0.002 * k)
        make(100_000).fit(X, y)
    except Late:
        print("late")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a system without alarms")
@pytest.mark.parametrize(("kind", "combine"), [("Perceptron", "vote"), ("KernelPerceptron", "average")])
def test_the_exception_of_an_alarm_comes_through_as_it_is(kind, combine):
    """In a process of its own, as it crashed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", ALARMED, kind, combine]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert (done.returncode, done.stdout) == (0, 20 * "late\n"), done.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_all_signals_that_came_are_answered_even_if_the_handler_of_one_raises():
    called = []

    def answer(number, frame):
        called.append(signal.Signals(number).name)
        raise TimeoutError(called[-1])

    def nested():
        with Uninterrupted():
            with Uninterrupted():
                for number in numbers:
                    signal.raise_signal(number)
            assert not called

    numbers = signal.SIGALRM, signal.SIGUSR1
    before = [signal.signal(number, answer) for number in numbers]
    try:
        with pytest.raises(TimeoutError):
            nested()
        assert sorted(called) == ["SIGALRM", "SIGUSR1"]
        assert [signal.getsignal(number) for number in numbers] == [answer, answer]
        with Uninterrupted(), pytest.raises(TimeoutError), interruptible():
            signal.raise_signal(signal.SIGUSR1)
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def test_a_program_that_ignores_ctrl_c_as_under_nohup_learns_to_the_end(monkeypatch, rng):
    X, y = gaussian(rng, 3000, 5, 2)
    expected = Perceptron(combine="vote", max_iter=5, tol=None).fit(X, y)
    monkeypatch.setattr(learner, "PIECE_OPERATIONS", 1)
    monkeypatch.setattr(learner, "learn", interrupting(one_pass.learn, 2))
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        model = Perceptron(combine="vote", max_iter=5, tol=None).fit(X, y)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert model.stop_reason_ == expected.stop_reason_
    assert np.array_equal(model.coef_last_, expected.coef_last_)
    assert np.array_equal(model.predict(X), expected.predict(X))


def test_other_threads_learn_without_touching_signals(rng):
    X, y = gaussian(rng, 500, 5, 2)
    expected = Perceptron(max_iter=5, tol=None).fit(X, y)
    models = [Perceptron(max_iter=5, tol=None) for _ in range(3)]
    threads = [threading.Thread(target=model.fit, args=(X, y)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(model.coef_, expected.coef_) for model in models)


def test_the_last_thread_out_gives_blas_its_threads_back_whoever_came_in_first():
    Perceptron(max_iter=1, tol=None).fit(np.eye(3), [0, 1, 2])  # loads the libraries
    before = [library["num_threads"] for library in threadpool_info()]
    first_is_in, second_is_in, first_is_out, second_is_out = (threading.Event() for _ in range(4))

    def first():
        with one_blas_thread:
            first_is_in.set()
            second_is_in.wait(10)
        first_is_out.set()
        second_is_out.wait(10)  # stays alive, as a thread of a pool does

    def second():
        first_is_in.wait(10)
        with one_blas_thread:
            second_is_in.set()
            first_is_out.wait(10)
        second_is_out.set()

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert second_is_out.is_set()
    assert [library["num_threads"] for library in threadpool_info()] == before


def test_fits_of_many_classes_in_several_threads_give_blas_its_threads_back(rng):
    X, y = gaussian(rng, 2000, 30, 200)
    before = [library["num_threads"] for library in threadpool_info()]
    threads = [threading.Thread(target=Perceptron(max_iter=3, tol=None).fit, args=(X, y)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [library["num_threads"] for library in threadpool_info()] == before


def test_signals_have_their_handlers_again_when_memory_runs_out_around_a_block():
    def raise_at_call(n):
        def count(frame, event, argument):
            nonlocal n
            by = frame if event == "c_call" else frame.f_back if event == "call" else None
            if by is not None and by.f_code.co_filename == interrupts.__file__:
                n -= 1
                if n == 0:
                    raise MemoryError

        return count

    failures = 0
    for n in range(1, 200):
        sys.setprofile(raise_at_call(n))
        try:
            with Uninterrupted():
                pass
        except MemoryError:
            failures += 1
        finally:
            sys.setprofile(None)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, n
        assert not interrupts._holding
    assert 10 < failures < 190  # every call failed once
