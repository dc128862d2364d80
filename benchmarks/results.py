"""Writes what a benchmark found: JSON for machines, a Markdown table for people, with the command that made it."""

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"
ROOT = Path(__file__).parent.parent
PACKAGES = (
    "numpy", "scipy", "scikit-learn", "numba", "river", "vowpalwabbit", "liblinear-official", "torch",
    "python-crfsuite", "nltk", "fasttext-wheel", "pandas", "pyarrow", "dask", "distributed", "dask-ml", "onnx",
    "onnxruntime", "starlette", "uvicorn", "fastapi",
)  # fmt: skip


def environment() -> dict[str, Any]:
    """What the figures depend on."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def table(head: list[str], rows: list[list[Any]]) -> str:
    """A Markdown table; numbers to three digits."""
    lines = [head, ["---"] * len(head), *[[_cell(cell) for cell in row] for row in rows]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write(
    name: str, found: dict[str, Any], markdown: str, summaries: dict[str, str], quick: bool, command: str = ""
) -> None:
    """Print the tables and, for a full run, write both files, and each summary wherever a page has its marks.

    command: what was asked of `python -m benchmarks`, if it is more than the name.
    """
    print(markdown)
    if quick:
        return
    FOLDER.mkdir(exist_ok=True)
    command = f"python -m benchmarks {command or name}"
    found = {"command": command, "environment": environment(), **found}
    (FOLDER / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")
    (FOLDER / f"{name}.md").write_text(f"<!-- written by: {command} -->\n\n{markdown}\n")
    for page in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))):
        before = after = page.read_text()
        for mark, summary in summaries.items():
            after = _filled(after, mark, summary)
        if after != before:
            page.write_text(after)


def _filled(text: str, mark: str, summary: str) -> str:
    """The text with the summary between `<!-- benchmark: mark -->` and `<!-- end -->`, if it has these marks."""
    start, end = f"<!-- benchmark: {mark} -->\n", "<!-- end -->"
    before, found, rest = text.partition(start)
    return f"{before}{start}\n{summary}\n\n{end}{rest.partition(end)[2]}" if found else text


def _cell(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    if value != value:
        return "-"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
