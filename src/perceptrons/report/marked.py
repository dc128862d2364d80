"""A text as text, with the words marked that spoke for a wrong answer and those that spoke for the right one."""

import re
from typing import Any

from perceptrons.report.page import element
from perceptrons.training.html import Html, escaped

WORD = re.compile(r"\w+")
LONGEST = 480  # characters shown
BEFORE = 120  # characters kept before the first mark where the beginning is cut
SLIGHT = 0.2  # of the strongest word: weaker ones are not marked


def marked(text: str, contributions: list[tuple[str, float]]) -> Html:
    """The text, cut if long, with its words marked by the sign of what they contributed."""
    words = list(WORD.finditer(text))
    scores = word_scores([word.group().lower() for word in words], contributions)
    most = max(map(abs, scores), default=0.0)
    strong = [k for k, score in enumerate(scores) if most and abs(score) >= SLIGHT * most]
    begin = 0
    if len(text) > LONGEST and strong and words[strong[0]].end() > LONGEST:
        begin = max(0, words[strong[0]].start() - BEFORE)
    end = len(text) if len(text) - begin <= LONGEST else begin + LONGEST
    parts: list[Any] = ["… "] if begin else []
    at = begin
    for k in strong:
        first, last = words[k].span()
        if first < at or last > end:
            continue
        parts += [text[at:first], element("mark", text[first:last], class_="for" if scores[k] > 0 else "against")]
        at = last
    parts += [text[at:end], " …" * (end < len(text))]
    return element("blockquote", *map(escaped, parts), dir="auto")


def word_scores(words: list[str], contributions: list[tuple[str, float]]) -> list[float]:
    """What each word of a text contributed: alone, or as a part of runs of words, which share theirs evenly."""
    known: dict[tuple[str, ...], float] = {}
    for name, value in contributions:
        for one in name.split(" | "):
            gram = tuple(word.lower() for word in WORD.findall(one.rpartition("=")[2]))
            if gram and "‹" not in one:
                known.setdefault(gram, value)
    scores = [0.0] * len(words)
    for size in sorted({len(gram) for gram in known}):
        for k in range(len(words) - size + 1):
            value = known.get(tuple(words[k : k + size]), 0.0)
            for place in range(k, k + size) if value else ():
                scores[place] += value / size
    return scores
