"""Runs the code on pages: all blocks of a page in one process, one namespace and one empty folder, in order.

Blocks of Python are run; blocks of bash are run if a block of text follows directly. What a block prints must be what
the block of text that follows says. Pictures and HTML files that are left in the folder belong to the page.
`mkdocs.yml` calls this by `site_pages.py`, for every page of the site, and tests/test_readme.py for the README.

    python -m tools.run_pages docs/theory.md            # run a page, and say what is wrong
    python -m tools.run_pages docs/theory.md --write    # and write what its blocks print into the page
"""

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import types
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
CACHE = ROOT / "build/pages"
BLOCK = re.compile(r"^```(python|bash)[^\n]*\n(.*?)^```\n(?:\n?```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)(?:\{[^}]*\})?")
KEPT = {".png", ".svg", ".gif", ".mp4", ".html"}
SECONDS = 600  # for a page
BOTH = 2  # pages at a time
OLD = 24 * 3600  # seconds after which what was kept is thrown away


class Block(NamedTuple):
    """A block of code: where it begins, what it says, and what the page says it prints (None: nothing is said)."""

    line: int
    language: str
    code: str
    output: str | None


class Ran(NamedTuple):
    """What became of a page: complaints, each with page and line, the files its blocks wrote, what they printed."""

    problems: list[str]
    files: list[Path]
    printed: list[str]


def blocks(text: str) -> list[Block]:
    """The blocks of a page that are run."""
    found = [Block(text.count("\n", 0, m.start()) + 1, *m.groups()) for m in BLOCK.finditer(text)]
    return [block for block in found if block.language == "python" or block.output is not None]


def run_pages(pages: Iterable[Path]) -> dict[Path, Ran]:
    """Run pages, two at a time; what has not changed since the last time is not run again."""
    sources = hashlib.sha256(Path(__file__).read_bytes())
    for source in sorted((ROOT / "src/perceptrons").rglob("*.py")):
        sources.update(source.read_bytes())
    pages = list(pages)
    with ThreadPoolExecutor(BOTH) as pool:
        return dict(zip(pages, pool.map(lambda page: run_page(page, CACHE, sources.hexdigest()), pages), strict=True))


def run_page(page: Path, cache: Path, version: str = "") -> Ran:
    """Run one page. cache: a folder for what it prints and writes, for this version of what it calls."""
    text, name = page.read_text(), str(page).removeprefix(f"{ROOT}/")
    found, problems = blocks(text), []
    if len(re.findall(r"^\s*```\s*python", text, re.MULTILINE)) != sum(block.language == "python" for block in found):
        problems.append(f"{name}: a block of Python is indented or has no end, so that it would not be run.")
    printed: list[str] = []
    files: list[Path] = []
    if found:
        asked = json.dumps([version, [(block.language, block.code) for block in found]])
        home = cache / f"{name.replace('/', '-')}-{hashlib.sha256(asked.encode()).hexdigest()[:16]}"
        if not (home / "printed.json").exists():
            complaint = _run_anew(page, found, home)
            if complaint:
                return Ran([*problems, complaint.replace(str(page), name)], [], [])
        printed = json.loads((home / "printed.json").read_text())
        files = sorted(path for path in home.iterdir() if path.suffix in KEPT)
    for block, got in zip(found, printed, strict=True):
        if _lines(got) != _lines(block.output or ""):
            problems.append(
                f"{name}:{block.line}: this block does not print what the page says.\n"
                f"--- the page says\n{block.output or ''}--- it prints\n{got}"
            )
    there = {path.name for path in files}
    for picture in PICTURE.finditer(text):
        target = picture[1]
        if "://" not in target and target not in there and not (page.parent / target).is_file():
            line = text.count("\n", 0, picture.start()) + 1
            problems.append(f"{name}:{line}: no block of this page writes the picture {target}.")
    return Ran(problems, files, printed)


def write_page(page: Path, printed: list[str]) -> None:
    """Write what the blocks of a page printed into the texts that follow them."""
    rest, text = iter(printed), page.read_text()

    def filled(found: re.Match[str]) -> str:
        if found[1] == "bash" and found[3] is None:
            return found[0]
        got = "".join(f"{line}\n" for line in _lines(next(rest)))
        if found[3] is None:
            return found[0]
        return text[found.start() : found.start(3)] + got + text[found.end(3) : found.end()]

    page.write_text(BLOCK.sub(filled, text))


def _lines(text: str) -> list[str]:
    """The lines of a text, without spaces at their ends, which nobody sees."""
    return [line.rstrip() for line in text.strip().splitlines()]


def _run_anew(page: Path, found: list[Block], home: Path) -> str:
    """Run the blocks of a page in a process and a folder of its own; keep the files. Returns the complaint, if any."""
    from tools.compiled import cache_folder  # here, as the process of a page does not find it

    environment = {"NUMBA_CACHE_DIR": cache_folder()} | os.environ | {
        "MPLBACKEND": "Agg", "PYTHONHASHSEED": "0", "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
    }  # fmt: skip
    home.parent.mkdir(parents=True, exist_ok=True)
    for old in home.parent.iterdir():
        with contextlib.suppress(OSError):  # another build may have moved it
            if time.time() - old.stat().st_mtime > OLD:
                shutil.rmtree(old)
    with tempfile.TemporaryDirectory() as folder:
        request = json.dumps([str(page), [block[:3] for block in found]])
        command = [sys.executable, "-P", str(Path(__file__).resolve())]
        try:
            ran = subprocess.run(
                command, input=request, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            return f"{page}: its code runs for more than {SECONDS} s."
        if ran.returncode:
            return ran.stderr or f"{page}: its process ended with {ran.returncode}."
        stage = Path(tempfile.mkdtemp(dir=home.parent))
        for path in Path(folder).iterdir():
            if path.suffix in KEPT:
                shutil.copyfile(path, stage / path.name)
        (stage / "printed.json").write_text(ran.stdout)
        try:
            stage.rename(home)  # whole, or not at all
        except OSError:  # another build was quicker
            shutil.rmtree(stage)
    return ""


def _run_here(page: str, found: list[tuple[int, str, str]]) -> list[str]:
    """In the process of a page: run its blocks one after the other. Returns what each printed."""
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module  # as if the page were a program
    printed = []
    for line, language, code in found:
        try:
            if language == "python":
                with contextlib.redirect_stdout(io.StringIO()) as out:  # lines are counted as on the page
                    exec(compile("\n" * line + code, page, "exec"), module.__dict__)
                printed.append(out.getvalue())
            else:
                run = subprocess.run(["bash", "-euo", "pipefail", "-c", code], capture_output=True, text=True)
                if run.returncode:
                    raise RuntimeError(f"the commands end with {run.returncode}: {run.stderr}")
                printed.append(run.stdout)
        except BaseException as error:
            shown = "".join(traceback.format_exception(error))
            sys.exit(f"{page}:{line}: this block fails.\n{shown}")
    return printed


def main(arguments: list[str]) -> None:
    """Run pages, and say or write what they print."""
    write = "--write" in arguments
    pages = [Path(argument).resolve() for argument in arguments if argument != "--write"]
    for page, ran in run_pages(pages).items():
        if write and ran.printed:
            write_page(page, ran.printed)
            print(f"{page.name}: written")
        elif ran.problems:
            sys.exit("\n".join(ran.problems))


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1:])
    else:
        result = json.dumps(_run_here(*json.load(sys.stdin)))
        sys.__stdout__.write(result)
