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
    """Return START, INSIDE and END, as far as true, for every two labels (tag and type) that may stand side by side.

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
        pair: sum(bit for bit, patterns in parts if any(_fits(pattern, *pair) for pattern in patterns))
        for pair in product(every, every)
    }


def _fits(pattern: str, previous: tuple[str, str], current: tuple[str, str]) -> bool:
    tags = pattern[0] in ("*", previous[0]) and pattern[1] in ("*", current[0])
    return tags and (len(pattern) == 2 or (previous[1] == current[1]) == (pattern[2] == "="))


def strict_spans(
    labels: list[tuple[str, str]], flags: dict[tuple[tuple[str, str], tuple[str, str]], int]
) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and type of the phrases of one sentence. flags: what `cases` says of these labels."""
    outside = ("O", "")
    padded = [outside, *labels, outside]
    place = 1
    while place < len(padded) - 1:
        if not flags[padded[place - 1], padded[place]] & START:
            place += 1
            continue
        start = place
        place += 1
        while flags[padded[place - 1], padded[place]] & INSIDE:
            place += 1
        if flags[padded[place - 1], padded[place]] & END:
            yield start - 1, place - 1, padded[start][1]
