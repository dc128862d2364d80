"""Change bytes of small files of every format at random, and have them read: like `fuzz_readers`, without atheris.

    PERCEPTRONS_BOUNDSCHECK=1 python -m tools.fuzz_files --seconds 600 --seed 0

A finding is anything but DataFileError in one line, numbers that are not finite, a second reading that gives something
else, more than 20 seconds, or an end of the process. Each is printed with its seed; `--seed THAT --cases 1` does it
again.
"""

import gzip
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tools.forging import RECORDS, SVMLIGHT, TEXTS, VW, changed_bytes
from tools.fuzzing import Case, Cases, run
from tools.reading import FORMATS, in_one_thread, try_bytes

CSV = 'name,size,"kind, really",label\nanna,1.5,a,yes\n"bo ""b""",,b,no\ncleo,-2e3,"a\nb",yes\ndan,0x1,,no\n' * 2
ARFF = "@relation x\n@attribute size real\n@attribute kind {c, 'a b'}\n@attribute label {yes,no}\n@data\n"
TEXT = {
    "svmlight": [SVMLIGHT, "1 qid:3 1:0.5 7:1e-3 # comment\n-1 2:1\n" * 3],
    "vw": [VW, "1 2.0 0.5 'tag |a:2 x:3 y |b z\n-1 |a x:1e3 | w\n" * 3],
    "text": [TEXTS, "__label__spam __label__x buy now\n__label__ham see you\n" * 3],
    "csv": [CSV, CSV.replace(",", ";")],
    "tsv": [CSV.replace(",", "\t")],
    "whitespace": ["1 2.5 a\n 3\t 4  b\n" * 3, 'size kind label\n1.5 "a b" yes\n2 "c""d" no\n' * 2],
    "arff": [ARFF + "1.5,'a b',yes\n% or\n{0 2, 2 no}\n?,c,yes\n" * 2, ARFF + "{}\n2\t'it\\'s'\tno\n" * 3],
    "jsonl": [RECORDS, '{"label": 1, "a": [1, 2], "b": {"c": null}, "d": "\\u00e9"}\n' * 4],
}
WORDS = (
    b"nan", b"-inf", b"1e999", b"1e-999", b"-0", b"9" * 400, b"0." + b"1" * 400, b"4294967296", b"-1", b":", b"::",
    b" ", b"|", b"'", b'"', b'""', b",", b"\t", b"\n", b"\r\n", b"\r", b"\x00", b"\xff", b"\xef\xbb\xbf",
    b"\xed\xa0\x80", b"\\u0000", b"{", b"}", b"[" * 300, b"null", b"true", b"__label__", b"#", b"\x1b[31m",
    "１".encode(), b"x" * 2000,
)  # fmt: skip


def binary() -> dict[str, list[bytes]]:
    """A small Parquet, an Arrow file and a workbook, if they can be written."""
    found = workbook() if "xlsx" in FORMATS else {}
    if "parquet" not in FORMATS:
        return found
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    table = pa.table({"size": [1.0, None, 3.0], "kind": ["a", "b", None], "n": [1, 2, 3], "label": ["y", "n", "y"]})
    files: dict[str, Any] = {"parquet": io.BytesIO(), "arrow": io.BytesIO()}
    pyarrow.parquet.write_table(table, files["parquet"])
    pyarrow.feather.write_feather(table, files["arrow"])
    return {name: [file.getvalue()] for name, file in files.items()} | found


def workbook() -> dict[str, list[bytes]]:
    import openpyxl

    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in (["size", "kind", "label"], [1.5, "a", "yes"], [None, "b", "no"], [3, "a", "yes"]):
        book.active.append(row)
    book.save(file)
    return {"xlsx": [file.getvalue()]}


def begin(folder: Path) -> Cases:
    in_one_thread()
    files = {name: [text.encode() for text in texts] for name, texts in TEXT.items()} | binary()

    def case(draw: np.random.Generator) -> Case:
        number = int(draw.integers(len(FORMATS)))
        format = FORMATS[number]
        content = files[format][int(draw.integers(len(files[format])))]
        content, said = changed_bytes(draw, content, WORDS)
        if draw.random() < 0.05:
            content = gzip.compress(content, mtime=0)
        how = bytes([number, int(draw.integers(12)), int(draw.integers(256))])
        return Case(f"{format}: {'; '.join(said)}", lambda: try_bytes(folder / "input", how + content))

    return case


if __name__ == "__main__":
    sys.exit(run("tools.fuzz_files", __doc__, "files", begin))
