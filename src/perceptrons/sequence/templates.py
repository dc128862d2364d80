"""`FeatureTemplates`, which turns columns of tokens into features by templates.

The language of templates is in `template_grammar.py`, the compiled part in `passes/attributes.py`.
"""

import re
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from perceptrons.sequence.template_features import TemplateFeatures
from perceptrons.sequence.template_grammar import MANY, Template, parse
from perceptrons.sequence.tokens import TokenFeatures

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
        features = template_features(self, 1, None)
        features.tokens(features.read(X), np.float32, learn=True)
        self._known = features
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
        return hasattr(self, "_known")

    def _fitted(self) -> TemplateFeatures:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("This FeatureTemplates is not fitted yet: call fit first.")
        return self._known

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
            if len(distinct) > MANY or n_parsed > 10 * MANY:  # before all that a hostile file asks for is made
                raise ValueError(f"There are more than {MANY:,} templates, which is the maximum: use fewer.")
        if not distinct:
            raise ValueError("There are no templates: give at least one.")
        return list(distinct), columns

    def source(self) -> tuple[Any, ...]:
        """Return the parameters, in a form that does not change with them."""
        return tuple(
            value if value is None or isinstance(value, str) else tuple(value)
            for value in (self.templates, self.columns)
        )


def template_features(templates: FeatureTemplates, min_count: int, hash_bits: int | None) -> TemplateFeatures:
    """Return features that are computed by these templates, without any names yet."""
    features = TemplateFeatures(*templates.parsed(), min_count, hash_bits)
    features.source = templates.source()
    return features


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
