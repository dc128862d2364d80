"""Caches and checkpoints with right checksums that say anything: refused in one line, by Python and the command."""

import json
import zlib

import numpy as np
import pytest

from perceptrons import Checkpoint, Perceptron
from perceptrons.data import stream
from perceptrons.modelfile import as_bytes, load_with_header
from perceptrons.training.arrayfile import MAGIC, TAIL, ArrayFileError

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
    command = ("train", data, "--format", "svmlight", "--cache", cache, "--epochs", 2, "-o", model, "--quiet")
    assert run(*command)[0] == 0
    forge_cache(cache, CACHES[case])
    assert "cache" in refused(*command)
    with pytest.raises(ArrayFileError, match="cache"):
        Perceptron().fit_stream(stream(data, format="svmlight"), epochs=2, cache=cache)


PLACES = {
    "blocks that do not exist": lambda p: p.update(order=[5, 6, 7]),
    "a block before the first": lambda p: p.update(order=[-1]),
    "an order of words": lambda p: p.update(order=["a"]),
    "no order at all": lambda p: p.update(order=3),
    "half an epoch": lambda p: p.update(epoch=0.5),
    "no epoch": lambda p: p.pop("epoch"),
    "blocks without number": lambda p: p.update(blocks=None),
    "marks that are none": lambda p: p.update(marks=[3]),
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
