"""Finds phrases that do not belong in what people read: documentation, docstrings, help texts and messages.

    python -m tools.wording                     # everything
    python -m tools.wording docs/streams.md     # some files

In Markdown, prose and the comments of code are checked, but neither code nor what it prints. In Python, all strings
are checked: docstrings, help texts and messages. Text between backquotes is code everywhere. Singular and plural are
checked in what code prints, too.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
COUNTED = (
    "bits|bytes|classes|collisions|columns|documents|duplicates|epochs|errors|examples|features|files|folds|labels|lines|"
    "messages|minutes|mistakes|models|passes|phrases|points|records|rows|runs|seconds|sentences|settings|shards|steps|"
    "tables|texts|times|tokens|updates|values|weights|words|workers"
)
THING = (
    "byte|chunk|class|coefficient|column|epoch|example|feature|file|label|line|move|number|object|pair|record|row|"
    "sentence|shard|support vector|task|template|token|update|value|weight|word|worker"
)


class Phrase(NamedTuple):
    """A phrase that is not used, as a regular expression, and what to write instead.

    only, but: the beginning of the names of files that alone are searched, or that are not. printed: also search what
    the code of a page prints.
    """

    pattern: str
    instead: str
    only: str = ""
    but: str = ""
    printed: bool = False


PHRASES = (
    Phrase(r"part(s|ed|ing)? the (two )?(classes|data|examples)", "separates the classes"),
    Phrase(r"broken lines?", "dashed lines"),
    Phrase(r"otherwise (-?\d|none\b|no\b)[^;]*$", "default: ...", only="src/perceptrons/cli/"),
    Phrase(r"(?<!there\s)(is|are) no (valid )?examples?", "is not a valid example, malformed record"),
    Phrase(rf"(?<!of\s)an? ({THING}) an? ({THING})", "one row per class"),
    Phrase(rf"[\d.,]+ (bytes|bits|numbers|weights|operations|ms|ns|s|seconds) an? ({THING})", "16 bytes per class"),
    Phrase(r"so many", "this many"),
    Phrase(r"such a one", "that one, or name it"),
    Phrase(r"(go|goes|going|went|gone) on(?! (the|a|an|one|top|its|either|both|each|to)\b)", "resume, keep training"),
    Phrase(r"anew", "again, rebuilt"),
    Phrase(r"what (it|they|each|that|this) (came|comes?) to", "the result"),
    Phrase(r"how (it|they|an?|the|training)( \w+)? went", "the training history"),
    Phrase(r"telling (weight|feature|word)s?", "most important weights"),
    Phrase(r"(tells?|say|says) (the )?most\b(?! (about|of)\b)", "most important features"),
    Phrase(r"figures", "results, scores, numbers", but="src/perceptrons/plots/"),
    Phrase(r"begun", "created with, first trained with"),
    Phrase(r"ask(s|ed|ing)? for (an )?updates?", "triggers an update"),
    Phrase(r"(tell|tells|told|telling) (\w+ ){0,3}apart", "distinguished"),
    Phrase(r"(score|scores|they) (is|are) none", "scores are not probabilities"),
    Phrase(r"relatives", "other linear models, baselines"),
    Phrase(r"look(s|ed|ing)? at (the |these |its |all )?test (data|examples|set)", "use of the test set"),
    Phrase(r"test (data|examples|set) (was|were|is|are) looked at", "use of the test set"),
    Phrase(r"(?<!also:\s)development (data|set|examples)", "validation set", but="docs/tutorial/"),
    Phrase(r"packed (files?|or not|svmlight)", "compressed files"),
    Phrase(r"(?<=[,;]\s)packed", "compressed"),
    Phrase(rf"(?<![\d.,=-])1 ({COUNTED})", "the singular: 1 mistake", printed=True),
)
BACKQUOTED = re.compile(r"``[^`]+``|`[^`\n]+`")
FENCE = re.compile(r"^ *```(\w*)[^\n]*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"(?:^|(?<=\s))# .*", re.MULTILINE)


def blank(text: str) -> str:
    """The same number of characters and lines, with nothing in them."""
    return re.sub(r"[^\n]", " ", text)


def without_code(text: str) -> str:
    """The text with blanks for what stands between backquotes."""
    return BACKQUOTED.sub(lambda code: blank(code[0]), text)


def prose(markdown: str) -> str:
    """The prose of a page and the comments of its code, each where it was; everything else is blank."""

    def comments(block: re.Match[str]) -> str:
        if block[1] not in ("python", "bash", "dockerfile"):
            return blank(block[0])
        kept, last = "", 0
        for comment in COMMENT.finditer(block[0]):
            kept += blank(block[0][last : comment.start()]) + comment[0]
            last = comment.end()
        return kept + blank(block[0][last:])

    return without_code(FENCE.sub(comments, markdown))


def strings(source: str) -> Iterator[tuple[int, str]]:
    """All strings of a Python file with the line where they begin. In f-strings, `{}` stands for what is filled in."""
    tree = ast.parse(source)
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            pieces = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
            yield node.lineno, "".join(str(piece) for piece in pieces)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.lineno, node.value


def findings(name: str, content: str) -> list[str]:
    """Every phrase in the content of a file, as `file:line: phrase`, and what to write instead."""
    if name.endswith(".md"):
        texts, printed = [(1, prose(content))], [(1, content)]
    else:
        texts = printed = [(line, without_code(text)) for line, text in strings(content)]
    found = []
    for phrase in PHRASES:
        if not name.startswith(phrase.only) or (phrase.but and name.startswith(phrase.but)):
            continue
        pattern = re.compile(rf"(?<![\w-])(?:{phrase.pattern})(?![\w-])".replace(" ", r"\s+"), re.IGNORECASE)
        for line, text in printed if phrase.printed else texts:
            for match in pattern.finditer(text):
                said = " ".join(match[0].split())
                found.append((line + text.count("\n", 0, match.start()), f'"{said}"; write: {phrase.instead}'))
    return [f"{name}:{line}: {what}" for line, what in sorted(found)]


def read_by_people() -> list[Path]:
    """The files whose words people read: documentation, and the package with its docstrings, help and messages."""
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [*pages, *sorted((ROOT / "src/perceptrons").rglob("*.py"))]


def main(paths: Iterable[Path]) -> int:
    """Print all findings in these files; 1 if there are any."""
    found = []
    for path in paths:
        path = path.resolve()
        name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
        found += findings(name, path.read_text())
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main([Path(argument) for argument in sys.argv[1:]] or read_by_people()))
