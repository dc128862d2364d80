"""Phrases in sentences of labels, and how well they are found, counted as the CoNLL shared tasks did by `conlleval`.

A label is a tag and a type, "B-NP"; without a hyphen it is a tag of type "". Where phrases start and end depends on two
neighbouring labels: on their tags, and on whether the type changes. These rules become two small tables, in which all
tokens are looked up at once.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from perceptrons.sequence.strict_phrases import SCHEMES, cases, strict_spans

__all__ = [
    "SCHEMES",
    "Averages",
    "Phrase",
    "PhraseCounts",
    "PhraseScores",
    "are_phrase_labels",
    "phrase_scores",
    "phrases",
]

Labels = Sequence[Any] | np.ndarray

TAGS = "OBIES.?"  # ? stands for any other
PHRASE_LABEL = re.compile(r"O|[BIES](-.*)?", re.DOTALL)


class Phrase(NamedTuple):
    """A phrase of a sentence: its words are words[start:end]."""

    type: str
    start: int
    end: int


@dataclass(frozen=True)
class PhraseCounts:
    """How many phrases there are, were found, and were right: with the same start, end and type.

    precision, recall and f1 are 0 where there is nothing to divide by, as in conlleval.
    """

    n_true: int
    n_found: int
    n_right: int

    @property
    def precision(self) -> float:
        """How many of the phrases found are right."""
        return self.n_right / self.n_found if self.n_found else 0.0

    @property
    def recall(self) -> float:
        """How many of the true phrases were found."""
        return self.n_right / self.n_true if self.n_true else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.n_right / (self.n_true + self.n_found) if self.n_right else 0.0


class Averages(NamedTuple):
    """Precision, recall and F1 over several types of phrases, and how many phrases there are of them."""

    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True)
class PhraseScores(PhraseCounts):
    """The counts over all types (micro average), those of each type, in alphabetical order, and of single labels."""

    by_type: dict[str, PhraseCounts]
    n_tokens: int
    n_tokens_right: int

    @property
    def accuracy(self) -> float:
        """How many tokens got the right label."""
        return self.n_tokens_right / self.n_tokens if self.n_tokens else 0.0

    def averages(self) -> dict[str, Averages]:
        """Return averages over phrases ("micro"), over types ("macro"), over types by true phrases ("weighted")."""
        types = list(self.by_type.values())
        sizes = np.array([of.n_true for of in types])
        averages_ = {"micro": Averages(self.precision, self.recall, self.f1, self.n_true)}
        for name, weights in (("macro", np.ones(len(types))), ("weighted", sizes)):
            shares = weights / max(1, weights.sum())
            rows = np.array([(of.precision, of.recall, of.f1) for of in types]).reshape(-1, 3)
            precision, recall, f1 = (shares @ rows).tolist()
            averages_[name] = Averages(precision, recall, f1, self.n_true)
        return averages_

    def report(self, digits: int = 2) -> str:
        """Return a classification report as text: precision, recall, F1 and support of every type, and three averages.

        The layout is that of `seqeval.metrics.classification_report`.

        Examples
        --------
        >>> from perceptrons.sequence.phrases import phrase_scores
        >>> true = [["B-NP", "I-NP", "B-VP"], ["B-NP", "B-VP", "O"]]
        >>> print(phrase_scores(true, [["B-NP", "I-NP", "I-VP"], ["B-NP", "I-NP", "O"]]).report())
                      precision    recall  f1-score   support
        <BLANKLINE>
                  NP       0.50      0.50      0.50         2
                  VP       1.00      0.50      0.67         2
        <BLANKLINE>
           micro avg       0.67      0.50      0.57         4
           macro avg       0.75      0.50      0.58         4
        weighted avg       0.75      0.50      0.58         4
        <BLANKLINE>
        """
        rows = [(kind or "_", of.precision, of.recall, of.f1, of.n_true) for kind, of in self.by_type.items()]
        averages = [(f"{name} avg", *of) for name, of in self.averages().items()]
        width = max(*(len(row[0]) for row in (*rows, *averages)), digits)
        head = " ".join([" " * (width + 1), *(f"{name:>9}" for name in ("precision", "recall", "f1-score", "support"))])
        lines = [
            " ".join([f"{name:>{width}} ", *(f"{share:>9.{digits}f}" for share in shares), f"{support:>9}"])
            for name, *shares, support in (*rows, *averages)
        ]
        return "\n".join([head, "", *lines[: len(rows)], "", *lines[len(rows) :], ""])


def phrases(labels: Labels, scheme: str | None = None) -> list[Phrase]:
    """Return the phrases of one sentence, from left to right.

    Labels may be of all common kinds, also mixed or ill-formed: IOB1 (B only between two phrases of one type), IOB2 (B
    at every start), IOE1, IOE2, IO, and IOBES (S for a phrase of one token, E at the end of a longer one). As for
    conlleval, a phrase also starts at an I behind O or behind another type.

    Labels with other tags, such as NP, are no mistake either: as for conlleval, phrases then start and end where the
    type changes, and that of NP is "". That is of little use; see `are_phrase_labels`. For BILOU, write E for L and S
    for U first.

    Parameters
    ----------
    labels : sequence of str
    scheme : {"IOB1", "IOB2", "IOE1", "IOE2", "IOBES", "BILOU"}, optional
        Count only phrases that are labelled by the letter of this scheme, as `phrase_scores` does.

    Returns
    -------
    list of Phrase
        Each with its type, its start, counted from 0, and its end, one more than the place of its last token.

    Examples
    --------
    >>> from perceptrons.sequence.phrases import phrases
    >>> words = "Ada Lovelace wrote to Charles Babbage".split()
    >>> for kind, start, end in phrases(["B-PER", "I-PER", "O", "O", "I-PER", "I-PER"]):
    ...     print(kind, words[start:end])
    PER ['Ada', 'Lovelace']
    PER ['Charles', 'Babbage']
    """
    flat, lengths = _flat(labels, [len(labels)])
    reading = _reading(flat)
    starts, ends, types = _finder(reading, scheme)(flat, lengths)
    spans = zip(starts.tolist(), ends.tolist(), types.tolist(), strict=True)
    return [Phrase(reading.kinds[kind], start, end) for start, end, kind in spans]


def phrase_scores(
    true: Labels, predicted: Labels, lengths: Sequence[int] | np.ndarray | None = None, scheme: str | None = None
) -> PhraseScores:
    """Count the phrases that are there, were found, and were right, over all types and by type, as conlleval does.

    Use it for chunks and named entities, labelled with B-, I- and O or with IOBES. The scores are those of the shared
    tasks CoNLL-2000, 2002 and 2003, and of seqeval's default mode. For part-of-speech tags, only `accuracy` is useful;
    see `are_phrase_labels`.

    The script does not know IOBES, for which two rules are added: S is a phrase by itself, and B behind E starts a new
    one. Labels of the tags B, I, O and of I, E, O are counted exactly as by the script, ill-formed ones too. So a tag
    is all that stands before the first hyphen, B-NP-SBJ is of type NP-SBJ, and B or B- of type ""; for seqeval a tag is
    one letter, and the last type is "_". Two accidents of the script are not copied: it takes a type "0" for "", and
    phrases of other tags, such as NP, are sometimes wrong for it although every label is right.

    Parameters
    ----------
    true, predicted : sequence of sequences of str, or sequence of str
        Labels of sentences, or of all tokens one behind the other.
    lengths : sequence of int, optional
        The number of tokens of each sentence, if labels are one behind the other. By default they are one sentence.
    scheme : {"IOB1", "IOB2", "IOE1", "IOE2", "IOBES", "BILOU"}, optional
        Count only phrases that are labelled by the letter of this scheme, true and predicted ones alike, as seqeval
        does with mode="strict": in IOB2 an I-NP after O is no phrase. By default phrases are found as conlleval does.

    Returns
    -------
    PhraseScores

    Examples
    --------
    >>> from perceptrons.sequence.phrases import phrase_scores
    >>> true = [["B-NP", "I-NP", "B-VP"], ["B-NP", "B-VP", "O"]]
    >>> scores = phrase_scores(true, [["B-NP", "I-NP", "I-VP"], ["B-NP", "I-NP", "O"]])
    >>> scores.n_true, scores.n_found, scores.n_right, round(scores.f1, 3)
    (4, 3, 2, 0.571)
    >>> scores.by_type["VP"]
    PhraseCounts(n_true=2, n_found=1, n_right=1)
    >>> scores.accuracy
    0.6666666666666666
    """
    matched = _matched(true, predicted, lengths, scheme)
    counts = np.array([np.bincount(each, minlength=len(matched.kinds)) for _, each in matched.phrases])
    n_true, n_found, n_right = counts.sum(axis=1).tolist()
    return PhraseScores(
        n_true,
        n_found,
        n_right,
        by_type={
            kind: PhraseCounts(*column)
            for kind, column in zip(matched.kinds, counts.T.tolist(), strict=True)
            if any(column)
        },
        n_tokens=int(matched.lengths.sum()),
        n_tokens_right=matched.n_tokens_right,
    )


def counts_by_sentence(true: Labels, predicted: Labels) -> np.ndarray:
    """Return three columns: how many phrases every sentence has, how many were found, and how many are right.

    Their sums over any sentences give the scores of these: F1 is twice the right ones over those there and found.
    """
    matched = _matched(true, predicted, None)
    ends = np.cumsum(matched.lengths)
    of_sentence = [np.searchsorted(ends, starts, side="right") for starts, _ in matched.phrases]
    return np.stack([np.bincount(each, minlength=len(ends)) for each in of_sentence], axis=1)


class _Matched(NamedTuple):
    """Phrases that are there, were found, and are right: where each starts, and the number of its type."""

    phrases: tuple[tuple[np.ndarray, np.ndarray], ...]
    kinds: list[str]
    lengths: np.ndarray  # of the sentences
    n_tokens_right: int


def _matched(
    true: Labels, predicted: Labels, lengths: Sequence[int] | np.ndarray | None, scheme: str | None = None
) -> _Matched:
    true_flat, true_lengths = _flat(true, lengths)
    found_flat, found_lengths = _flat(predicted, lengths)
    if len(true_lengths) != len(found_lengths):
        raise ValueError(
            f"there are {len(true_lengths)} sentences of true labels, but {len(found_lengths)} of predicted ones: "
            "give the same sentences for both"
        )
    if (true_lengths != found_lengths).any():
        at = int(np.argmax(true_lengths != found_lengths))
        raise ValueError(
            f"sentence {at} (numbered from 0) has {true_lengths[at]} true labels, but {found_lengths[at]} predicted: "
            "give one of each per token"
        )
    reading = _reading(true_flat, found_flat)
    spans = _finder(reading, scheme)
    starts, ends, types = spans(true_flat, true_lengths)
    found_starts, found_ends, found_types = spans(found_flat, true_lengths)
    _, here, there = np.intersect1d(starts, found_starts, assume_unique=True, return_indices=True)
    right = here[(ends[here] == found_ends[there]) & (types[here] == found_types[there])]
    n_right = int((reading.labels(true_flat) == reading.labels(found_flat)).sum())
    each = (starts, types), (found_starts, found_types), (starts[right], types[right])
    return _Matched(each, reading.kinds, true_lengths, n_right)


def are_phrase_labels(labels: Iterable[str]) -> bool:
    """Return whether all labels are O or have the tags B, I, E, S, unlike part-of-speech tags.

    Examples
    --------
    >>> from perceptrons.sequence.phrases import are_phrase_labels
    >>> are_phrase_labels(["O", "B-NP", "I-NP"]), are_phrase_labels(["DT", "NN", "O"])
    (True, False)
    """
    distinct = set(labels)
    return all(isinstance(label, str) and PHRASE_LABEL.fullmatch(label) for label in distinct) and any(
        label == "B" or label[1:2] == "-" for label in distinct
    )


# ---- Where phrases start and end


def _starts_phrase(previous: str, tag: str, new_type: bool) -> bool:
    """Return whether a phrase starts with this tag behind that one."""
    in_script = previous + tag in {"OB", "BB", "IB", "OI", "EI", "OE", "EE"}
    in_iobes = tag == "S" or previous + tag in {"EB", "SB", "SI", "SE"}
    return in_script or in_iobes or (new_type and tag not in "O.")


def _ends_phrase(previous: str, tag: str, new_type: bool) -> bool:
    """Return whether a phrase ends between these tags. It also does where another starts."""
    return previous + tag in {"BO", "IO", "EO"} or previous == "S" or (new_type and previous not in "O.")


CASES = [(before, tag, new_type) for before in TAGS for tag in TAGS for new_type in (False, True)]
STARTS, ENDS = (
    np.array([rule(*case) for case in CASES]).reshape(len(TAGS), len(TAGS), 2)
    for rule in (_starts_phrase, _ends_phrase)
)


class _Reading(NamedTuple):
    """What the labels mean: the tag and type of each, as numbers; equal labels have equal numbers."""

    number: dict[str, int]
    tags: np.ndarray
    types: np.ndarray
    kinds: list[str]  # the types; the first is ""
    parts: dict[str, tuple[str, str]]  # tag and type, as text

    def labels(self, flat: list[str]) -> np.ndarray:
        return np.fromiter(map(self.number.__getitem__, flat), dtype=np.intp, count=len(flat))


def _reading(*flats: list[str]) -> _Reading:
    distinct = set(chain(*flats))
    others = [label for label in distinct if not isinstance(label, str)]
    if others:
        raise ValueError(f"{others[0]!r} is not a label of a phrase: give text such as B-NP, I-NP and O")
    parts = {label: (label.partition("-")[0], label.partition("-")[2]) for label in distinct}
    kinds = sorted({"", *(kind for _, kind in parts.values())})
    pairs = sorted(set(parts.values()))  # B and B- are one
    return _Reading(
        {label: pairs.index(pair) for label, pair in parts.items()},
        np.array([TAGS.index(tag if tag in set(TAGS) else "?") for tag, _ in pairs], dtype=np.intp),
        np.array([kinds.index(kind) for _, kind in pairs], dtype=np.intp),
        kinds,
        parts,
    )


def _finder(reading: _Reading, scheme: str | None) -> Callable[[list[str], np.ndarray], Any]:
    """Return a function that finds phrases in such labels: as conlleval does, or by the letter of a scheme."""
    if scheme is None:
        return lambda flat, lengths: _spans(reading, flat, lengths)
    if scheme not in SCHEMES:
        raise ValueError(f"scheme={scheme!r}: choose {', '.join(SCHEMES)}, or None to count as conlleval does.")
    cases_ = cases(scheme, set(reading.parts.values()))
    numbers = {kind: number for number, kind in enumerate(reading.kinds)}

    def find(flat: list[str], lengths: np.ndarray) -> tuple[np.ndarray, ...]:
        spans, first = [], 0
        for length in lengths.tolist():
            sentence = [reading.parts[label] for label in flat[first : first + length]]
            spans += [(first + a, first + b, numbers[kind]) for a, b, kind in strict_spans(sentence, cases_)]
            first += length
        columns = np.array(spans, dtype=np.intp).reshape(-1, 3).T
        return columns[0], columns[1], columns[2]

    return find


def _spans(reading: _Reading, flat: list[str], lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where phrases start, where they end, and the numbers of their types."""
    labels = reading.labels(flat)
    tags, types = reading.tags[labels], reading.types[labels]
    first = (np.cumsum(lengths) - lengths)[lengths > 0]
    tags_before, types_before = np.roll(tags, 1), np.roll(types, 1)
    tags_before[first], types_before[first] = TAGS.index("O"), 0
    case = tags_before, tags, (types != types_before).astype(np.intp)
    begins = STARTS[case]
    breaks = begins | ENDS[case]
    breaks[first] = True
    starts = np.flatnonzero(begins)
    places = np.append(np.flatnonzero(breaks), len(flat))
    return starts, places[np.searchsorted(places, starts, side="right")], types[starts]


def _flat(labels: Labels, lengths: Sequence[int] | np.ndarray | None) -> tuple[list[str], np.ndarray]:
    """Return all labels one behind the other, and the number of them in each sentence."""
    labels_ = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    nested = bool(labels_) and not isinstance(labels_[0], str) and hasattr(labels_[0], "__len__")
    if nested and lengths is not None:
        raise ValueError(f"{labels_[0]!r} is not a label: give the labels of one sentence, or of all in one list")
    if nested and any(isinstance(sentence, str) for sentence in labels_):
        raise ValueError("some labels are in sentences and some are not: give one list per sentence")
    if lengths is not None and len(lengths) and np.asarray(lengths).dtype.kind not in "iu":
        raise ValueError(f"lengths must be whole numbers, one per sentence, not {lengths!r}")
    if nested:
        return list(chain.from_iterable(labels_)), np.array([len(sentence) for sentence in labels_], dtype=np.intp)
    each = np.array([len(labels_)] if lengths is None else lengths, dtype=np.intp).reshape(-1)
    if (each < 0).any() or int(each.sum()) != len(labels_):
        raise ValueError(f"lengths sum to {int(each.sum())}, but there are {len(labels_)} labels: give one per token")
    return labels_, each
