"""`FeatureTemplates`, which makes features of columns of tokens by templates.

First the language of templates: `word[-1]|suffix(word, 3)` is parsed into views of tokens and their offsets. Then
`TemplateFeatures`, the features that a model knows; the compiled part is `passes/attributes.py`. Last the transformer.
"""

import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from perceptrons.engine.hashing import SECRET
from perceptrons.engine.passes.attributes import (
    COUNT,
    FIND,
    HASH,
    NO_VALUE,
    NUMBER,
    PARTS,
    SLOTS_PER_ENTRY,
    VALUE_BITS,
    FeatureTable,
    Lookup,
    Templates,
    Views,
    insert,
    number_features,
)
from perceptrons.engine.rows import Sparse
from perceptrons.engine.training.weights import Owning
from perceptrons.sequence.tokens import (
    TokenFeatures,
    Tokens,
    flatten,
    hash_string,
    number_strings,
    ones,
    position,
    renumber,
    tokens_of,
)

BIAS = "bias"
MAX_OFFSET = 1000  # tokens; also the longest prefix or suffix, in characters
MAX_FUNCTIONS = 50  # in a template
MAX_TEMPLATES = 4000  # twelve bits of a key say which template it is
MAX_CHARACTERS = 2000  # in a template
MIN_SLOTS = 1024  # in a table
SYMBOL = re.compile(r"\s*(?:(-?[0-9]+\.\.-?[0-9]+|-?[0-9]+)|([^\W\d][\w.:-]*)|(.))", re.DOTALL)

WORDS = (
    "word[-2..2]", "word[-1]|word[0]", "word[0]|word[1]", "lower(word)", "prefix(word, 3..4)", "suffix(word, 1..4)",
    "shape(word)[-1..0]", "shape(word)[-1]|shape(word)[0]", "word[-1]|suffix(word, 3)[0]",
)  # fmt: skip
CHUNKING = (
    "word[-2..2]", "word[-1]|word[0]", "word[0]|word[1]", "pos[-2..2]", "pos[-2]|pos[-1]", "pos[-1]|pos[0]",
    "pos[0]|pos[1]", "pos[1]|pos[2]", "pos[-2]|pos[-1]|pos[0]", "pos[-1]|pos[0]|pos[1]", "pos[0]|pos[1]|pos[2]",
)  # fmt: skip
WORDS_AND_TAGS = (
    *CHUNKING, "prefix(word, 1..3)", "suffix(word, 1..4)", "shape(word)[-1..1]", "word[0]|pos[-1..1]",
    "word[-1]|pos[0]", "word[1]|pos[0]", "word[-1]|word[0]|word[1]", "pos[-2]|pos[-1]|pos[0]|pos[1]",
    "pos[-1]|pos[0]|pos[1]|pos[2]",
)  # fmt: skip


# ---- the language


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


Template = tuple[Part, ...]  # () is the bias


def parse(text: str, columns: Sequence[str]) -> list[Template]:
    """Return the templates that a text stands for: several where it has ranges."""
    if not isinstance(text, str):
        raise ValueError(f"{text!r} is not a template: templates are strings, such as 'word[-1]|word[0]'.")
    if text.strip() == BIAS and BIAS not in columns:
        return [()]
    reader = _Reader(text, columns)
    if text.count("(") > MAX_FUNCTIONS:
        reader.fail(f"has more than {MAX_FUNCTIONS} functions")
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"A template has {len(text):,} characters, but at most {MAX_CHARACTERS:,} are possible.")
    parts = [list(reader.part())]
    while reader.next == "|":
        reader.take("|")
        parts.append(list(reader.part()))
    reader.take("")
    if len(parts) > PARTS:
        reader.fail(f"combines {len(parts)} values, but at most {PARTS} are possible")
    reader.check_number(math.prod(map(len, parts)))
    return [tuple(combination) for combination in itertools.product(*parts)]


def name_of(template: Template) -> str:
    """Return a template as text."""
    return "|".join(map(str, template)) if template else BIAS


class _Reader:
    """Reads a template from the left to the right."""

    def __init__(self, text: str, columns: Sequence[str]):
        self.text, self.columns = text, columns
        self.symbols = [next(filter(None, match.groups()), "") for match in SYMBOL.finditer(text.rstrip())] + [""]

    @property
    def next(self) -> str:
        return self.symbols[0]

    def take(self, expected: str) -> None:
        if self.next != expected:
            self.fail(f"has {self.next!r} where {expected or 'its end'!r} should be")
        self.symbols.pop(0)

    def fail(self, problem: str) -> None:
        raise ValueError(
            f"The template {self.text!r} {problem}. Write, for instance, 'word[-1]|word[0]', 'pos[-2..2]', "
            f"'suffix(word, 1..3)' or 'shape(lower(word))[1]'; functions are "
            f"{', '.join(FUNCTIONS)}; columns are {', '.join(self.columns)}."
        )

    def check_number(self, n: int) -> None:
        """Raise ValueError for too many templates, before they are made: ranges multiply."""
        if n > MAX_TEMPLATES:
            self.fail(f"stands for {n:,} templates, but at most {MAX_TEMPLATES:,} are possible")

    def part(self) -> Iterator[Part]:
        """Read a view and its offsets: several parts where it has ranges."""
        views = list(self.view())
        offsets = [0]
        if self.next == "[":
            self.take("[")
            offsets = self.numbers(-MAX_OFFSET, MAX_OFFSET)
            self.take("]")
        self.check_number(len(views) * len(offsets))
        return (Part(view, offset) for offset in offsets for view in views)

    def view(self) -> Iterator[View]:
        """Read a column or a function of a view: several views where it has a range of lengths."""
        name = self.symbols.pop(0) if self.next else ""
        if name in FUNCTIONS and self.next == "(":
            self.take("(")
            inner, numbers = list(self.view()), [0]
            if name in WITH_LENGTH:
                self.take(",")
                numbers = self.numbers(1, MAX_OFFSET)
            self.take(")")
            self.check_number(len(inner) * len(numbers))
            return (View(view.column, (*view.steps, (name, k))) for view in inner for k in numbers)
        if name not in self.columns:
            self.fail(f"names {name!r}, which is not a column" if name else "ends where a column should be")
        return iter([View(name)])

    def numbers(self, low: int, high: int) -> list[int]:
        """Read a number or a range of numbers."""
        text = self.symbols.pop(0)
        if not re.fullmatch(r"-?[0-9]+(\.\.-?[0-9]+)?", text):
            self.fail(f"has {text!r} where a number or a range should be")
        first, _, last = text.partition("..")
        numbers = range(int(first), int(last or first) + 1)
        if not numbers or numbers[0] < low or numbers[-1] > high:
            self.fail(f"has {text!r} where a number or a range within {low}..{high} should be")
        return list(numbers)


class _Shapes(dict[int, str]):
    """For `str.translate`: X, x, 9 or the character itself, computed when it occurs for the first time."""

    def __missing__(self, code: int) -> str:
        c = chr(code)
        shape = self[code] = "X" if c.isupper() else "x" if c.isalpha() or c.islower() else "9" if c.isdigit() else c
        return shape


class _Digits(dict[int, str]):
    """For `str.translate`: 0 for every digit."""

    def __missing__(self, code: int) -> str:
        self[code] = "0" if chr(code).isdigit() else chr(code)
        return self[code]


SHAPES, DIGITS, RUN = _Shapes(), _Digits(), re.compile(r"(.)\1+", re.DOTALL)
Strings = list[str]


def _shapes(strings: Strings) -> Strings:
    """Return the shapes of words. Many words have few shapes: each is shortened once."""
    long = [string.translate(SHAPES) for string in strings]
    short = {shape: RUN.sub(r"\1", shape) for shape in dict.fromkeys(long)}
    return list(map(short.__getitem__, long))


# Each function maps a list of strings to a list of the same length; "" is no value. Lists cost less than single calls.
WITH_LENGTH: dict[str, Callable[[Strings, int], Strings]] = {
    "prefix": lambda strings, k: [string[:k] if len(string) >= k else "" for string in strings],
    "suffix": lambda strings, k: [string[-k:] if len(string) >= k else "" for string in strings],
}
FUNCTIONS: dict[str, Callable[[Strings, int], Strings]] = {
    "lower": lambda strings, _: [string.lower() for string in strings],
    **WITH_LENGTH,
    "shape": lambda strings, _: _shapes(strings),
    "digits": lambda strings, _: [string.translate(DIGITS) for string in strings],
}


def apply(view: View, strings: Strings) -> Strings:
    """Return what a view sees in strings; "" where it has no value."""
    for name, k in view.steps:
        strings = FUNCTIONS[name](strings, k)
    return strings


# ---- the features of a model


class Columns(NamedTuple):
    """Tokens as columns of strings."""

    strings: list[list[str]]  # the distinct strings of each column
    codes: np.ndarray  # int32 (columns, tokens): which of them each token has
    starts: np.ndarray  # the tokens of sequence i are starts[i]:starts[i + 1]

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.float32)

    def sequences(self, selected: np.ndarray) -> "Columns":
        """Return some of the sequences, as if there were no others."""
        tokens, starts = tokens_of(self.starts, selected)
        parts = [renumber(strings, codes[tokens]) for strings, codes in zip(self.strings, self.codes, strict=True)]
        return Columns([strings for strings, _ in parts], np.array([codes for _, codes in parts], np.int32), starts)


class TemplateFeatures(Owning):
    """Features by templates: the number of every combination of values, and of every value of a view.

    The first view is always the first column as it is, so that known words can be distinguished from unknown ones. With
    hash_bits nothing is stored.
    """

    kind = "templates"

    def __init__(self, templates: "FeatureTemplates", min_count: int, hash_bits: int | None):
        self.parsed, self.columns = templates.parsed()
        self.source = templates.source()
        self.min_count, self.hash_bits = min_count, hash_bits
        parts = [part for template in self.parsed for part in template]
        self.views = list(dict.fromkeys([View(self.columns[0]), *(part.view for part in parts)]))
        self.values: list[dict[str, int]] = [{} for _ in self.views]
        self.word_views = [v for v, view in enumerate(self.views) if view.column == self.columns[0]]
        self._cache: np.ndarray | None = None
        self.keys, self.numbers = np.zeros((MIN_SLOTS, 2), np.uint64), np.zeros(MIN_SLOTS, np.int32)
        self.secret = SECRET  # it stays the same in other processes that use this table
        self.counts = np.zeros(2, np.int64)  # numbered features, entries of the table
        shape = (len(self.parsed), PARTS)
        views, offsets = np.full(shape, -1, np.int32), np.zeros(shape, np.int32)
        for k, template in enumerate(self.parsed):
            for p, part in enumerate(template):
                views[k, p], offsets[k, p] = self.views.index(part.view), part.offset
        codes = range(1, len(self.parsed) + 1) if hash_bits is None else [hash_string(name_of(t)) for t in self.parsed]
        self.templates = Templates(views, offsets, np.array(codes, np.int64))

    @property
    def n_features(self) -> int:
        return int(self.counts[0]) if self.hash_bits is None else 2**self.hash_bits

    def read(self, X: Any, dtype: Any = None, growth: Any = None) -> Columns:
        """Read sentences as columns. Raise ValueError for a token that does not have one string per column."""
        tokens, starts = flatten(X)
        try:
            parts = [number_strings(column) for column in self._split(tokens)]
            if not all(set(map(type, strings)) <= {str} for strings, _ in parts):
                raise TypeError("subclasses of str")
        except TypeError:
            tokens = [self._checked(token, at, starts) for at, token in enumerate(tokens)]
            parts = [number_strings(column) for column in self._split(tokens)]
        return Columns([strings for strings, _ in parts], np.array([codes for _, codes in parts], np.int32), starts)

    def _split(self, tokens: list[Any]) -> list[list[Any]]:
        """Return tokens column by column. Raise TypeError for tokens of different forms or lengths."""
        width, types = len(self.columns), set(map(type, tokens))
        if width == 1 and types <= {str}:
            return [tokens]
        if not (types <= {list, tuple} and set(map(len, tokens)) <= {width}):
            raise TypeError("not a table")
        return [list(map(itemgetter(c), tokens)) for c in range(width)]

    def _checked(self, token: Any, at: int, starts: np.ndarray) -> tuple[str, ...]:
        """Return a token as a tuple of plain strings."""
        width = len(self.columns)
        strings = (token,) if isinstance(token, str) else token
        if isinstance(strings, list | tuple) and len(strings) == width and all(isinstance(x, str) for x in strings):
            return tuple(map(str, strings))
        expected = "a string" if width == 1 else f"{width} strings ({', '.join(self.columns)})"
        raise ValueError(f"{position(starts, at).capitalize()} is {token!r}: a token must be {expected}.")

    def tokens(self, columns: Columns, dtype: Any, learn: bool) -> Tokens:
        """Return the rows of known features. learn: first number new ones."""
        views, starts, n = self._views(columns, learn), columns.starts, columns.codes.shape[1]
        features, ends = np.empty(n * len(self.parsed), np.int32), np.zeros(n + 1, np.int64)
        mode = HASH if self.hash_bits is not None else NUMBER if learn else FIND
        for pass_mode in (COUNT, NUMBER) if mode == NUMBER and self.min_count > 1 else (mode,):
            lookup = Lookup(pass_mode, self.min_count, 2 ** (self.hash_bits or 0) - 1)
            i = 0
            while i < len(starts) - 1:
                table = FeatureTable(self.keys, self.numbers, self.counts, self.secret)
                with np.errstate(over="ignore"):  # hashes overflow, which shows if nothing is compiled
                    i = number_features(views, self.templates, starts, i, table, lookup, features, ends)
                if i < len(starts) - 1:
                    self._grow_table(int(starts[i + 1] - starts[i]) * len(self.parsed))
        features = features[: ends[-1]]
        return Tokens(Sparse(ones(len(features), dtype), features, ends), starts)

    def _grow_table(self, n_new: int) -> None:
        """Make the table larger: with room for n_new entries, and at least twice as large."""
        n_slots = max(2 * len(self.keys), 1 << int(SLOTS_PER_ENTRY * (self.counts[1] + n_new) - 1).bit_length())
        self._set_table(n_slots, self.keys, self.numbers)

    def _set_table(self, n_slots: int, keys: np.ndarray, numbers: np.ndarray) -> None:
        """Make a table with these entries."""
        table = np.zeros((n_slots, 2), np.uint64), np.zeros(n_slots, np.int32)
        with np.errstate(over="ignore"):
            insert(*table, keys, numbers, self.secret)
        self.keys, self.numbers = table

    def _views(self, columns: Columns, learn: bool) -> Views:
        """Return the values of every view for the distinct strings of its column."""
        column_of = [self.columns.index(view.column) for view in self.views]
        strings_of = [columns.strings[c] for c in column_of]
        if learn and self.hash_bits is None:
            self._number_values(strings_of)
        parts = [np.empty(0, np.int64)] * len(self.views)
        if self.hash_bits is None:
            for v, values in zip(self.word_views, self._word_values(columns.strings[0]).T, strict=True):
                parts[v] = values
        for v, strings in enumerate(strings_of):
            if self.hash_bits is not None or column_of[v] != 0:
                parts[v] = self._values(v, strings)
        first = np.cumsum([0, *map(len, parts[:-1])], dtype=np.int64)
        return Views(columns.codes, np.array(column_of), first, np.concatenate(parts, dtype=np.int64))

    def _number_values(self, strings_of: list[list[str]]) -> None:
        """Give numbers to the values that views see for the first time. strings_of: the strings for each view."""
        for view, numbers, strings in zip(self.views, self.values, strings_of, strict=True):
            for value in apply(view, strings):
                if value and value not in numbers:
                    numbers[value] = len(numbers)
                    self._cache = None
            if len(numbers) >> VALUE_BITS:
                raise ValueError(f"{view} has over {2**VALUE_BITS:,} different values: use hash_bits.")

    def _values(self, v: int, strings: list[str]) -> np.ndarray:
        """Return the numbers, or hashes, of what view v sees in strings."""
        values = apply(self.views[v], strings)
        if self.hash_bits is None:
            return np.fromiter(map(self.values[v].get, values, itertools.repeat(NO_VALUE)), np.int64, len(strings))
        return np.fromiter((hash_string(value) if value else NO_VALUE for value in values), np.int64, len(strings))

    def _word_values(self, words: list[str]) -> np.ndarray:
        """Return the values of all views of the first column, (words, views); computed once for words of training.

        The cache holds values + 2, and 0 for a word that was not looked up yet: untouched memory is free.
        """
        numbers, cache = self._values(0, words), self._cache
        if cache is None:
            cache = self._cache = np.zeros((len(self.values[0]) + 1, len(self.word_views)), np.int32)
        values = cache[numbers]
        missing = np.flatnonzero((numbers < 0) | (values[:, 0] == 0))
        if len(missing):
            strings = [words[i] for i in missing.tolist()]
            values[missing] = np.stack([self._values(v, strings) for v in self.word_views], axis=1) + 2
            known = missing[numbers[missing] >= 0]
            cache[numbers[known], 1:] = values[known, 1:]
            cache[numbers[known], 0] = values[known, 0]  # last: another thread may be reading
        return values - 2

    def forget_waiting(self) -> None:
        """Reset the counts of features that did not occur often enough."""
        template, values, numbers = self.entries()
        is_kept = (numbers >= 0) | (numbers <= -self.min_count)
        if not is_kept.all():
            self.fill(template[is_kept], values[is_kept], numbers[is_kept])

    def entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return of every entry its template, its (entries, PARTS) values, and its number (negative: its count)."""
        used = self.keys[:, 0] != 0
        high, low = self.keys[used].T
        mask, bits = np.uint64(2**VALUE_BITS - 1), np.uint64(VALUE_BITS)
        values = np.stack([(high >> bits) & mask, high & mask, (low >> bits) & mask, low & mask], axis=1)
        template = (high >> np.uint64(2 * VALUE_BITS)).astype(np.int64) - 1
        return template, values.astype(np.int64), self.numbers[used]

    def fill(self, template: np.ndarray, values: np.ndarray, numbers: np.ndarray) -> None:
        """Make these the entries of the table."""
        bits, v = np.uint64(VALUE_BITS), values.T.astype(np.uint64)
        high = ((template + 1).astype(np.uint64) << bits | v[0]) << bits | v[1]
        n_slots = max(MIN_SLOTS, 1 << int(SLOTS_PER_ENTRY * len(numbers)).bit_length())
        self._set_table(n_slots, np.stack([high, v[2] << bits | v[3]], axis=1), numbers.astype(np.int32))
        self.counts = np.array([(numbers >= 0).sum(), len(numbers)], np.int64)

    def names(self) -> list[str]:
        """Return the names of all features in the order of their numbers."""
        if self.hash_bits is not None:
            return [f"#{number}" for number in range(self.n_features)]
        template, values, numbers = self.entries()
        order = np.argsort(numbers)[np.count_nonzero(numbers < 0) :]
        strings, prefixes = [list(values) for values in self.values], [name_of(template) for template in self.parsed]
        views = self.templates.views.tolist()
        return [
            prefixes[k]
            + "=" * (len(self.parsed[k]) > 0)
            + "|".join(strings[v][x] for v, x in zip(views[k], row, strict=True) if v >= 0)
            for k, row in zip(template[order].tolist(), values[order].tolist(), strict=True)
        ]


# ---- the transformer


# auto_wrap_output_keys=None: no frame can hold the lengths of the sentences, which the tagger needs
class FeatureTemplates(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]
    """Make features of tokens by templates: a word, its neighbours, suffixes and shape, and combinations of them.

    Turns sentences of raw tokens into features for `SequencePerceptron`, compiled and the same in training and tagging.
    Give it to the tagger, `SequencePerceptron(templates=FeatureTemplates(...))`, and one model takes raw tokens; or
    put it in front of it in a pipeline.

    Use it if tokens are strings in columns, such as words and part-of-speech tags. If features come from elsewhere (a
    lexicon, embeddings), give the tagger dicts or a matrix.

    Parameters
    ----------
    templates : list of str, "words", "chunking" or None, default=None
        As "word[0]", "word[-1]|word[0]" (two values together), "word[-2..2]" (five templates), "suffix(word, 1..3)",
        "lower(word)", "prefix(word, 2)", "shape(word)[1]", "digits(word)", "bias". In brackets: of which token, 0 is
        the one to be labelled. A template that looks beyond an end of the sentence gives no feature. "words": for a
        column of words; "chunking": the 19 templates of the CRFsuite tutorial, for a word and its tag.
        None: a rich set for the given columns.
    columns : list of str, default=("word",)
        The names of the columns of a token. A token of one column may be a plain string.

    Attributes
    ----------
    n_features_ : int
        The number of features seen by `fit`.

    Examples
    --------
    >>> from perceptrons import FeatureTemplates, SequencePerceptron
    >>> sentences = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat", "barks"]]
    >>> tags = [["DET", "NOUN", "VERB"]] * 3
    >>> tagger = SequencePerceptron(templates=FeatureTemplates(["word[0]", "suffix(word, 1)", "word[-1]"]))
    >>> tagger.fit(sentences, tags).predict([["a", "dog", "sleeps"]])
    [['DET', 'NOUN', 'VERB']]
    """

    def __init__(self, templates: Any = None, columns: Sequence[str] = ("word",)) -> None:
        self.templates = templates
        self.columns = columns

    def __str__(self) -> str:
        """Return the name of the set, or the number of templates, so that people can distinguish settings."""
        if self.templates is None or isinstance(self.templates, str):
            return self.templates or "a rich set"
        return f"{len(self.templates)} templates"

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the features of these sentences: lists of tokens, each a string or a tuple of strings."""
        features = TemplateFeatures(self, 1, None)
        features.tokens(features.read(X), np.float32, learn=True)
        self._features = features
        return self

    def transform(self, X: Any) -> Any:
        """Return those features of these sentences that `fit` has seen."""
        features = self._fitted()
        tokens = features.tokens(features.read(X), np.float32, learn=False)
        shape = (len(tokens.rows.starts) - 1, features.n_features)
        values = np.ones(len(tokens.rows.columns), np.float32)
        matrix = sp.csr_matrix((values, tokens.rows.columns, tokens.rows.starts), shape=shape)
        return TokenFeatures(matrix, np.diff(tokens.starts))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the features, such as "word[-1]|word[0]=in|the"."""
        return np.array(self._fitted().names(), dtype=object)

    @property
    def n_features_(self) -> int:
        return self._fitted().n_features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string = False, True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_features")

    def _fitted(self) -> TemplateFeatures:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("This FeatureTemplates is not fitted yet: call fit first.")
        return self._features

    def parsed(self) -> tuple[list[Template], list[str]]:
        """Return the templates and the columns, checked."""
        if not isinstance(self.columns, str | list | tuple):
            raise ValueError(f"columns={self.columns!r}: give a list of names, such as ['word', 'pos'].")
        columns = [self.columns] if isinstance(self.columns, str) else list(self.columns)
        are_names = all(isinstance(name, str) and name.isidentifier() for name in columns)
        if not columns or not are_names or len(set(columns)) < len(columns):
            raise ValueError(f"columns={self.columns!r}: give different names, such as ['word', 'pos'].")
        texts = self.templates
        if texts is None:
            texts = _rich(columns)
        elif isinstance(texts, str):
            if texts not in ("words", "chunking"):
                raise ValueError(f"templates={texts!r}: give a list of templates, 'words', 'chunking' or None.")
            texts = _renamed(WORDS if texts == "words" else CHUNKING, columns)
        elif not isinstance(texts, list | tuple):
            raise ValueError(f"templates={texts!r}: give a list of templates, 'words', 'chunking' or None.")
        distinct: dict[Template, None] = {}
        n_parsed = 0
        for text in texts:
            templates = parse(text, columns)
            n_parsed += len(templates)
            distinct.update(dict.fromkeys(templates))
            if len(distinct) > MAX_TEMPLATES or n_parsed > 10 * MAX_TEMPLATES:  # a file may ask for any number
                raise ValueError(f"There are more than {MAX_TEMPLATES:,} templates, which is the maximum: use fewer.")
        if not distinct:
            raise ValueError("There are no templates: give at least one.")
        return list(distinct), columns

    def source(self) -> tuple[Any, ...]:
        """Return the parameters, in a form that does not change with them."""
        return tuple(
            value if value is None or isinstance(value, str) else tuple(value)
            for value in (self.templates, self.columns)
        )


def _rich(columns: Sequence[str]) -> list[str]:
    """Return a set for the word alone, or for the word with its tag; of further columns, their values nearby."""
    texts = _renamed(WORDS if len(columns) == 1 else WORDS_AND_TAGS, columns)
    return texts + [f"{column}[-1..1]" for column in columns[2:]]


def _renamed(texts: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Return templates that are written for word and pos, for the first two of these columns."""
    if len(columns) < 2 and any("pos" in text for text in texts):
        raise ValueError(f"templates='chunking' needs a word and its tag, but there is only the column {columns[0]!r}.")
    renaming = dict(zip(("word", "pos"), columns, strict=False))
    return [re.sub(r"\b(word|pos)\b", lambda found: renaming[found[0]], text) for text in texts]
