"""What a server answers is what the model, the command and the file answer."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from msgspec import structs

import perceptrons
from perceptrons.cli import main
from perceptrons.client import ServerError
from perceptrons.modelfile import as_bytes
from tests.support.served import KINDS, Examples, model_file, trained_offline
from tests.support.served_here import client_of, served

WITH_MODEL = [name for name in KINDS if KINDS[name].model is not None]


def labels_of(model, name, examples):
    """What the model itself says."""
    if name == "sparse":
        found = []
        for line in examples:
            x = np.zeros(model.n_features_in_)
            for cell in line.split():
                column, value = cell.split(":")
                if int(column) <= len(x):
                    x[int(column) - 1] += float(value)
            found.append(x)
        examples = np.array(found)
    elif name == "kernel":
        examples = np.array(examples)
    found = model.predict(examples)
    return [list(one) for one in found] if name == "tagger" else found.tolist()


@pytest.mark.parametrize("name", WITH_MODEL)
def test_predictions_are_those_of_the_model(name, tmp_path):
    path = model_file(name, tmp_path)
    examples, _ = Examples(name).some(20)
    if name == "sparse":
        with client_of(tmp_path / "served", path) as client, pytest.raises(ServerError, match="features 1 to 5"):
            client.predict(examples)  # as the command refuses it
        examples = [" ".join(line.split()[:2]) for line in examples]
    with client_of(tmp_path / "served", path) as client:
        assert client.predict(examples) == labels_of(perceptrons.load(path), name, examples)


@pytest.mark.parametrize("name", WITH_MODEL)
def test_scores_and_the_best_labels_are_those_of_the_model(name, tmp_path):
    path = model_file(name, tmp_path)
    model = perceptrons.load(path)
    examples, _ = Examples(name).some(5)
    if name == "sparse":
        examples = ["1:2 3:1"]
    with client_of(tmp_path / "served", path) as client:
        if name == "tagger":
            with pytest.raises(ServerError, match="not for taggers"):
                client.details(examples, top=1)
            leads = [one["scores"] for one in client.details(examples, scores=True)["predictions"]]
            np.testing.assert_array_equal(np.concatenate(leads), np.concatenate(model.token_confidence(examples)))
            return
        found = client.details(examples, scores=True, top=2)["predictions"]
    if name in ("sparse", "kernel"):
        examples = np.array([[2.0, 0, 1, 0, 0]] if name == "sparse" else examples)
    scores = model.decision_function(examples)
    rows = scores.reshape(len(examples), -1)
    np.testing.assert_array_equal([list(one["scores"].values()) for one in found], rows)
    for one in found:
        assert one["top"][0][0] == one["label"]
        assert one["top"][0][1] >= one["top"][1][1]


@pytest.mark.parametrize("name", [name for name in KINDS if name != "sparse"])
def test_learning_gives_the_model_that_learns_offline_byte_for_byte(name, tmp_path):
    path = model_file(name, tmp_path)
    examples, requests = Examples(name), []
    with served(tmp_path / "served", path) as http:
        client = http.client
        for n in (1, 7, 1, 20, 3):
            x, y = examples.some(n)
            before = client.predict(x)
            answer = client.learn(x, y)
            assert answer["predictions"] == before
            assert answer["mistakes"] == sum(one != said for one, said in zip(y, before, strict=True))
            requests.append({"x": x, "y": y})
        assert answer["version"] == 32
        content = http.get("/model/file").content
    assert content == as_bytes(trained_offline(name, path, requests))


def test_sparse_rows_with_new_columns_are_learned_as_if_the_columns_had_been_there(tmp_path):
    lines = (model_file("sparse", tmp_path).parent / "points.svm").read_text()
    (tmp_path / "wide.svm").write_text(lines.replace("\n", " 8:0\n", 1))
    examples, labels = Examples("sparse").some(30)
    found = []
    for data in ("points", "wide"):
        model = tmp_path / f"{data}.model"
        assert main(["train", str(tmp_path / f"{data}.svm"), "--quiet", "-o", str(model)]) == 0
        with client_of(tmp_path / f"{data}.served", model) as client:
            answers = [client.learn(examples[k : k + 5], labels[k : k + 5]) for k in range(0, 30, 5)]
            client.download(tmp_path / "now")
        learned = perceptrons.load(tmp_path / "now")
        found.append((answers, learned.coef_.tolist(), learned.intercept_.tolist()))
    assert found[0] == found[1]
    offline = perceptrons.load(model)
    for k in range(0, 30, 5):
        cells = [[cell.split(":") for cell in line.split()] for line in examples[k : k + 5]]
        X = np.zeros((5, 8))
        for x, row in zip(X, cells, strict=True):
            for column, value in row:
                x[int(column) - 1] = float(value)
        offline.partial_fit(sp.csr_matrix(X), labels[k : k + 5])
    assert as_bytes(offline) == (tmp_path / "now").read_bytes()


@pytest.mark.parametrize("name", KINDS)
def test_a_server_that_starts_again_has_the_same_model(name, tmp_path):
    path = model_file(name, tmp_path)
    examples = Examples(name)
    contents = []
    for every in (10**9, 5):  # with the log alone, and with snapshots in between
        with served(tmp_path / "served", path, snapshot_every=every) as http:
            client = http.client
            contents.append(http.get("/model/file").content)
            for n in (3, 4, 2):
                client.learn(*examples.some(n))
            contents.append(http.get("/model/file").content)
            http.service.writer._n_since_snapshot = 0  # no snapshot at the end: the next one must read the log
    with served(tmp_path / "served", path) as http:
        contents.append(http.get("/model/file").content)
    first = b'{"error":"The model has learned nothing yet, so there is no file of it."}'
    assert (contents[0] == first) == (path is None)
    assert contents[1] == contents[2] != contents[3] == contents[4]


def test_examples_of_one_request_are_the_same_as_json_lines(tmp_path):
    path = model_file("text", tmp_path)
    lines = b'{"text": "free cash", "label": "spam"}\n\n{"text": "see you", "label": "ham"}\n'
    kind = {"Content-Type": "application/x-ndjson"}
    with served(tmp_path / "lines", path) as http:
        learned = http.post("/learn", content=lines, headers=kind).text.splitlines()
        answered = http.post("/predict", content=b'"free"\n{"text": "you"}\n', headers=kind).text.splitlines()
        by_lines = http.get("/model/file").content
    with served(tmp_path / "json", path) as http:
        body = {"examples": ["free cash", "see you"], "labels": ["spam", "ham"]}
        at_once = http.post("/learn", json=body).json()
        predicted = http.post("/predict", json=["free", "you"]).json()
        assert http.get("/model/file").content == by_lines
    assert [json.loads(line)["prediction"] for line in learned] == at_once["predictions"]
    assert [json.loads(line)["label"] for line in answered] == [one["label"] for one in predicted["predictions"]]


def test_the_model_is_what_inspect_prints(tmp_path, capsys):
    for name in ("text", "tagger", "kernel", "table"):
        folder = tmp_path / name
        folder.mkdir()
        path = model_file(name, folder)
        assert main(["inspect", str(path), "--json"]) == 0
        printed = json.loads(capsys.readouterr().out)
        with client_of(folder / "served", path) as client:
            shown = client.model()
        assert shown.pop("version") == 0
        assert {"model": str(path), **shown} == printed


def test_contributions_add_up_to_the_score(tmp_path):
    path = model_file("text", tmp_path)
    with client_of(tmp_path / "served", path) as client:
        (one,) = client.details(["free cash prize"], scores=True, explain=True)["predictions"]
    found = one["explanation"]
    total = sum(found["contributions"][0]) + found["bias"][0]
    assert total == pytest.approx(next(iter(one["scores"].values())), rel=1e-5)
    assert found["features"] == ["free", "cash", "prize"]


def test_feedback_learns_an_earlier_prediction_once(tmp_path):
    path = model_file("text", tmp_path)
    with served(tmp_path / "served", path) as http:
        client = http.client
        asked = client.details(["free cash prize", "see you at home"])["predictions"]
        ids = [one["id"] for one in asked]
        first = client.feedback({ids[0]: "ham", ids[1]: "ham"})
        again = client.feedback({ids[0]: "ham"})
        assert (first["learned"], first["version"], first["repeated"]) == (2, 2, False)
        assert (again["version"], again["repeated"]) == (1, True)
        with pytest.raises(ServerError, match="another request"):
            client.feedback({ids[0]: "spam"})
        with pytest.raises(ServerError, match="no recent prediction"):
            client.feedback({"0-0": "spam"})
        learned = http.get("/model/file").content
    requests = [{"x": ["free cash prize"], "y": ["ham"]}, {"x": ["see you at home"], "y": ["ham"]}]
    assert learned == as_bytes(trained_offline("text", path, requests))
    with client_of(tmp_path / "served", path) as client:  # the id was forgotten, but not that it was learned
        assert client.feedback({ids[0]: "ham"})["repeated"]


def test_no_idempotency_key_of_a_client_is_taken_for_feedback(tmp_path):
    with client_of(tmp_path / "served", model_file("text", tmp_path)) as client:
        (one,) = client.details(["free cash prize"])["predictions"]
        client.learn(["see you"], ["ham"], key=f"feedback {one['id']}")
        answer = client.feedback({one["id"]: "ham"})
        assert (answer["version"], answer["repeated"]) == (2, False)


def test_spaces_around_a_key_do_not_count_and_several_keys_are_refused(tmp_path):
    body = {"examples": ["free cash"], "labels": ["spam"]}
    with served(tmp_path / "served", model_file("text", tmp_path)) as http:
        assert http.post("/learn", json=body, headers={"Idempotency-Key": "one"}).json()["version"] == 1
        assert http.post("/learn", json=body, headers={"Idempotency-Key": " one "}).json()["repeated"]
        answer = http.post("/learn", json=body, headers=[("Idempotency-Key", "two"), ("Idempotency-Key", "three")])
        assert answer.status_code == 400


@pytest.mark.parametrize("model", [perceptrons.KernelPerceptron, perceptrons.Perceptron])
def test_a_model_whose_parameters_do_not_let_it_learn_is_served_and_says_why(model, tmp_path):
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]]), ["a", "b", "b"]
    perceptrons.save(model(class_weight="balanced", max_iter=5, tol=None).fit(X, y), tmp_path / "model")
    with client_of(tmp_path / "served", tmp_path / "model") as client:
        assert client.predict(X.tolist()) == perceptrons.load(tmp_path / "model").predict(X).tolist()
        with pytest.raises(ServerError, match="balanced") as refused:
            client.learn(X[:1].tolist(), ["a"])
        assert refused.value.status == 422


def test_a_key_is_learned_once_across_restarts(tmp_path):
    path = model_file("text", tmp_path)
    for take in range(3):
        with client_of(tmp_path / "served", path, snapshot_every=1) as client:
            answer = client.learn(["free cash"], ["spam"], key="one")
            assert (answer["version"], answer["repeated"]) == (1, take > 0)
            with pytest.raises(ServerError, match="another request") as refused:
                client.learn(["free cash"], ["ham"], key="one")
            assert refused.value.status == 422


def test_rollback_returns_to_a_snapshot_and_stays_there_after_a_restart(tmp_path):
    path, examples = model_file("text", tmp_path), Examples("text")
    with served(tmp_path / "served", path) as http:
        client = http.client
        client.learn(*examples.some(5))
        assert client.snapshot()["version"] == 5
        kept = http.get("/model/file").content
        client.learn(*examples.some(4))
        assert http.get("/model/file").content != kept
        assert [one["version"] for one in client.snapshots()] == [0, 5]
        assert client.rollback(5) == {"version": 5, "generation": 1}
        assert http.get("/model/file").content == kept
        client.learn(*examples.some(2))
        learned = http.get("/model/file").content
        with pytest.raises(ServerError, match="no snapshot of version 6") as refused:
            client.rollback(6)
        assert refused.value.status == 404
    with served(tmp_path / "served", path) as http:
        assert http.get("/model/file").content == learned
        assert http.get("/stats").json()["generation"] == 1
        client = http.client
        assert client.rollback(0) == {"version": 0, "generation": 2}
        assert http.get("/model/file").content == as_bytes(perceptrons.load(path))


def test_an_empty_model_takes_what_the_first_example_is(tmp_path):
    first = {
        "text": ("free cash", "spam"), "features": ({"height": 1.5, "colour": "red"}, "tall"), "numbers": ([1, 2.5], 3),
        "tokens": (["The", "cat"], ["D", "N"]),
    }  # fmt: skip
    for kind, (example, label) in first.items():
        with client_of(tmp_path / kind) as client:
            assert client.predict([example]) == [None]
            assert client.learn([example], [label])["predictions"] == [None]
            assert client.predict([example]) == [label]
            assert client.stats()["model"]["input"] == kind
            with pytest.raises(ServerError, match="does not fit the model"):
                client.predict([None])


def test_rolling_an_empty_model_back_to_nothing_survives_a_restart(tmp_path):
    with client_of(tmp_path / "served") as client:
        client.learn(["free cash"], ["spam"])
        client.rollback(0)
        assert client.predict(["free"]) == [None]
        client.learn([[1.0, 2.0]], [7])
    with client_of(tmp_path / "served") as client:
        assert client.predict([[1.0, 2.0]]) == [7]


def test_requests_that_do_not_fit_change_nothing_and_say_what_is_wrong(tmp_path):
    path = model_file("text", tmp_path)
    with served(tmp_path / "served", path) as http:
        before = http.get("/model/file").content
        for path, body, status, said in [
            ("/learn", {"examples": ["free"], "labels": []}, 422, "1 examples, but 0 labels"),
            ("/learn", {"examples": ["free"], "labels": [None]}, 422, "a label must be a string or a whole number"),
            ("/learn", {"examples": ["free"], "labels": [2**70]}, 422, "Labels that do not fit in 64 bits"),
            ("/learn", {"examples": ["free"]}, 422, "has no label"),
            ("/learn", {"examples": [7], "labels": ["ham"]}, 422, "which takes a text"),
            ("/learn", {"examples": []}, 400, "at $.examples: expected `array` of length >= 1"),
            ("/learn", {"examples": ["a"], "labels": ["ham"], "scores": True}, 400, "unknown field `scores`"),
            ("/predict", {"examples": ["a"], "top": 0}, 400, "at $.top: expected `int` >= 1"),
            ("/predict", {"examples": ["a"], "probabilities": True}, 422, "not calibrated"),
            ("/predict", {"examples": ["a"], "labels": ["ham"]}, 400, "unknown field `labels`"),
            ("/rollback", {"version": "1"}, 400, "at $.version: expected `int`, got `str`"),
            ("/nowhere", {}, 404, "nothing at this path"),
            ("/model", {}, 405, "another method"),
        ]:
            answer = http.post(path, json=body)
            assert answer.status_code == status, (path, body, answer.text)
            assert said in answer.json()["error"]
        assert http.get("/model/file").content == before
        assert http.get("/readyz").json() == {"status": "ready", "version": 0}


def test_a_label_that_would_make_floats_of_all_labels_is_refused(tmp_path):
    path = model_file("sparse", tmp_path)
    with served(tmp_path / "served", path) as http:
        for body in ({"examples": ["1:1"], "labels": [2**63]}, {"examples": ["1:1", "1:2"], "labels": [1, 2**63]}):
            assert http.post("/learn", json=body).status_code == 422
        (one,) = http.post("/predict", json=["1:1"]).json()["predictions"]
        assert type(one["label"]) is int


def test_requests_of_a_group_are_refused_one_by_one(tmp_path):
    path = model_file("text", tmp_path)
    with served(tmp_path / "served", path) as http:
        writer = http.service.writer
        waiting = [
            writer.submit(["free cash"], ["spam"]), writer.submit(["free"], [2**70]),
            writer.submit(["see"], ["ham"], "k", "1"),
            writer.submit(["see"], ["ham"], "k", "1"), writer.submit(["see"], ["spam"], "k", "2"),
        ]  # fmt: skip
        assert [isinstance(one.exception(), ValueError) for one in waiting] == [False, True, False, False, True]
        assert waiting[3].result() == structs.replace(waiting[2].result(), repeated=True)
        learned = http.get("/model/file").content
    requests = [{"x": ["free cash"], "y": ["spam"]}, {"x": ["see"], "y": ["ham"]}]
    assert learned == as_bytes(trained_offline("text", path, requests))


def test_numbers_for_prometheus_count_what_happened(tmp_path):
    with served(tmp_path / "served", model_file("text", tmp_path)) as http:
        client = http.client
        client.learn(["free cash"] * 100, ["spam"] * 100)
        client.predict(["see you"] * 3)
        text = http.get("/metrics").text
    for line in (
        'perceptrons_requests_total{route="/learn",status="200"} 1.0', "perceptrons_version 100.0",
        "perceptrons_learned 100.0", "perceptrons_predicted 3.0", "perceptrons_position 1.0",
        'perceptrons_progressive_error{window="100"} 0.0',
    ):  # fmt: skip
        assert line in text
