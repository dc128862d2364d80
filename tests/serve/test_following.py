"""A served model follows what it learns as in Python, and its server can be started with another way of learning."""

import copy

import numpy as np
import pytest

import perceptrons
from perceptrons import Perceptron
from perceptrons.cli import main
from perceptrons.serve.service import prepare
from perceptrons.serve.state import State
from perceptrons.serve.store import Store, StoreError
from tests.linear.test_following import assert_same, whole_numbers


@pytest.fixture
def fitted():
    return Perceptron(max_iter=8, tol=None).fit(*whole_numbers(3))


def test_a_server_learns_as_partial_fit_does(fitted):
    X, y = whole_numbers(3, n=200, changed=True)
    state = State(copy.deepcopy(fitted))
    for start in range(0, 200, 7):
        state.learn(X[start : start + 7].tolist(), y[start : start + 7].tolist())
    assert_same(state.model, fitted.partial_fit(X, y))
    assert state.model.combine_ == "last"
    predicted = state.predict(X[:20].tolist(), scores=False)
    assert [one.label for one in predicted] == fitted.predict(X[:20]).tolist()


def test_a_folder_belongs_to_a_model_and_its_options(fitted, tmp_path, capsys):
    path, changes = tmp_path / "m", {"combine": "last"}
    perceptrons.save(fitted, path)
    prepare(Store(tmp_path / "data"), perceptrons.load(path).set_params(**changes), path, changes)
    (snapshot,) = Store(tmp_path / "data").snapshots()
    prepare(Store(tmp_path / "data"), None, path, changes)  # starts again
    for other in ({}, {"combine": "average"}, {"keep_learning": "average"}):
        with pytest.raises(StoreError, match="with other options"):
            prepare(Store(tmp_path / "data"), None, path, other)
    assert snapshot.version == 0
    serve = ("serve", "--data", str(tmp_path / "data"), "--quiet", "--port", "0")
    assert main([*serve, "--keep-learning", "average"]) == 2
    assert "--keep-learning is for the first start with a MODEL" in capsys.readouterr().err
    assert main(["serve", str(path), "--data", str(tmp_path / "new"), "--combine", "recent", "--port", "0"]) == 2
    assert "holds no recent average" in capsys.readouterr().err


def test_the_options_of_a_first_start_are_those_of_the_served_model(fitted, tmp_path, monkeypatch):
    path = tmp_path / "m"
    perceptrons.save(fitted, path)
    served = []
    monkeypatch.setattr("perceptrons.serve.server.serve", lambda service, *_: served.append(service.writer))
    options = ("--combine", "last", "--keep-learning", "average", "--quiet", "--port", "0")
    assert main(["serve", str(path), "--data", str(tmp_path / "data"), *options]) == 0
    writer = served[0]
    writer.recover()
    with writer.buffer.reading() as front:
        assert (front.model.combine, front.model.keep_learning) == ("last", "average")
        assert np.array_equal(front.model.coef_, fitted.coef_last_)
