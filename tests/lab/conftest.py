"""One browser, and pages of the lab in it."""

import pytest

from perceptrons.lab import show
from tests.support.browser import Page, browser, find_browser


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests of the lab; without one they are skipped."""
    if find_browser() is None:
        pytest.skip("no Chromium or Chrome is installed (apt install chromium), so pages are not opened")
    with browser() as running:
        yield running


@pytest.fixture(scope="session")
def lab_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("lab") / "lab.html"
    show().save(path)
    return path


@pytest.fixture
def opened(chromium, lab_file):
    """Opens the lab, with a part of the address behind #, in a window of some size; closes it in the end."""
    pages = []

    def open_lab(fragment="", width=1280, height=900, dark=False, path=lab_file):
        address = path.resolve().as_uri() + (f"#{fragment}" if fragment else "")
        pages.append(Page(chromium, address, width, height, dark))
        return pages[-1]

    yield open_lab
    for page in pages:
        page.close()


@pytest.fixture(scope="session")
def engine(chromium, lab_file):
    """A page whose functions can be called; it stays open."""
    page = Page(chromium, lab_file.resolve().as_uri(), 800, 600, False)
    yield page
    page.close()
