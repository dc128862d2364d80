"""docs/security.md: the limits it states are those of the code."""

from perceptrons.data import csv, reader, source, svmlight
from perceptrons.engine.training import labels, memory, parameters
from perceptrons.features import values
from perceptrons.sequence import templates as grammar
from tests.conftest import ROOT

STATED = {
    "Memory that a model file may ask for": (
        f"{memory.ALLOWED_BYTES_PER_FILE_BYTE:,} times its size, but at least {memory.MIN_ALLOWED_BYTES // 2**30} GiB; "
        f"never more than {memory.MAX_MEMORY_SHARE:.0%} of memory"
    ),
    "Weights of a model in training": f"{memory.MAX_MEMORY_SHARE:.0%} of the memory of the machine or container",
    "Data that are read as one table": f"{reader.TABLE_SHARE:.0%} of memory, parsed",
    "Column files": f"{source.WHOLE_SHARE:.0%} of memory, uncompressed",
    "Length of a line": f"{source.LONGEST_LINE:,} bytes",
    "Length of a quoted CSV record": f"{csv.MAX_RECORD_BYTES:,} bytes",
    "Length of a label": f"{labels.MAX_LABEL_CHARACTERS:,} characters",
    "Feature index in svmlight files": f"{svmlight.MAX_INDEX:,}",
    "Absolute value of a feature": f"{values.LARGEST:g}".replace("+", ""),
    "Sample weight": f"{labels.MAX_WEIGHT:,.0f}",
    "Margin and cost": f"{parameters.LARGEST_DEMAND:g}".replace("+", ""),
    "Feature templates of a tagger": (
        f"{grammar.MAX_TEMPLATES:,} templates of {grammar.MAX_CHARACTERS:,} characters, "
        f"{grammar.MAX_OFFSET:,} tokens away at most"
    ),
}


def test_the_page_states_the_limits_of_the_code():
    lines = [line for line in (ROOT / "docs/security.md").read_text().splitlines() if line.startswith("| ")]
    rows = dict(tuple(cell.strip() for cell in line.strip("|").split("|"))[:2] for line in lines)
    assert {name: rows[name] for name in STATED} == STATED
    assert memory.LIMIT_VARIABLE in "".join(lines)
