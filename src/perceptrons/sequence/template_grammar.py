"""The language of templates: what `word[-1]|suffix(word, 3)` says, parsed into views of tokens and where to look."""

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from perceptrons.engine.passes.attributes import PARTS

BIAS = "bias"
FARTHEST = 1000  # tokens away
DEEPEST = 50  # functions in a template
MANY = 4000  # templates at most: twelve bits of a key say which it is
LONGEST = 2000  # characters of a template
TOKEN = re.compile(r"\s*(?:(-?[0-9]+\.\.-?[0-9]+|-?[0-9]+)|([^\W\d][\w.:-]*)|(.))", re.DOTALL)


class View(NamedTuple):
    """A function of one column, as ("word", (("lower", 0), ("suffix", 3))) for suffix(lower(word), 3)."""

    column: str
    steps: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        text = self.column
        for name, k in self.steps:
            text = f"{name}({text}, {k})" if k else f"{name}({text})"
        return text


class Part(NamedTuple):
    view: View
    offset: int

    def __str__(self) -> str:
        return f"{self.view}[{self.offset}]"


Template = tuple[Part, ...]  # of no parts: the bias


def parse(text: str, columns: Sequence[str]) -> list[Template]:
    """Return the templates that a text stands for: several where it has ranges."""
    if not isinstance(text, str):
        raise ValueError(f"{text!r} is not a template: templates are strings, such as 'word[-1]|word[0]'.")
    if text.strip() == BIAS and BIAS not in columns:
        return [()]
    reader = _Reader(text, columns)
    if text.count("(") > DEEPEST:
        reader.fail(f"has more than {DEEPEST} functions")
    if len(text) > LONGEST:
        raise ValueError(f"A template has {len(text):,} characters, but at most {LONGEST:,} are possible.")
    parts = [list(reader.part())]
    while reader.now == "|":
        reader.take("|")
        parts.append(list(reader.part()))
    reader.take("")
    if len(parts) > PARTS:
        reader.fail(f"combines {len(parts)} values, but at most {PARTS} are possible")
    reader.check_number(math.prod(map(len, parts)))
    return [tuple(combination) for combination in itertools.product(*parts)]


def name_of(template: Template) -> str:
    return "|".join(map(str, template)) if template else BIAS


class _Reader:
    """Reads a template from the left to the right."""

    def __init__(self, text: str, columns: Sequence[str]):
        self.text, self.columns = text, columns
        self.tokens = [next(filter(None, found.groups()), "") for found in TOKEN.finditer(text.rstrip())] + [""]

    @property
    def now(self) -> str:
        return self.tokens[0]

    def take(self, expected: str) -> None:
        if self.now != expected:
            self.fail(f"has {self.now!r} where {expected or 'its end'!r} should be")
        self.tokens.pop(0)

    def fail(self, problem: str) -> None:
        raise ValueError(
            f"The template {self.text!r} {problem}. Write, for instance, 'word[-1]|word[0]', 'pos[-2..2]', "
            f"'suffix(word, 1..3)' or 'shape(lower(word))[1]'; functions are "
            f"{', '.join(FUNCTIONS)}; columns are {', '.join(self.columns)}."
        )

    def check_number(self, n: int) -> None:
        """Raise ValueError for too many templates, before they are made: ranges multiply."""
        if n > MANY:
            self.fail(f"stands for {n:,} templates, but at most {MANY:,} are possible")

    def part(self) -> Iterator[Part]:
        views = list(self.view())
        offsets = [0]
        if self.now == "[":
            self.take("[")
            offsets = self.numbers(-FARTHEST, FARTHEST)
            self.take("]")
        self.check_number(len(views) * len(offsets))
        return (Part(view, offset) for offset in offsets for view in views)

    def view(self) -> Iterator[View]:
        name = self.tokens.pop(0) if self.now else ""
        if name in FUNCTIONS and self.now == "(":
            self.take("(")
            inner, numbers = list(self.view()), [0]
            if name in WITH_LENGTH:
                self.take(",")
                numbers = self.numbers(1, FARTHEST)
            self.take(")")
            self.check_number(len(inner) * len(numbers))
            return (View(view.column, (*view.steps, (name, k))) for view in inner for k in numbers)
        if name not in self.columns:
            self.fail(f"names {name!r}, which is not a column" if name else "ends where a column should be")
        return iter([View(name)])

    def numbers(self, low: int, high: int) -> list[int]:
        text = self.tokens.pop(0)
        if not re.fullmatch(r"-?[0-9]+(\.\.-?[0-9]+)?", text):
            self.fail(f"has {text!r} where a number or a range should be")
        first, _, last = text.partition("..")
        numbers = range(int(first), int(last or first) + 1)
        if not numbers or numbers[0] < low or numbers[-1] > high:
            self.fail(f"has {text!r} where a number or a range within {low}..{high} should be")
        return list(numbers)


class _Kinds(dict[int, str]):
    """For `str.translate`: the kind of every character, found out when it comes for the first time."""

    def __missing__(self, code: int) -> str:
        c = chr(code)
        kind = self[code] = "X" if c.isupper() else "x" if c.isalpha() or c.islower() else "9" if c.isdigit() else c
        return kind


class _Zeros(dict[int, str]):
    """For `str.translate`: every digit is 0."""

    def __missing__(self, code: int) -> str:
        self[code] = "0" if chr(code).isdigit() else chr(code)
        return self[code]


KINDS, ZEROS, RUN = _Kinds(), _Zeros(), re.compile(r"(.)\1+", re.DOTALL)
Strings = list[str]


def _shapes(strings: Strings) -> Strings:
    """Return the shapes of words. Many words have few shapes: each is shortened once."""
    long = [string.translate(KINDS) for string in strings]
    short = {shape: RUN.sub(r"\1", shape) for shape in dict.fromkeys(long)}
    return list(map(short.__getitem__, long))


# Each takes a list of strings and gives one as long, with "" for None: that is what costs least.
WITH_LENGTH: dict[str, Callable[[Strings, int], Strings]] = {
    "prefix": lambda strings, k: [string[:k] if len(string) >= k else "" for string in strings],
    "suffix": lambda strings, k: [string[-k:] if len(string) >= k else "" for string in strings],
}
FUNCTIONS: dict[str, Callable[[Strings, int], Strings]] = {
    "lower": lambda strings, _: [string.lower() for string in strings],
    **WITH_LENGTH,
    "shape": lambda strings, _: _shapes(strings),
    "digits": lambda strings, _: [string.translate(ZEROS) for string in strings],
}


def seen(strings: Strings, view: View) -> Strings:
    """Return what a view makes of strings; the empty string where there is nothing to see."""
    for name, k in view.steps:
        strings = FUNCTIONS[name](strings, k)
    return strings
