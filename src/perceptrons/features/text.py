"""`HashedText`: texts to sparse rows of words and n-grams. The compiled loops are in `scan/words.py`."""

from collections.abc import Callable
from numbers import Integral
from typing import Any

import scipy.sparse as sp

from perceptrons.features.assembling import NORMS, VALUES, Found, assemble
from perceptrons.features.local import Local, Workspace, cut_text
from perceptrons.features.naming import Naming
from perceptrons.features.reading import Arrowed, Listed, read_texts
from perceptrons.scan.words import Rule, folded
from perceptrons.training.parameters import NONE, Domain, Flag, Words, check_parameters

LONGEST = 16  # words or characters of an n-gram
DOMAINS: dict[str, tuple[Domain, ...]] = {
    "lowercase": (Flag(),),
    "values": (Words(VALUES),),
    "norm": (Words(NORMS), NONE),
}


class HashedText(Naming):
    """Texts to sparse rows of words and n-grams, hashed to columns or with a vocabulary.

    A word is a run of letters, digits and underscores in the sense of Unicode, in lower case; everything else separates
    words. Runs compiled, in several threads if there is a megabyte of text or more; the result does not depend on them.

    When to use it: texts for a linear model, above all many of them or a stream, as hashing needs no pass over the data
    first and has a fixed width. When not: you need columns that never share two words (set bits=None, and `fit`), words
    cut by other rules, or stop words and idf weights (scikit-learn's `TfidfVectorizer`; `TfidfTransformer` works
    behind this one).

    Parameters
    ----------
    bits : int or None, default=20
        Hash to 2**bits columns, 1 to 31. None: columns for the words that `fit` meets, others are dropped.
    words : (int, int) or None, default=(1, 1)
        N-grams of words, from so many to so many, up to 16: (1, 2) is single words and pairs, as "new york".
    chars : (int, int) or None, default=None
        N-grams of characters within words, with a space before and behind the word; a word shorter than that gives
        itself. Shown in ‹ ›.
    lowercase : bool, default=True
        Make everything lower case, character by character.
    values : {"log", "count", "binary"}, default="log"
        What a feature is worth that comes c times in a text: 1 + ln c, c, or 1.
    norm : {"l2"} or None, default="l2"
        Scale every row to Euclidean length 1.
    signed : bool, default=True
        Where columns are hashed, half of the features count negatively, so that those which share a column do
        not add up.
    seed : int, default=0
        Of the hash, MurmurHash3 of the feature as UTF-8.
    min_count : int, default=1
        With bits=None: leave out what comes less often in the texts of `fit`.

    Attributes
    ----------
    columns_ : Columns
        After `fit`: names and columns; `columns_.audit(weights)` shows what shares a column, `columns_.name_of(j)` what
        is in column j.
    vocabulary_ : dict of str to int
        The column of each name met in `fit`.
    counts_ : array
        How often each came, in the order of `vocabulary_`.

    Notes
    -----
    Texts are str, or bytes of UTF-8, in which bytes that are no UTF-8 separate words. Which characters are letters, and
    their lower case, is what Python's `str` says.

    Examples
    --------
    >>> from perceptrons import Perceptron
    >>> from perceptrons.features import HashedText
    >>> from sklearn.pipeline import make_pipeline
    >>> texts = ["free prize, call now", "see you at home", "you won a prize", "call me at home"]
    >>> model = make_pipeline(HashedText(), Perceptron()).fit(texts, ["spam", "ham", "spam", "ham"])
    >>> model.predict(["a free prize for you"]).tolist()
    ['spam']
    """

    _threaded = True

    def __init__(
        self,
        *,
        bits=20,
        words=(1, 1),
        chars=None,
        lowercase=True,
        values="log",
        norm="l2",
        signed=True,
        seed=0,
        min_count=1,
    ):
        self.bits = bits
        self.words = words
        self.chars = chars
        self.lowercase = lowercase
        self.values = values
        self.norm = norm
        self.signed = signed
        self.seed = seed
        self.min_count = min_count

    def rule(self) -> Rule:
        """How texts are cut, for `perceptrons.features.local.cut_text`."""
        self._check()
        return Rule(*_span(self, "words"), *_span(self, "chars"), folded(bool(self.lowercase)))

    def _check(self) -> None:
        super()._check()
        check_parameters(self, DOMAINS)
        if self.words is None and self.chars is None:
            raise ValueError("HashedText(words=None, chars=None) leaves nothing of a text: give one of the two.")
        for name in ("words", "chars"):
            _span(self, name)

    def _read(self, X: Any) -> Listed | Arrowed:
        return read_texts(X)

    def _cutter(self) -> Callable[[Listed | Arrowed, int, Workspace], Local]:
        rule = self.rule()
        return lambda source, k, workspace: cut_text(*source.piece(k), rule, workspace)

    def _assemble(self, local: Local, found: Found, n_columns: int) -> sp.csr_matrix:
        return assemble(local, found, n_columns, self.values, self.norm)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags


def _span(text: HashedText, name: str) -> tuple[int, int]:
    """The parameter as two numbers; for None two between which there is none."""
    span = getattr(text, name)
    if span is None:
        return (1, 0)
    sizes = list(span) if isinstance(span, tuple | list) else []
    if not (
        len(sizes) == 2
        and all(isinstance(size, Integral) and not isinstance(size, bool) for size in sizes)
        and 1 <= sizes[0] <= sizes[1] <= LONGEST
    ):
        raise ValueError(
            f"HashedText({name}={span!r}): {name} must be None or two whole numbers from 1 to {LONGEST}, the lesser "
            "first, as (1, 2)."
        )
    return int(sizes[0]), int(sizes[1])
