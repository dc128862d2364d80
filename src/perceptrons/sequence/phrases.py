"""Phrases in sentences of labels, and how well they are found, counted as the CoNLL shared tasks did by `conlleval`.

A label is a tag and a type, "B-NP"; without a hyphen it is a tag of type "". Two neighbouring labels decide whether a
phrase starts, continues or may end between them: by their tags, and by whether the type changes. A scheme gives these
rules as patterns. They become small tables, in which all tokens are looked up at once.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

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
PHRASE_LABEL = re.compile(r"O|[BIES](-.*)?", re.DOTALL)


class Scheme(NamedTuple):
    """A scheme of tags, as patterns of two neighbouring labels.

    A pattern is the tag before and the tag here (* is any tag), then = if both must have one type, ! if they must not.
    """

    tags: str
    starts: str  # where a phrase may start
    inside: str  # where it continues
    ends: str  # where it may end


_IOBES_INSIDE = "BI= BE= II= IE="
# the rules of seqeval's strict mode: what is not labelled as the scheme demands is no phrase
SCHEMES = {
    "IOB1": Scheme("IOB", "OI II! BI IB= BB=", "BI= II=", "II! IO IB BO BI! BB="),
    "IOB2": Scheme("IOB", "*B", "BI= II=", "IO II! IB BO BI! BB"),
    "IOE1": Scheme("IOE", "OI II! EI EE=", "II= IE=", "II! IO IE! EI= EE="),
    "IOE2": Scheme("IOE", "OI OE EI EE II! IE!", "IE= II=", "E*"),
    "IOBES": Scheme("IOBES", "*B *S", _IOBES_INSIDE, "S* E*"),
    "BILOU": Scheme("BILOU", "*B *U", _IOBES_INSIDE.replace("E", "L"), "U* L*"),
}
# conlleval, with rules for S and for B after E; ? is any tag that is not listed. A phrase continues unless one starts
# or ends, and it may end anywhere.
_CONLLEVAL = Scheme("OBIES.?", "OB BB IB OI EI OE EE *S EB SB SI SE *B! *I! *E! *?!", "", "BO IO EO S* B*! I*! E*! ?*!")


class Phrase(NamedTuple):
    """A phrase of a sentence: its words are words[start:end]."""

    type: str
    start: int
    end: int


@dataclass(frozen=True)
class PhraseCounts:
    """The numbers of true phrases, predicted phrases, and right ones, which have the same start, end and type.

    precision, recall and f1 are 0 where there is nothing to divide by, as in conlleval.
    """

    n_true: int
    n_found: int
    n_right: int

    @property
    def precision(self) -> float:
        """Return the share of predicted phrases that are right."""
        return self.n_right / self.n_found if self.n_found else 0.0

    @property
    def recall(self) -> float:
        """Return the share of true phrases that were predicted."""
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
        """Return the share of tokens with the right label."""
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
    reading = _Reading.of(scheme, flat)
    starts, ends, types = reading.spans(flat, lengths)
    spans = zip(starts.tolist(), ends.tolist(), types.tolist(), strict=True)
    return [Phrase(reading.types[number], start, end) for start, end, number in spans]


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
    phrases = _compare(true, predicted, lengths, scheme)
    counts = np.array([np.bincount(numbers, minlength=len(phrases.types)) for _, numbers in phrases.groups])
    by_type = zip(phrases.types, counts.T.tolist(), strict=True)
    n_true, n_found, n_right = counts.sum(axis=1).tolist()
    return PhraseScores(
        n_true,
        n_found,
        n_right,
        by_type={name: PhraseCounts(*column) for name, column in by_type if any(column)},
        n_tokens=int(phrases.lengths.sum()),
        n_tokens_right=phrases.n_tokens_right,
    )


def counts_by_sentence(true: Labels, predicted: Labels) -> np.ndarray:
    """Return three columns: how many phrases every sentence has, how many were found, and how many are right.

    Their sums over any sentences give the scores of these: F1 is twice the right ones over those there and found.
    """
    phrases = _compare(true, predicted, None)
    ends = np.cumsum(phrases.lengths)
    sentences = [np.searchsorted(ends, starts, side="right") for starts, _ in phrases.groups]
    return np.stack([np.bincount(numbers, minlength=len(ends)) for numbers in sentences], axis=1)


class _Comparison(NamedTuple):
    """The true phrases, the predicted ones and the right ones: where each starts, and the number of its type."""

    groups: tuple[tuple[np.ndarray, np.ndarray], ...]
    types: list[str]
    lengths: np.ndarray  # (sentences,)
    n_tokens_right: int


def _compare(
    true: Labels, predicted: Labels, lengths: Sequence[int] | np.ndarray | None, scheme: str | None = None
) -> _Comparison:
    """Find the phrases of true and predicted labels. Raise ValueError if sentences or tokens do not match."""
    true_labels, true_lengths = _flat(true, lengths)
    predicted_labels, predicted_lengths = _flat(predicted, lengths)
    if len(true_lengths) != len(predicted_lengths):
        raise ValueError(
            f"there are {len(true_lengths)} sentences of true labels, but {len(predicted_lengths)} of predicted ones: "
            "give the same sentences for both"
        )
    if (true_lengths != predicted_lengths).any():
        at = int(np.argmax(true_lengths != predicted_lengths))
        raise ValueError(
            f"sentence {at} (numbered from 0) has {true_lengths[at]} true labels, but {predicted_lengths[at]} "
            "predicted: give one of each per token"
        )
    reading = _Reading.of(scheme, true_labels, predicted_labels)
    starts, ends, types = reading.spans(true_labels, true_lengths)
    starts_hat, ends_hat, types_hat = reading.spans(predicted_labels, true_lengths)
    _, i, j = np.intersect1d(starts, starts_hat, assume_unique=True, return_indices=True)
    right = i[(ends[i] == ends_hat[j]) & (types[i] == types_hat[j])]
    n_right = int((reading.codes(true_labels) == reading.codes(predicted_labels)).sum())
    groups = (starts, types), (starts_hat, types_hat), (starts[right], types[right])
    return _Comparison(groups, reading.types, true_lengths, n_right)


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


@dataclass(frozen=True)
class _Reading:
    """The tags and types of labels, and the rules of a scheme. Equal labels have equal codes; B and B- are equal."""

    code: dict[str, int]
    types: list[str]  # the first is ""
    outside: int  # the tag O
    tag_of: np.ndarray  # (codes,)
    type_of: np.ndarray  # (codes,)
    starts: np.ndarray  # [tag before, tag here, is the type another one?]: may a phrase start?
    inside: np.ndarray  # likewise
    ends: np.ndarray

    @classmethod
    def of(cls, scheme: str | None, *flat_labels: list[str]) -> "_Reading":
        """Return the meaning of these labels. Raise ValueError for an unknown scheme, or a label that it lacks."""
        distinct = set(chain(*flat_labels))
        for label in distinct:
            if not isinstance(label, str):
                raise ValueError(f"{label!r} is not a label of a phrase: give text such as B-NP, I-NP and O")
        if scheme is not None and scheme not in SCHEMES:
            raise ValueError(f"scheme={scheme!r}: choose {', '.join(SCHEMES)}, or None to count as conlleval does.")
        rules = _CONLLEVAL if scheme is None else SCHEMES[scheme]
        parts = {label: (label.partition("-")[0], label.partition("-")[2]) for label in distinct}
        pairs = sorted(set(parts.values()))
        for tag, name in pairs:
            if scheme is not None and tag not in set(rules.tags):
                label = f"{tag}-{name}" if name else tag
                raise ValueError(
                    f"{label!r} is not a label of the scheme {scheme}, whose tags are {', '.join(rules.tags)}: use "
                    "another scheme, or none to count as conlleval does."
                )
        types = sorted({"", *(name for _, name in pairs)})
        starts, inside, ends = (_table(patterns, rules.tags) for patterns in rules[1:])
        if scheme is None:
            inside, ends = ~(starts | ends), np.ones_like(ends)
        return cls(
            code={label: pairs.index(pair) for label, pair in parts.items()},
            types=types,
            outside=rules.tags.index("O"),
            tag_of=np.array([rules.tags.index(tag if tag in set(rules.tags) else "?") for tag, _ in pairs], np.intp),
            type_of=np.array([types.index(name) for _, name in pairs], np.intp),
            starts=starts,
            inside=inside,
            ends=ends,
        )

    def codes(self, labels: list[str]) -> np.ndarray:
        return np.fromiter(map(self.code.__getitem__, labels), np.intp, len(labels))

    def spans(self, labels: list[str], lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return where phrases start, where they end (exclusive), and the numbers of their types."""
        codes, n = self.codes(labels), len(labels)
        bounds = np.append(0, np.cumsum(lengths))  # an O without type stands before, between and after the sentences
        tags = np.insert(self.tag_of[codes], bounds, self.outside)
        types = np.insert(self.type_of[codes], bounds, 0)
        token = np.insert(np.arange(n), bounds, -1)
        pair = tags[:-1], tags[1:], (types[:-1] != types[1:]).astype(np.intp)
        continues = self.inside[pair] & (token[:-1] >= 0) & (token[1:] >= 0)
        breaks = np.flatnonzero(~continues) + 1
        starts = np.flatnonzero(self.starts[pair]) + 1
        run = np.searchsorted(breaks, starts, side="right")  # labels between two breaks hold one phrase at most
        is_first = np.diff(run, prepend=-1) > 0
        starts, ends = starts[is_first], breaks[run[is_first]]
        is_phrase = self.ends[pair][ends - 1]
        starts, ends = starts[is_phrase], ends[is_phrase]
        return token[starts], token[ends - 1] + 1, types[starts]


def _table(patterns: str, tags: str) -> np.ndarray:
    """Return by tag before, tag here and whether the type changes (0 or 1) whether one of the patterns fits."""
    fits = np.zeros((len(tags), len(tags), 2), bool)
    for pattern in patterns.split():
        before, here = (range(len(tags)) if tag == "*" else [tags.index(tag)] for tag in pattern[:2])
        fits[np.ix_(before, here, {"=": [0], "!": [1]}.get(pattern[2:], [0, 1]))] = True
    return fits


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
