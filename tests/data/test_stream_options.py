"""Options of `stream` that all formats share or svmlight alone has: precision, reading as a model's files were read."""

import numpy as np
import pytest

import perceptrons
from perceptrons import Checkpoint, Perceptron
from perceptrons.data import source, stream


@pytest.fixture
def svm(tmp_path, monkeypatch):
    """A file of some blocks."""
    monkeypatch.setattr(source, "PIECE", 200)
    lines = [f"{'spam' if n % 3 else 'ham'} 1:{n / 7} {n % 5 + 2}:{1 / (n + 1)!r}" for n in range(60)]
    path = tmp_path / "a.svm"
    path.write_text("\n".join(lines))
    return path


def test_float32_is_float64_rounded_and_stays_so_in_the_weights(svm):
    for single, double in zip(stream(svm, dtype="float32"), stream(svm), strict=True):
        assert (single.X.dtype, double.X.dtype) == (np.float32, np.float64)
        assert np.array_equal(single.X.data, double.X.data.astype(np.float32))
    model = Perceptron().fit_stream(stream(svm, dtype="float32"), epochs=3)
    assert model.coef_.dtype == np.float32
    assert model.source_["dtype"] == "float32"


@pytest.mark.parametrize("dtype", ["float16", "int", np.float32])
def test_other_precisions_are_refused(svm, dtype):
    with pytest.raises(ValueError, match="give 'float32' or 'float64'"):
        stream(svm, dtype=dtype)


def test_blocks_that_are_kept_stay_what_they_are_though_memory_is_used_again(svm):
    kept = list(stream(svm))
    values = [block.X.data.copy() for block in kept]
    list(stream(svm))
    assert len(kept) > 5
    for block, value in zip(kept, values, strict=True):
        assert np.array_equal(block.X.data, value)


@pytest.mark.parametrize(("name", "text", "options"), [
    ("a.svm", "1 0:1 2:3\n-1 1:1\n1 2:2\n-1 1:2\n", {}),
    ("a.svm", "1 5:1 99999999999:3\n-1 1:1\n", {"hash_bits": 5}),
    ("a.vw", "1 |w free cash\n-1 |w see you\n1 |w free\n", {}),
    ("a.ft", "spam\tfree cash now\nham\tsee you\nspam\tfree\n", {}),
    ("a.ft", "spam\tfree cash now\nham\tsee you\nspam\tfree\n", {"hash_bits": 0}),
    ("a.csv", "height,colour,kind\n1.5,red,a\n2,blue,b\n1,red,a\n", {}),
])  # fmt: skip
def test_a_saved_model_reads_new_files_as_its_own_were(tmp_path, name, text, options):
    path = tmp_path / name
    path.write_text(text)
    model = Perceptron().fit_stream(stream(path, **options), epochs=9)
    perceptrons.save(model, tmp_path / "model")
    loaded = perceptrons.load(tmp_path / "model")
    (block,) = stream(path, like=loaded)
    assert block.X.shape[1] == loaded.n_features_in_
    assert loaded.predict(block.X).tolist() == block.y.tolist()


@pytest.mark.parametrize("source", [
    {}, {"format": "evil"}, {"format": ["text"]}, {"format": "text", "text": 5},
    {"format": "text", "text": {"evil": 1}},
    {"format": "svmlight", "zero_based": "no"}, {"format": "svmlight", "hash_bits": "8"}, {"format": "csv", "names": 7},
])  # fmt: skip
def test_a_recipe_that_makes_no_sense_is_one_line(svm, source, run, tmp_path):
    model = Perceptron().fit_stream(stream(svm))
    model.source_ = source
    perceptrons.save(model, tmp_path / "model")
    with pytest.raises(ValueError, match=r"."):
        list(stream(svm, like=perceptrons.load(tmp_path / "model")))
    code, _, err = run("predict", tmp_path / "model", svm)
    assert (code, len(err.splitlines())) == (2, 1), err


def test_a_model_that_learned_from_arrays_reads_only_files_whose_columns_have_numbers_or_its_names(svm):
    model = Perceptron().fit([[0.0], [1.0]], [0, 1])
    for format in ("vw", "text"):
        with pytest.raises(ValueError, match=f"was not trained on files of format {format}"):
            stream(svm, format=format, like=model)


def test_an_interruption_within_a_block_leaves_the_checkpoint_of_the_block_before(svm, tmp_path):
    def interrupt(now):
        if now["mark"] and now["examples"] == 32:
            raise KeyboardInterrupt

    path = tmp_path / "run.checkpoint"
    with pytest.raises(KeyboardInterrupt):
        Perceptron().fit_stream(stream(svm), epochs=2, checkpoint=Checkpoint(path, every=0), watch=interrupt)
    resumed = Perceptron().fit_stream(stream(svm), epochs=2, checkpoint=Checkpoint(path, resume=True))
    never_stopped = Perceptron().fit_stream(stream(svm), epochs=2)
    assert np.array_equal(resumed.coef_, never_stopped.coef_)
    assert resumed.progress_ == never_stopped.progress_
