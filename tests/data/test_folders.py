"""Folders of texts by class: the examples of a labelled text file, in an order that mixes the classes."""

import gzip
import io
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perceptrons import Perceptron
from perceptrons.data import DataFileError, read, source, stream
from perceptrons.data import text as text_reader
from perceptrons.data.look import first_examples
from perceptrons.data.table import named_lines
from tests.reference.folder import in_reading_order
from tests.support.doors import rows_of, same_matrix


def made(path, files):
    """A folder with these files, by their names."""
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


MAILS = {
    "spam/1.txt": "free prize\ncall now", "spam/2.txt": "free money", "spam/old/3.txt": "prize, prize",
    "ham/a": "see you", "ham/b": "", "ham/c.eml": "at noon\r\nin town",
}  # fmt: skip


def test_files_are_examples_and_folders_labels_in_an_order_that_mixes_classes(tmp_path):
    table = read(made(tmp_path / "mails", MAILS))
    assert table.y.tolist() == ["ham", "spam", "ham", "spam", "ham", "spam"]
    names = ["ham/a", "spam/1.txt", "ham/b", "spam/2.txt", "ham/c.eml", "spam/old/3.txt"]
    assert named_lines(table.files, table.of_file, table.lines) == [str(tmp_path / "mails" / name) for name in names]
    as_lines = "".join(f"{name.split('/')[0]}\t{' '.join(MAILS[name].split())}\n" for name in names)
    expected = read(io.StringIO(as_lines), format="text")
    same_matrix(table.X, expected.X)
    assert table.source == {**expected.source, "form": "files"}


NAMES = st.text("ab1", min_size=1, max_size=3)
TEXTS = st.text("ab \n\té\u4e2d.", max_size=12)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.dictionaries(NAMES, st.dictionaries(NAMES, TEXTS, min_size=1), min_size=1, max_size=4),
    st.sampled_from([1, 10, 2**21]), st.sampled_from([None, 0, 4]),
)  # fmt: skip
def test_a_folder_teaches_what_its_texts_teach_as_lines(tmp_path_factory, classes, piece, bits):
    data = tmp_path_factory.mktemp("texts")
    for label, files in classes.items():
        made(data / label, files)
    order = in_reading_order({label: sorted(classes[label]) for label in sorted(classes)})
    texts = [classes[label][name] for label, name in order]
    lines = io.StringIO(
        "".join(f"{label}\t{' '.join(text.split())}\n" for (label, _), text in zip(order, texts, strict=True))
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "PIECE", piece)
        X, y = rows_of(stream(data, hash_bits=bits, text_labels=True))
    expected, labels = rows_of(stream(lines, format="text", hash_bits=bits, text_labels=True))
    same_matrix(X, expected)
    assert y.tolist() == labels.tolist() == [label for label, _ in order]
    if len(classes) > 1:
        model = Perceptron(shuffle=False, margin=0, intercept_scaling=1)
        model.fit_stream(stream(data, hash_bits=bits, text_labels=True), epochs=2, classes=sorted(classes))
        same = Perceptron(shuffle=False, margin=0, intercept_scaling=1, max_iter=2, tol=None).fit(expected, labels)
        np.testing.assert_array_equal(model.coef_, same.coef_)
        assert model.predict(texts).tolist() == model.predict(X).tolist()


def test_the_first_block_has_all_classes_in_proportion(tmp_path):
    files = {f"big/{k:03}": "x" for k in range(90)} | {f"small/{k}": "y" for k in range(9)} | {"zero/only": "z"}
    y = read(made(tmp_path, files)).y
    assert set(y[:3].tolist()) == {"big", "small", "zero"}
    for begin in range(0, 100, 20):
        assert 1 <= np.sum(y[begin : begin + 20] == "small") <= 3


def test_hidden_files_and_those_beside_the_classes_are_left_out_and_links_end(tmp_path):
    data = made(tmp_path, {**MAILS, ".git/x": "no", "spam/.hidden": "no", "spam/.d/x": "no", "README": "no"})
    os.symlink(data, data / "spam" / "again")
    table = read(data)
    assert len(table.y) == 6
    assert table.notices == ["1 file outside the class folders left out, such as README"]


def test_compressed_members_are_read_and_binary_or_large_ones_are_bad_records(tmp_path, monkeypatch):
    made(
        tmp_path, {"a/1.gz": gzip.compress(b"free prize"), "a/2": b"a\nb\0c", "b/1": b"see you", "b/2": b"gr\xfc\xdfe"}
    )
    with pytest.raises(
        DataFileError, match=r"a/2: line 2, byte 2: a NUL byte, so this is not a text: .*--on-error skip"
    ):
        read(tmp_path)
    table = read(tmp_path, on_error="skip")
    assert table.y.tolist() == ["a", "b"]
    same_matrix(table.X, read(io.StringIO("a\tfree prize\nb\tsee you\n"), format="text").X)
    assert table.skipped == 2
    assert (
        "b/2: line 1, byte 3: byte 0xfc is not UTF-8 text: save the file as UTF-8, or give --encoding latin-1"
        in (table.complaints[1])
    )
    assert read(tmp_path, on_error="skip", encoding="latin-1").skipped == 1
    made(tmp_path, {"a/2": gzip.compress(b"free prize")[:-9]})
    with pytest.raises(DataFileError, match=r"a/2: not a complete gzip file"):
        read(tmp_path)
    monkeypatch.setattr(text_reader, "LONGEST_TEXT", 8)
    with pytest.raises(DataFileError, match=r"a/1.gz: more than 8 bytes, too many for one text"):
        read(tmp_path)


def test_rows_before_a_bad_file_are_given_and_the_error_names_the_file(tmp_path):
    blocks = []
    with pytest.raises(DataFileError, match=r"b/2: line 1, byte 1: a NUL"):
        blocks.extend(stream(made(tmp_path, {"a/1": "x", "a/2": "x", "b/1": "y", "b/2": b"\0"})))
    assert sum(block.X.shape[0] for block in blocks) == 3


def test_a_model_of_a_folder_reads_flat_folders_single_files_and_lines(tmp_path):
    data = made(tmp_path / "mails", MAILS)
    model = Perceptron().fit_stream(stream(data), epochs=5)
    flat = made(tmp_path / "flat", {"1.txt": "free prize", "2.txt": "see you at noon"})
    X, _ = rows_without_labels(stream(flat, like=model, need_labels=False))
    assert model.predict(X).tolist() == ["spam", "ham"]
    for one, expected in ((flat / "1.txt", "spam"), (flat / "2.txt", "ham"), (io.BytesIO(b"see\nyou"), "ham")):
        X, lines = rows_without_labels(stream(one, like=model, need_labels=False))
        assert (model.predict(X).tolist(), lines) == ([expected], [1])
    (tmp_path / "lines.ft").write_text("__label__spam free prize\n__label__ham see you\n")
    X, y = rows_of(stream(tmp_path / "lines.ft", like=model))
    assert model.predict(X).tolist() == y.tolist() == ["spam", "ham"]
    with pytest.raises(DataFileError, match=r"flat/1.txt: it is not in a folder that names its class"):
        list(stream(flat, like=model))
    of_lines = Perceptron().fit_stream(stream(tmp_path / "lines.ft"), epochs=5)
    X, y = rows_of(stream(data, like=of_lines))
    assert y.tolist() == ["ham", "spam"] * 3


def rows_without_labels(reader):
    (block,) = reader
    assert block.y is None
    return block.X, block.lines.tolist()


def test_a_folder_that_changed_is_not_read_again_as_the_same(tmp_path):
    data = made(tmp_path, MAILS)
    reader = stream(data)
    first = reader.fingerprint()
    list(reader)
    assert stream(data).fingerprint() == first
    made(tmp_path, {"ham/d": "new"})
    assert stream(data).fingerprint() != first
    with pytest.raises(DataFileError, match="has changed since it was first read"):
        list(reader)


def test_nothing_to_read_is_an_error(tmp_path):
    with pytest.raises(DataFileError, match="there are no files in it: create one folder per class,"):
        read(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataFileError, match="there are no files in it:"):
        read(tmp_path)
    with pytest.raises(IsADirectoryError):
        read(tmp_path, format="csv")


def test_the_texts_of_examples_are_there_to_be_shown(tmp_path):
    reader = stream(made(tmp_path / "mails", MAILS))
    sample = first_examples(reader, 2**20, 100, number=2)
    assert sample.texts(reader).fetch([1, 0]) == ["free prize\ncall now", "see you"]
    assert sample.one[1] == str(tmp_path / "mails/spam/1.txt")
