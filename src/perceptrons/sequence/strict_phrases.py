"""Phrases by the letter of a scheme of labels: what is not labelled as the scheme demands is no phrase.

These are the rules of seqeval's strict mode. A pattern is the tag before, the tag here, and = if both types must be the
same, ! if they must differ; * stands for any tag.
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

START, INSIDE, END = 1, 2, 4


class Scheme(NamedTuple):
    """tags: which there are; starts, inside: what a phrase starts and continues with; ends: where it may end."""

    tags: str
    starts: str
    inside: str
    ends: str


OF_LAST = "BI= BE= II= IE="
SCHEMES = {
    "IOB1": Scheme("IOB", "OI II! BI IB= BB=", "BI= II=", "II! IO IB BO BI! BB="),
    "IOB2": Scheme("IOB", "*B", "BI= II=", "IO II! IB BO BI! BB"),
    "IOE1": Scheme("IOE", "OI II! EI EE=", "II= IE=", "II! IO IE! EI= EE="),
    "IOE2": Scheme("IOE", "OI OE EI EE II! IE!", "IE= II=", "E*"),
    "IOBES": Scheme("IOBES", "*B *S", OF_LAST, "S* E*"),
    "BILOU": Scheme("BILOU", "*B *U", OF_LAST.replace("E", "L"), "U* L*"),
}


def cases(name: str, labels: set[tuple[str, str]]) -> dict[tuple[tuple[str, str], tuple[str, str]], int]:
    """For every two labels, each a tag and a type, that may stand side by side: START, INSIDE and END, as far as true.

    Raises ValueError for a tag that the scheme does not have.
    """
    scheme = SCHEMES[name]
    for tag, kind in sorted(labels):
        if tag not in set(scheme.tags):
            label = f"{tag}-{kind}" if kind else tag
            raise ValueError(
                f"{label!r} is not a label of the scheme {name}, whose tags are {', '.join(scheme.tags)}: use another "
                "scheme, or none to count as conlleval does."
            )
    parts = ((START, scheme.starts.split()), (INSIDE, scheme.inside.split()), (END, scheme.ends.split()))
    every = labels | {("O", "")}
    return {
        (before, here): sum(bit for bit, patterns in parts if any(_fits(one, before, here) for one in patterns))
        for before, here in product(every, every)
    }


def _fits(pattern: str, before: tuple[str, str], here: tuple[str, str]) -> bool:
    tags = pattern[0] in ("*", before[0]) and pattern[1] in ("*", here[0])
    return tags and (len(pattern) == 2 or (before[1] == here[1]) == (pattern[2] == "="))


def strict_spans(
    labels: list[tuple[str, str]], known: dict[tuple[tuple[str, str], tuple[str, str]], int]
) -> Iterator[tuple[int, int, str]]:
    """Start, end and type of the phrases of one sentence. known: what `cases` says of these labels."""
    outside = ("O", "")
    padded = [outside, *labels, outside]
    at = 1
    while at < len(padded) - 1:
        if not known[padded[at - 1], padded[at]] & START:
            at += 1
            continue
        start = at
        at += 1
        while known[padded[at - 1], padded[at]] & INSIDE:
            at += 1
        if known[padded[at - 1], padded[at]] & END:
            yield start - 1, at - 1, padded[start][1]
