"""Two tiers of tests. `pytest` runs the first, in minutes; `pytest --all` runs both. Nothing is only in neither.

Most time goes into compiling, and numba compiles every loop once more for every kind of rows. So where a test comes
with several kinds, the first tier has two of them, which differ in everything; see CONTRIBUTING.md.
"""

import pytest

FIRST = {("dense", None), ("dense", "float64"), ("csr32", "float32"), (None, "float32"), (None, "float64")}
LAYOUTS, NUMBERS = ("dense", "csr32", "csr64"), ("float32", "float64")  # the fixtures of conftest.py


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="Also run the slow tests (default: only the first tier).")


def pytest_collection_modifyitems(config, items):
    """Leave out slow tests, unless --all, -m or the name of a test asks for them."""
    for item in items:
        if of_another_kind(getattr(item, "callspec", None)):
            item.add_marker(pytest.mark.slow)
    if config.option.all or config.option.markexpr or any("::" in argument for argument in config.args):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]


def of_another_kind(callspec):
    """Does the test have rows of a kind that is left to the second tier?"""
    params = callspec.params if callspec else {}
    layout = params.get("layout", params.get("form"))
    layout = layout if isinstance(layout, str) and layout in LAYOUTS else None
    number = params.get("dtype") if str(params.get("dtype")) in NUMBERS else None
    return (layout, number) not in FIRST | {(None, None)}


def slow(*cases):
    """Cases of a parametrised test that are left to the second tier."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow) for case in cases]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Run a file's tests in one process: in several, each would compile, load and set up the same things.

    Files come in their order, not those of most tests first: the last are the examples of src, each soon done.
    """
    if config.option.dist == "load":
        from xdist.scheduler import LoadFileScheduling

        config.option.loadscopereorder = False
        return LoadFileScheduling(config, log)
    return None
