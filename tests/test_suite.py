"""The tests themselves: they end, wherever they are started, their processes stay small, and slow ones wait."""

import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tests.conftest import LAYOUTS, ROOT
from tests.support import limits, tiers


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a system without alarms")
def test_a_test_that_never_ends_is_ended():
    assert signal.getitimer(signal.ITIMER_REAL)[0] > 0, "an alarm is set"
    with pytest.raises(TimeoutError, match="still running"):
        signal.raise_signal(signal.SIGALRM)


def test_the_test_with_which_a_process_becomes_too_large_fails_and_names_the_hungriest(monkeypatch):
    sizes = iter([300, 1000, 1100, 1600, 1700])
    monkeypatch.setattr(limits, "megabytes", lambda which="VmHWM": next(sizes) if which == "VmHWM" else 0)
    monkeypatch.setattr(limits, "MEGABYTES", 1500)
    limited = limits.Limits()

    def torn_down(name):
        steps = limited.pytest_runtest_teardown(SimpleNamespace(nodeid=name))
        next(steps)
        with pytest.raises(StopIteration):
            steps.send(None)

    torn_down("large")
    torn_down("small")
    with pytest.raises(pytest.fail.Exception) as caught:
        torn_down("last")
    first, *hungry = caught.value.msg.splitlines()
    assert "1,600 MB" in first
    assert [line.split()[-1] for line in hungry] == ["large", "last", "small"]
    torn_down("after")  # one failure says it


def test_a_test_that_leaves_another_handler_of_ctrl_c_fails_and_the_next_one_does_not():
    limited = limits.Limits()

    def torn_down():
        steps = limited.pytest_runtest_teardown(SimpleNamespace(nodeid="any"))
        next(steps)
        steps.send(None)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with pytest.raises(pytest.fail.Exception, match="SIG_IGN"):
        torn_down()
    with pytest.raises(StopIteration):
        torn_down()


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted otherwise elsewhere")
def test_memory_is_counted():
    before = limits.megabytes("VmRSS")
    held = np.ones(2**23)  # 64 MB
    assert limits.megabytes("VmRSS") - before > 50
    del held
    limits.give_back()
    assert limits.megabytes("VmRSS") - before < 30
    assert limits.megabytes() - before > 50


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_is_tested_where_it_is_ignored_as_in_the_background_of_a_script():
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    test = "tests/training/test_interrupts.py::test_an_interrupted_fit_is_consistent[average-1]"
    command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *words, test]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("asked", "run"),
    [
        ({}, ["quick", "dense-float64", "csr32-float32"]),
        ({"args": ["tests/test_suite.py"]}, ["quick", "dense-float64", "csr32-float32"]),
        ({"all": True}, None),
        ({"markexpr": "slow"}, None),
        ({"args": ["tests/test_suite.py::test_memory_is_counted"]}, None),
    ],
    ids=str,
)
def test_slow_tests_are_run_if_they_are_asked_for(asked, run):
    marked = Test("slow", {})
    marked.add_marker(pytest.mark.slow)
    kinds = [
        Test(f"{layout}-{n}", {"layout": layout, "dtype": n}) for layout in LAYOUTS for n in ("float32", "float64")
    ]
    tests = [Test("quick", {}), marked, *kinds]
    every, left_out = [test.name for test in tests], []
    config = SimpleNamespace(
        option=SimpleNamespace(all=asked.get("all", False), markexpr=asked.get("markexpr", "")),
        args=asked.get("args", ["tests", "src"]),
        hook=SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items)),
    )
    tiers.pytest_collection_modifyitems(config, tests)
    assert [test.name for test in tests] == (run or every)
    assert sorted(test.name for test in [*tests, *left_out]) == sorted(every), "pytest counts what is left out"


class Test:
    """What pytest collects."""

    __test__ = False

    def __init__(self, name, params):
        self.name, self.callspec, self._markers = name, SimpleNamespace(params=params), []

    def add_marker(self, marker):
        self._markers.append(marker.name)

    def get_closest_marker(self, name):
        return name in self._markers
