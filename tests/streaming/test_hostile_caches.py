"""Caches and checkpoints with right checksums that say anything: refused in one line, by Python and the command."""

import json
import zlib

import numpy as np
import pytest

from perceptrons import Checkpoint, Perceptron
from perceptrons.data import stream
from perceptrons.engine.streaming.cache import MAGIC, TAIL, ArrayFileError
from perceptrons.modelfile import as_bytes, load_with_header

CACHES = {
    "no records": lambda c: c.pop("records"),
    "no notes": lambda c: c.pop("notes"),
    "notes that are none": lambda c: c.update(notes=[1]),
    "nothing learned": lambda c: c["notes"].pop("learned"),
    "another thing learned": lambda c: c["notes"].update(learned={"n_features": "many"}),
    "records that are numbers": lambda c: c.update(records=[1, 2]),
    "a record without arrays": lambda c: c["records"][0].pop("arrays"),
    "a shape that is none": lambda c: c["records"][0]["arrays"]["codes"].__setitem__(2, "x"),
    "a type that is none": lambda c: c["records"][0]["arrays"]["codes"].__setitem__(1, "evil"),
    "a place without end": lambda c: c["records"][0].update(begin=float("inf")),
    "facts that are none": lambda c: c["records"][0].update(facts=3),
    "no form": lambda c: c["records"][0]["facts"].pop("form"),
    "rows of another shape": lambda c: c["records"][0]["facts"].update(shape=[1]),
    "rows of objects": lambda c: c["records"][0]["facts"].update(dtype="O"),
    "no labels": lambda c: c["records"][0]["arrays"].pop("codes"),
    "a number for counting from zero": lambda c: c["notes"]["learned"].update(zero_based=3),
    "counting from infinity": lambda c: c["notes"]["learned"].update(zero_based=float("inf")),
    "another format": lambda c: c["notes"]["learned"].update(format="9" * 40),
    "features without number": lambda c: c["notes"]["learned"].update(n_features=2**40),
    "wider rows than the reader knows": lambda c: c["records"][0]["facts"]["shape"].__setitem__(1, 2**31 - 1),
}


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text("".join(f"{k % 2} 1:{k % 3} 2:{k % 5 + 1}\n" for k in range(40)))
    return path


def forge_cache(path, change):
    """Change the index of a cache; its checksum is right."""
    content = path.read_bytes()
    begin, length, _ = np.frombuffer(content[-TAIL:], "<i8").tolist()
    assert content.startswith(MAGIC)
    index = json.loads(content[begin : begin + length])
    change(index)
    text = json.dumps(index).encode()
    path.write_bytes(content[:begin] + text + np.array([begin, len(text), zlib.crc32(text)], "<i8").tobytes())


@pytest.mark.parametrize("case", CACHES)
def test_a_cache_that_does_not_fit_together_is_refused(case, data, tmp_path, refused, run):
    cache, model = tmp_path / "cache", tmp_path / "model"
    how = ("--in-memory", 0, "--test-share", 0, "--cache", cache, "--epochs", 2)
    command = ("train", data, *how, "-o", model, "--quiet")
    assert run(*command)[0] == 0
    forge_cache(cache, CACHES[case])
    assert "cache" in refused(*command)
    with pytest.raises(ArrayFileError, match="cache"):
        Perceptron().fit_stream(stream(data, format="svmlight"), epochs=2, cache=cache)


@pytest.mark.parametrize("classes", [[1, 0], [0, 0]])
def test_a_cache_whose_classes_are_not_in_order_or_repeat_is_refused(classes, data, tmp_path):
    cache = tmp_path / "cache"
    Perceptron().fit_stream(stream(data, format="svmlight"), epochs=2, cache=cache)
    content = bytearray(cache.read_bytes())
    begin, length, _ = np.frombuffer(content[-TAIL:], "<i8").tolist()
    record = json.loads(content[begin : begin + length])["records"][0]
    offset, dtype, shape = record["arrays"]["classes"]
    assert shape == [2]
    start = record["begin"] + offset
    content[start : start + 2 * np.dtype(dtype).itemsize] = np.array(classes, dtype).tobytes()
    checksum = 0
    for offset, dtype, shape in record["arrays"].values():
        start = record["begin"] + offset
        checksum = zlib.crc32(content[start : start + int(np.prod(shape)) * np.dtype(dtype).itemsize], checksum)
    cache.write_bytes(content)
    forge_cache(cache, lambda index: index["records"][0].update(checksum=checksum))
    with pytest.raises(ArrayFileError, match="ascending order"):
        Perceptron().fit_stream(stream(data, format="svmlight"), epochs=2, cache=cache)


TABLE = "".join(f'{{"label": "{"yn"[k % 2]}", "size": {k % 3}, "kind": "{"uvw"[k % 3]}"}}\n' for k in range(20))
TEXT = "".join(f"{'yn'[k % 2]}\tword{k % 5} and word{k % 3}\n" for k in range(20))
KNOWN = {
    "categories that are a number": ("jsonl", lambda n: n.update(categories=3)),
    "a number among the columns": ("jsonl", lambda n: n["numbers"].append(3)),
    "no number among the columns": ("jsonl", lambda n: n["numbers"].append(float("nan"))),
    "a label column that is none": ("jsonl", lambda n: n.update(label_column={"pairs": []})),
    "columns that are not what they are called": ("jsonl", lambda n: n.update(numbers=0.0)),
    "texts that are true": ("jsonl", lambda n: n.update(text_column=True)),
    "a form that is a number": ("text", lambda n: n.update(form=7)),
    "a form without end": ("text", lambda n: n.update(form=float("inf"))),
    "fewer bits": ("text", lambda n: n["columns"].update(bits=n["columns"]["bits"] - 1)),
    "no bits": ("text", lambda n: n["columns"].update(bits=None)),
    "no columns": ("text", lambda n: n.pop("columns")),
}


@pytest.mark.parametrize("case", KNOWN)
def test_a_cache_with_what_no_reader_had_learned_is_refused_before_it_is_in_a_model(case, tmp_path):
    format, change = KNOWN[case]
    data, cache = tmp_path / "data", tmp_path / "cache"
    data.write_text(TABLE if format == "jsonl" else TEXT)
    Perceptron().fit_stream(stream(data, format=format), epochs=2, cache=cache)
    before = cache.read_bytes()
    forge_cache(cache, lambda c: change(c["notes"]["learned"]))
    with pytest.raises(ArrayFileError, match="cache: the cache is inconsistent"):
        Perceptron().fit_stream(stream(data, format=format), epochs=2, cache=cache)
    cache.write_bytes(before)
    Perceptron().fit_stream(stream(data, format=format), epochs=2, cache=cache)


def test_a_cache_of_hashed_rows_that_are_wider_or_narrower_is_refused(tmp_path):
    data, cache = tmp_path / "data", tmp_path / "cache"
    data.write_text(TEXT)
    for more in (-1, 1):
        cache.unlink(missing_ok=True)
        Perceptron().fit_stream(stream(data, format="text"), epochs=2, cache=cache)
        forge_cache(cache, lambda c, m=more: c["records"][0]["facts"].update(shape=[20, 2**20 + m]))
        with pytest.raises(ArrayFileError, match="as wide as"):
            Perceptron().fit_stream(stream(data, format="text"), epochs=2, cache=cache)


@pytest.mark.parametrize("other", ["codes", "values"])
def test_a_cache_with_labels_of_two_kinds_is_refused_by_the_command(other, tmp_path, monkeypatch, refused, run):
    monkeypatch.setattr("perceptrons.data.source.PIECE", 300)
    data, cache = tmp_path / "data", tmp_path / "cache"
    data.write_text(TABLE)
    options = ("--format", "jsonl", "--in-memory", 0, "--cache", cache, "--epochs", 2)
    command = ("train", data, *options, "-o", tmp_path / "m", "--quiet")
    assert run(*command)[0] == 0

    def change(content):
        record, written = content["records"][1], cache.read_bytes()
        record["arrays"]["classes"] = record["arrays"][other]
        record["checksum"] = 0
        for place, kind, shape in record["arrays"].values():
            begin = record["begin"] + place
            array = written[begin : begin + np.dtype(kind).itemsize * int(np.prod(shape))]
            record["checksum"] = zlib.crc32(array, record["checksum"])

    forge_cache(cache, change)
    assert "cache: the cache is inconsistent" in refused(*command)


def test_a_cache_without_blocks_is_made_again(data, tmp_path):
    cache = tmp_path / "cache"
    right = Perceptron().fit_stream(stream(data, format="svmlight"), epochs=2, cache=cache).coef_
    forge_cache(cache, lambda c: c["records"].pop(0))
    again = Perceptron().fit_stream(stream(data, format="svmlight"), epochs=2, cache=cache)
    np.testing.assert_array_equal(again.coef_, right)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_checkpoint_of_weights_whose_squares_overflow_goes_on_and_can_be_saved(dtype, data, tmp_path):
    path = tmp_path / "run.checkpoint"
    reading = {"format": "svmlight", "dtype": dtype}
    Perceptron().fit_stream(stream(data, **reading), epochs=2, checkpoint=Checkpoint(path))
    model, header = load_with_header(path)
    model._learner.weights.arrays["w"][:] = 1e300 if dtype == "float64" else 1e30
    path.write_bytes(as_bytes(model, place=header["place"]))
    model = Perceptron().fit_stream(stream(data, **reading), epochs=4, checkpoint=Checkpoint(path, resume=True))
    assert 1e29 < model.history_[-1]["norm"] < np.inf
    as_bytes(model)


PLACES = {
    "blocks that do not exist": lambda p: p.update(order=[5, 6, 7]),
    "a block before the first": lambda p: p.update(order=[-1]),
    "an order of words": lambda p: p.update(order=["a"]),
    "no order at all": lambda p: p.update(order=3),
    "half an epoch": lambda p: p.update(epoch=0.5),
    "no epoch": lambda p: p.pop("epoch"),
    "blocks without number": lambda p: p.update(blocks=None),
    "marks that are none": lambda p: p.update(marks=[3]),
    "marks without end": lambda p: p.update(marks=[[2**63, 0]]),
    "marks below zero": lambda p: p.update(marks=[[4, -1]]),
    "epochs without end": lambda p: p.update(epoch=10**30),
    "neither done nor not": lambda p: p.update(done="x"),
    "files that are none": lambda p: p.update(about=[3]),
    "no files": lambda p: p.pop("about"),
}


@pytest.mark.parametrize("case", PLACES)
def test_a_checkpoint_that_does_not_say_where_to_go_on_is_refused(case, data, tmp_path):
    path = tmp_path / "run.checkpoint"
    Perceptron().fit_stream(stream(data, format="svmlight"), epochs=2, checkpoint=Checkpoint(path))
    model, header = load_with_header(path)
    place = header["place"]
    PLACES[case](place)
    path.write_bytes(as_bytes(model, place=place))
    with pytest.raises(ValueError, match=str(path)):
        Perceptron().fit_stream(stream(data, format="svmlight"), epochs=4, checkpoint=Checkpoint(path, resume=True))


def test_a_checkpoint_without_the_progress_of_its_first_epoch_goes_on(data, tmp_path, run):
    path = tmp_path / "run.checkpoint"
    command = ("train", data, "--format", "svmlight", "--checkpoint", path, "--epochs")
    assert run(*command, 2)[0] == 0
    learned, header = load_with_header(path)
    del learned.progress_
    path.write_bytes(as_bytes(learned, place=header["place"]))
    assert run(*command, 3, "--resume")[0] == 0


@pytest.mark.parametrize("limit", ["0", "2GiB"])
@pytest.mark.parametrize("case", PLACES)
def test_the_command_refuses_such_a_checkpoint_in_one_line(case, limit, data, tmp_path, run, refused):
    path, model = tmp_path / "run.checkpoint", tmp_path / "model"
    command = ("train", data, "--in-memory", limit, "--checkpoint", path, "-o", model, "--epochs")
    assert run(*command, 2)[0] == 0
    learned, header = load_with_header(path)
    PLACES[case](header["place"])
    path.write_bytes(as_bytes(learned, place=header["place"]))
    assert str(path) in refused(*command, 4, "--resume")
