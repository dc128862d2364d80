"""Checkpoints and model files of a cluster with right checksums that say anything: refused in one line."""

import numpy as np
import pytest

from perceptrons import Checkpoint, ModelFileError, Perceptron, load
from perceptrons.distributed import fit
from perceptrons.modelfile import as_bytes, load_with_header

MIXED = {
    "more shards than orders": lambda p: p.update(shards=3),
    "no shards": lambda p: p.update(shards=0, orders=[]),
    "no number of shards": lambda p: p.pop("shards"),
    "a word for shards": lambda p: p.update(shards="two"),
    "shards without end": lambda p: p.update(shards=10**30),
    "half a shard": lambda p: p.update(shards=1.5),
    "yes for a number": lambda p: p.update(shards=True, orders=p["orders"][:1]),
    "no orders": lambda p: p.update(orders=None),
    "orders that are numbers": lambda p: p.update(orders=[1, 2]),
    "orders without states": lambda p: p.update(orders=[{}, {}]),
    "a state of another generator": lambda p: p["orders"][1].update(bit_generator="MT19937"),
    "a state below zero": lambda p: p["orders"][1]["state"].update(state=-1),
    "a state without end": lambda p: p["orders"][0]["state"].update(inc=2**200),
    "half a state": lambda p: p["orders"][0].pop("uinteger"),
    "a state that is a list": lambda p: p["orders"][0].update(state=[1]),
    "an unknown mix": lambda p: p.update(mixing="evil"),
    "a mix that is a list": lambda p: p.update(mixing=[]),
    "no mix": lambda p: p.pop("mixing"),
    "neither done nor not": lambda p: p.update(done="x"),
    "no end": lambda p: p.pop("done"),
    "other data": lambda p: p.update(about=3),
    "no data": lambda p: p.pop("about"),
}


@pytest.mark.parametrize("case", MIXED)
def test_a_checkpoint_of_a_cluster_that_does_not_say_where_to_go_on_is_refused(case, client, tmp_path):
    path = tmp_path / "run.checkpoint"
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    fit(Perceptron(max_iter=2), X, y, client, shards=2, checkpoint=Checkpoint(path))
    model, header = load_with_header(path)
    place = header["place"]
    MIXED[case](place)
    path.write_bytes(as_bytes(model, place=place))
    untrained = Perceptron(max_iter=4)
    with pytest.raises(ValueError, match=str(path)) as refusal:
        fit(untrained, X, y, client, checkpoint=Checkpoint(path, resume=True))
    assert "\n" not in str(refusal.value)
    assert not hasattr(untrained, "coef_")


SHARDS = {
    "no updates": lambda s: s.pop("updates"),
    "lists of other lengths": lambda s: s["weights"].pop(),
    "no shard at all": lambda s: [part.clear() for part in s.values()],
    "an unknown list": lambda s: s.update(evil=[1, 2]),
}


@pytest.mark.parametrize("case", SHARDS)
def test_a_history_of_shards_that_does_not_fit_together_is_refused(case, client, tmp_path):
    """The bound on the epochs of mixing is computed from it."""
    X = np.array([[0.0, 2.0], [0.0, -2.0], [1.0, 2.0], [1.0, -2.0]])
    model = fit(Perceptron(fit_intercept=False), X, [1, 0, 1, 0], client, shards=2)
    SHARDS[case](model.history_[0]["shards"])
    path = tmp_path / "model"
    path.write_bytes(as_bytes(model))
    with pytest.raises(ModelFileError, match="shards"):
        load(path)
