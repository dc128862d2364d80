"""Figures are drawn without a screen, closed after every test, and change no settings of matplotlib for others."""

import matplotlib
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def closed_figures():
    before = dict(matplotlib.rcParams)
    yield
    assert dict(matplotlib.rcParams) == before, "a picture changed matplotlib's settings for others"
    plt.close("all")
