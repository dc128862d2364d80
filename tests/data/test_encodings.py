"""Text in other encodings than UTF-8: the same examples, whole and streamed, and by a model that learned from them."""

import gzip
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perceptrons import Perceptron
from perceptrons.data import DataFileError, read, source, stream
from perceptrons.data.source import decoded as decoded_stream
from tests.support.doors import records, rows_of, same_matrix, write

FORMS = {
    "csv": {"text_column": "body", "categories": ["code"]}, "tsv": {"categories": ["code"]},
    "whitespace": {"format": "whitespace", "categories": ["code"]}, "jsonl": {}, "arff": {}, "vw": {},
    "tab": {"format": "text"}, "fasttext": {"format": "text"}, "svmlight": {"format": "svmlight"},
}  # fmt: skip


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("form", FORMS)
def test_texts_in_any_encoding_are_read_as_in_utf_8(tmp_path, monkeypatch, form, encoding):
    path = write(tmp_path / f"t.{form}", records(30), form)
    text = path.read_text("utf-8")
    expected, labels = rows_of(stream(path, **FORMS[form]))
    other = tmp_path / f"other.{form}"
    other.write_bytes(text.encode(encoding))
    packed = tmp_path / f"packed.{form}.gz"
    packed.write_bytes(gzip.compress(text.encode(encoding)))
    for data in (other, packed, io.BytesIO(text.encode(encoding)), io.StringIO(text)):
        options = {"format": form if form not in ("tab", "fasttext") else "text"} | FORMS[form]
        X, y = rows_of(stream(data, encoding=encoding, **options))
        same_matrix(X, expected)
        assert y.tolist() == labels.tolist()
    monkeypatch.setattr(source, "PIECE", 300)
    X, _ = rows_of(stream(other, encoding=encoding, **FORMS[form]))
    same_matrix(X, expected)


def test_a_model_reads_other_files_in_its_encoding_unless_another_is_given(tmp_path):
    (tmp_path / "a.csv").write_bytes("wort,art\ngrüße,a\nschöß,b\ngrüße,a\nschöß,b\n".encode("latin-1"))
    (tmp_path / "b.csv").write_text("wort\ngrüße\nschöß\n", "utf-8")
    model = Perceptron().fit_stream(stream(tmp_path / "a.csv", encoding="latin-1"), epochs=3)
    assert model.source_["encoding"] == "iso8859-1"
    assert model.columns_.names() == ["wort=grüße", "wort=schöß"]
    assert model.predict(rows_of(stream(tmp_path / "a.csv", like=model))[0]).tolist() == ["a", "b"] * 2
    (block,) = stream(tmp_path / "b.csv", like=model, encoding="utf-8", need_labels=False)
    assert model.predict(block.X).tolist() == ["a", "b"]


def test_bytes_that_are_not_text_are_bad_records_with_their_place(tmp_path):
    path = tmp_path / "a.ft"
    path.write_bytes("__label__a grüße\n__label__b x\u20acy\n".encode("cp1252") + b"__label__a z\x81z\n__label__b ok\n")
    with pytest.raises(DataFileError, match=r"a.ft:1:14: byte 0xfc is not UTF-8 text: .*or give --encoding latin-1"):
        read(path)
    with pytest.raises(DataFileError, match=r"a.ft:3:13: byte 0x81 is not UTF-8 text"):
        read(path, encoding="cp1252")
    table = read(path, encoding="cp1252", on_error="skip")
    assert table.lines.tolist() == [1, 2, 4]
    assert table.skipped == 1
    with pytest.raises(DataFileError, match=r"a.ft: there is no byte order mark: give --encoding utf-16-le"):
        read(path, encoding="utf-16")


@pytest.mark.parametrize("encoding", ["klingon", "rot13", "zlib", "a\0b", ""])
def test_encodings_that_python_does_not_know_are_refused(tmp_path, encoding):
    (tmp_path / "a.csv").write_text("a,b\n1,x\n")
    with pytest.raises(ValueError, match="which Python does not know"):
        read(tmp_path / "a.csv", encoding=encoding)


def test_formats_that_are_not_text_have_no_encoding(tmp_path):
    for name in ("a.parquet", "a.npz", "a.xlsx", "a.arrow"):
        with pytest.raises(ValueError, match="encoding does not apply to files of format"):
            stream(tmp_path / name, encoding="latin-1")


@settings(max_examples=200)
@given(st.text(max_size=50), st.sampled_from(["utf-16", "utf-16-le", "utf-8", "utf-32"]), st.integers(1, 7))
def test_decoding_in_pieces_is_decoding_at_once(text, encoding, at_a_time):
    content = text.encode(encoding, "ignore")
    decoded = decoded_stream(Slowly(content, at_a_time), encoding, "x").read()
    assert decoded == content.decode(encoding).encode()


@settings(max_examples=200)
@given(st.binary(max_size=50), st.sampled_from(["cp1252", "ascii", "utf-16-le", "euc_jp", "shift_jis", "gb18030"]))
def test_what_cannot_be_decoded_is_never_utf_8(content, encoding):
    decoded = decoded_stream(io.BytesIO(content), encoding, "x").read()
    try:
        expected = content.decode(encoding).encode()
    except UnicodeDecodeError:
        with pytest.raises(UnicodeDecodeError):
            decoded.decode()
    else:
        assert decoded == expected


class Slowly(io.BytesIO):
    def __init__(self, content, at_a_time):
        super().__init__(content)
        self._n = at_a_time

    def read(self, n=-1):
        return super().read(self._n)
