"""The cache of a stream: later epochs and later fits read it, and what is in it is right or refused."""

import contextlib
import errno
import os
import signal
import tempfile

import numpy as np
import pytest
import scipy.sparse as sp

from perceptrons.data import DataFileError, source, stream
from tests.conftest import gaussian, whole_numbers
from tests.support.blocks import BoomError, as_svmlight, blocks_of, failing, fitted, in_order, same
from tests.support.lecture import rosenblatt

resource = pytest.importorskip("resource")


@pytest.fixture
def data(rng):
    X, y = gaussian(rng, 60, 5, 3)
    return X * (rng.random(X.shape) < 0.7), y


@pytest.fixture
def svm(tmp_path, monkeypatch, data):
    """A file of some blocks."""
    monkeypatch.setattr(source, "PIECE", 700)
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "a.svm"
    path.write_text(as_svmlight(*data))
    assert len(list(stream(path))) > 4
    return path


@pytest.fixture
def kept(tmp_path):
    """Where a cache is kept, in a folder of its own."""
    (tmp_path / "kept").mkdir()
    return tmp_path / "kept" / "a.cache"


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder of temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def names(folder):
    return sorted(file.name for file in folder.iterdir())


# ---- a cache that is kept


@pytest.mark.parametrize(
    "parameters", [{}, {"combine": "vote"}, {"shuffle": False}, {"step": "arow"}, {"combine": "pocket"}]
)
def test_a_kept_cache_changes_nothing(svm, kept, data, parameters):
    X, _ = data
    plain = rosenblatt(**parameters).fit_stream(stream(svm), epochs=4)
    for _ in range(3):
        model = rosenblatt(**parameters).fit_stream(stream(svm), epochs=4, cache=kept)
        same(model, plain, X)
        assert model.progress_ == plain.progress_
        assert model.source_ == plain.source_
        assert names(kept.parent) == ["a.cache"]


def test_a_kept_cache_serves_models_of_other_parameters(svm, kept, data):
    X, y = data
    rosenblatt().fit_stream(stream(svm), epochs=2, cache=kept)
    content = kept.read_bytes()
    for parameters in ({"step": "pa1"}, {"multiclass": "ovr"}, {"margin": 1.0}):
        for epochs in (1, 3):
            model = in_order(**parameters).fit_stream(stream(svm), epochs=epochs, cache=kept)
            same(model, fitted(sp.csr_matrix(X), y, epochs, **parameters), X)
    assert kept.read_bytes() == content


def test_a_kept_cache_is_read_and_not_written_again(svm, kept):
    rosenblatt().fit_stream(stream(svm), epochs=2, cache=kept)
    before = os.stat(kept)
    kept.chmod(0o444)
    rosenblatt().fit_stream(stream(svm), epochs=2, cache=kept)
    after = os.stat(kept)
    assert (before.st_ino, before.st_mtime_ns, before.st_size) == (after.st_ino, after.st_mtime_ns, after.st_size)


def change_a_value(path, text):
    path.write_text(text.replace(" 1:0.", " 1:7.", 1))


def append(path, text):
    path.write_text(text + "1 1:9\n")


def cut(path, text):
    path.write_text(text[: text[:-1].rindex("\n") + 1])


def empty_and_other(path, text):
    path.write_text("0 1:1\n1 2:1\n2 3:1\n")


@pytest.mark.parametrize("change", [change_a_value, append, cut, empty_and_other])
def test_a_file_that_changed_is_read_again(svm, kept, change):
    rosenblatt().fit_stream(stream(svm), epochs=2, cache=kept)
    before, text = os.stat(svm), svm.read_text()
    change(svm, text)
    assert svm.read_text() != text
    os.utime(svm, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000))
    block = next(iter(stream(svm, n_features=5)))
    expected = rosenblatt().fit_stream(stream(svm), epochs=3)
    for _ in range(2):
        same(
            rosenblatt().fit_stream(stream(svm), epochs=3, cache=kept), expected, block.X[:, : expected.n_features_in_]
        )


def test_a_file_that_was_touched_is_learned_right(svm, kept, data):
    expected = rosenblatt().fit_stream(stream(svm), epochs=3, cache=kept)
    os.utime(svm)
    same(rosenblatt().fit_stream(stream(svm), epochs=3, cache=kept), expected, data[0])


@pytest.mark.parametrize(
    "options",
    [{"zero_based": True}, {"hash_bits": 2}, {"text_labels": True}, {"n_features": 9}, {"on_error": "skip"}],
)
def test_a_cache_is_not_used_for_files_read_in_another_way(svm, kept, options):
    rosenblatt().fit_stream(stream(svm), epochs=2, cache=kept)
    expected = rosenblatt().fit_stream(stream(svm, **options), epochs=3)
    X = next(iter(stream(svm, **options))).X
    X.resize(X.shape[0], expected.n_features_in_)
    for _ in range(2):
        try:
            model = rosenblatt().fit_stream(stream(svm, **options), epochs=3, cache=kept)
        except ValueError:
            continue  # to refuse it is right, too
        same(model, expected, X)


def test_a_cache_is_not_used_for_other_files(svm, kept, data):
    rosenblatt().fit_stream(stream(svm), epochs=2, cache=kept)
    other = svm.with_name("b.svm")
    X, y = data
    other.write_text(as_svmlight(X[::-1], y[::-1]))
    times = os.stat(svm)
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    for paths in ([other], [svm, other], [other, svm], [svm.parent / "*.svm"]):
        expected = rosenblatt().fit_stream(stream(*paths), epochs=3)
        for _ in range(2):
            same(rosenblatt().fit_stream(stream(*paths), epochs=3, cache=kept), expected, X)


def test_a_cache_of_labels_that_are_words_and_columns_that_come_late_is_right(tmp_path, kept, monkeypatch):
    monkeypatch.setattr(source, "PIECE", 40)
    path = tmp_path / "a.svm"
    words = ["häm", "spam", "x" * 30, "y"]
    path.write_text("".join(f"{words[k % (2 + k // 8)]} {k + 1}:{k} 1:-.5\n" for k in range(24)))
    blocks = list(stream(path, n_features=24))
    expected = in_order()
    for block in blocks:
        expected.partial_fit(block.X, block.y)
    for _ in range(2):
        model = in_order().fit_stream(stream(path), cache=kept)
        assert model.classes_.tolist() == sorted(words)
        assert np.array_equal(model.coef_average_, expected.coef_average_)
        assert np.array_equal(model.predict(blocks[-1].X), expected.predict(blocks[-1].X))
    plain = rosenblatt().fit_stream(stream(path), epochs=5)
    for _ in range(2):
        same(rosenblatt().fit_stream(stream(path), epochs=5, cache=kept), plain, blocks[-1].X)


@pytest.mark.parametrize("hash_bits", [None, 0])
def test_a_kept_cache_of_texts_keeps_their_names(tmp_path, kept, hash_bits):
    path = tmp_path / "texts.ft"
    path.write_text("".join(f"__label__{'ab'[i % 2]} word {'ab'[i % 2] * 2} {i}\n" for i in range(300)))
    plain = rosenblatt().fit_stream(stream(path, hash_bits=hash_bits), epochs=3)
    for _ in range(2):  # written, and read
        model = rosenblatt().fit_stream(stream(path, hash_bits=hash_bits), epochs=3, cache=kept)
        assert np.array_equal(model.coef_, plain.coef_)
        assert model.columns_.names() == plain.columns_.names()


def test_bad_records_are_skipped_again_from_a_kept_cache(svm, kept, data):
    lines = svm.read_text().splitlines()
    svm.write_text("\n".join(["1 1:x", *lines[:30], "x y", *lines[30:]]))
    expected = fitted(sp.csr_matrix(data[0]), data[1], 3)
    for _ in range(2):
        model = in_order().fit_stream(stream(svm, on_error="skip"), epochs=3, cache=kept)
        same(model, expected, data[0])
    with pytest.raises(DataFileError, match=r"a\.svm:1:3"):
        in_order().fit_stream(stream(svm), epochs=3, cache=kept)


def test_a_cache_can_be_kept_only_of_files(data, kept):
    with pytest.raises(ValueError, match="cache"):
        rosenblatt().fit_stream(blocks_of(*data, [20]), epochs=2, cache=kept)
    assert names(kept.parent) == []


# ---- damage


def learned_or_refused(svm, kept, X, expected):
    """Fit again with the damaged cache: the right model, or an error that names the cache; True if it was refused."""
    try:
        model = rosenblatt().fit_stream(stream(svm), epochs=3, cache=kept)
    except (ValueError, OSError) as error:
        refused = str(error)
    else:
        same(model, expected, X)
        return False
    assert kept.name in refused
    assert len(refused.splitlines()) == 1
    return True


def test_a_cache_cut_short_is_refused_or_built_again(svm, kept, data):
    expected = rosenblatt().fit_stream(stream(svm), epochs=3, cache=kept)
    content = kept.read_bytes()
    for left in (0, 1, 7, 8, 64, 100, len(content) // 2, len(content) - 64, len(content) - 9, len(content) - 1):
        kept.write_bytes(content[:left])
        learned_or_refused(svm, kept, data[0], expected)


def test_a_cache_with_a_changed_bit_never_gives_other_weights(svm, kept, data, rng):
    expected = rosenblatt().fit_stream(stream(svm), epochs=3, cache=kept)
    content = kept.read_bytes()
    seen = 0
    for place in rng.permutation(len(content))[:300].tolist():
        changed = bytearray(content)
        changed[place] ^= 1 << int(rng.integers(8))
        kept.write_bytes(bytes(changed))
        refused = learned_or_refused(svm, kept, data[0], expected)
        noticed = refused or kept.read_bytes() != bytes(changed)
        assert noticed or content[place] == 0, "padding apart, which is zeros, every bit is checked"
        seen += noticed
    assert seen > 200


def test_a_cache_with_more_at_its_end_is_refused_or_right(svm, kept, data):
    expected = rosenblatt().fit_stream(stream(svm), epochs=3, cache=kept)
    kept.write_bytes(kept.read_bytes() + b"more")
    learned_or_refused(svm, kept, data[0], expected)


@pytest.mark.parametrize("content", [b"my thesis\n" * 99, b"\0" * 5000, b"1 1:1\n"])
def test_a_file_that_is_no_cache_is_never_overwritten(svm, kept, content):
    kept.write_bytes(content)
    with pytest.raises((ValueError, OSError), match=kept.name):
        rosenblatt().fit_stream(stream(svm), epochs=2, cache=kept)
    assert kept.read_bytes() == content
    assert names(kept.parent) == ["a.cache"]


def test_the_data_itself_is_never_taken_for_its_cache(svm):
    content = svm.read_bytes()
    with pytest.raises((ValueError, OSError), match=svm.name):
        rosenblatt().fit_stream(stream(svm), epochs=2, cache=svm)
    assert svm.read_bytes() == content


# ---- nothing is left


def outcomes(reader, **options):
    """Fits that end well, by an error of watch, and by Ctrl-C."""
    rosenblatt().fit_stream(reader(), epochs=3, **options)

    for stop_at in (2, 8):
        for interrupt in (False, True):
            count = []

            def watch(row, count=count, stop_at=stop_at, interrupt=interrupt):
                count.append(not row["mark"])
                if sum(count) == stop_at and count[-1]:
                    if interrupt:
                        os.kill(os.getpid(), signal.SIGINT)
                    else:
                        raise BoomError("boom")

            with pytest.raises(KeyboardInterrupt if interrupt else BoomError):
                rosenblatt().fit_stream(reader(), epochs=3, watch=watch, **options)
            yield stop_at
    yield None


def test_no_temporary_file_is_left_behind(svm, data, temporary, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path / "data")
    for reader in (lambda: stream(svm), lambda: blocks_of(*data, [12, 20, 33, 50])):
        for _ in outcomes(reader):
            assert names(temporary) == []
            assert names(svm.parent) == ["a.svm"]
    with pytest.raises(BoomError):
        rosenblatt().fit_stream(failing(blocks_of(*data, [12, 20, 33, 50]), 3), epochs=3)
    svm.write_text(svm.read_text() + "1 1:x\n")
    with pytest.raises(DataFileError):
        rosenblatt().fit_stream(stream(svm), epochs=3)
    assert names(temporary) == []
    assert names(svm.parent) == ["a.svm"]


def test_a_fit_that_was_stopped_leaves_a_whole_cache_or_none(svm, kept, data, temporary):
    expected = rosenblatt().fit_stream(stream(svm), epochs=3)
    for _ in outcomes(lambda: stream(svm), cache=kept):
        assert set(names(kept.parent)) <= {"a.cache"}
        assert names(temporary) == []
        same(rosenblatt().fit_stream(stream(svm), epochs=3, cache=kept), expected, data[0])
        kept.unlink(missing_ok=True)


def test_a_bad_record_leaves_no_cache(svm, kept, temporary):
    text = svm.read_text()
    svm.write_text(text + "1 1:x\n")
    for _ in range(2):
        with pytest.raises(DataFileError, match=r"a\.svm:61:3"):
            rosenblatt().fit_stream(stream(svm), epochs=3, cache=kept)
        assert names(kept.parent) == []
        assert names(temporary) == []


def test_a_fit_that_converges_in_its_first_epoch_and_one_of_a_single_epoch_leave_nothing_wrong(svm, kept, data):
    rosenblatt(max_seconds=1e-9).fit_stream(stream(svm), epochs=3, cache=kept)
    expected = rosenblatt().fit_stream(stream(svm), epochs=3)
    same(rosenblatt().fit_stream(stream(svm), epochs=3, cache=kept), expected, data[0])
    kept.unlink(missing_ok=True)
    rosenblatt().fit_stream(stream(svm), epochs=1, cache=kept)
    same(rosenblatt().fit_stream(stream(svm), epochs=3, cache=kept), expected, data[0])


@contextlib.contextmanager
def no_file_above(size):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("cache", ["kept", "temporary"])
def test_a_disk_that_fills_up_is_one_clear_line_and_leaves_nothing(svm, kept, temporary, cache, data):
    options = {"cache": kept} if cache == "kept" else {}
    with no_file_above(1500), pytest.raises(OSError) as caught:
        rosenblatt().fit_stream(stream(svm), epochs=3, **options)
    assert caught.value.errno in (errno.EFBIG, errno.ENOSPC)
    assert len(str(caught.value).splitlines()) == 1
    assert str(kept if cache == "kept" else temporary) in str(caught.value), "which disk is it?"
    assert names(kept.parent) == [], "though the error, and with it its frames, is still held"
    assert names(temporary) == []
    same(
        rosenblatt().fit_stream(stream(svm), epochs=3, **options),
        rosenblatt().fit_stream(stream(svm), epochs=3),
        data[0],
    )


def test_a_cache_that_can_be_kept_nowhere_is_an_error(svm, tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        rosenblatt().fit_stream(stream(svm), epochs=2, cache=tmp_path / "nowhere" / "a.cache")
    with pytest.raises((OSError, ValueError), match="data"):
        rosenblatt().fit_stream(stream(svm), epochs=2, cache=svm.parent)


# ---- what a cache holds


def cached(tmp_path, name, rows):
    """The size of the cache of a file with these rows, each a text of features."""
    path, cache = tmp_path / f"{name}.svm", tmp_path / f"{name}.cache"
    path.write_text("".join(f"{k % 2} {row}\n" for k, row in enumerate(rows)))
    model = in_order().fit_stream(stream(path), epochs=3, cache=cache)
    again = in_order().fit_stream(stream(path), epochs=3, cache=cache)
    plain = in_order().fit_stream(stream(path), epochs=3, cache=False)
    X = next(iter(stream(path))).X
    same(model, plain, X)
    same(again, plain, X)
    return cache.stat().st_size


def test_a_cache_is_compact_and_exact(tmp_path, rng):
    n, width, each = 400, 1000, 50
    columns = [np.sort(rng.choice(width, each, replace=False)) + 1 for _ in range(n)]
    columns[0][[0, -1]] = 1, width  # all have the same columns
    values = {
        "ones": lambda: ["1"] * each,
        "one.": lambda: ["1.000"] * each,
        "single": lambda: [repr(float(x)) for x in rng.standard_normal(each).astype(np.float32)],
        "double": lambda: [repr(x) for x in rng.standard_normal(each).tolist()],
        "one double": lambda: ["1"] * (each - 1) + ["0.1"],
    }
    sizes = {
        name: cached(tmp_path, name, [" ".join(f"{j}:{x}" for j, x in zip(c, draw(), strict=True)) for c in columns])
        for name, draw in values.items()
    }
    stored = n * each
    assert sizes["ones"] == sizes["one."]
    assert sizes["ones"] < 4.5 * stored, "ones are not stored"
    assert sizes["single"] - sizes["ones"] == pytest.approx(4 * stored, rel=0.05), "4 bytes where they say it all"
    assert sizes["double"] - sizes["ones"] == pytest.approx(8 * stored, rel=0.05)


@pytest.mark.parametrize(
    "value",
    ["0.1", "1e-60", "5e-324", "1e39", "3.4028236e38", "1e-46", "16777217", "1.0000001", "-0", "0", "1e-40", "1e100"],
)
def test_values_that_four_bytes_cannot_say_are_kept_in_eight(tmp_path, kept, value):
    path = tmp_path / "a.svm"
    path.write_text(f"0 1:1 2:{value}\n1 1:1 3:1\n0 2:{value} 3:-1\n1 1:2 2:{value}\n")
    plain = in_order(step="pa1").fit_stream(stream(path), epochs=4, cache=False)
    X = next(iter(stream(path))).X
    for cache in (None, kept, kept):
        same(in_order(step="pa1").fit_stream(stream(path), epochs=4, cache=cache), plain, X)


@pytest.mark.parametrize("epochs", [2, 3])
def test_dense_blocks_of_any_type_are_cached_exactly(epochs, dtype, rng):
    X, y = whole_numbers(rng, 60, 5, 3)
    X = (X * rng.choice([1.0, 1 / 3, 1e-30], X.shape)).astype(dtype)
    for Z in (X, np.asfortranarray(X), X[:, ::-1], sp.csr_matrix(X), sp.csc_matrix(X).tocsr()):
        model = in_order().fit_stream(blocks_of(Z, y, [20, 33]), epochs=epochs)
        same(model, fitted(Z, y, epochs), Z)


def test_weights_and_repeated_columns_are_cached_exactly(rng):
    X = sp.csr_matrix((rng.standard_normal(60), rng.integers(0, 4, 60), np.arange(0, 61, 3)), (20, 4))
    y, weight = rng.integers(0, 3, 20), rng.choice([0.0, 1.0, 0.3, 2.5], 20)
    y[:3] = 0, 1, 2
    assert not X.has_canonical_format
    model = in_order().fit_stream(blocks_of(X, y, [7, 9], weight), epochs=3)
    again = in_order().fit_stream(blocks_of(X, y, [7, 9], weight), epochs=3, cache=False)
    same(model, again, X)
