"""What is wrong with a line of Vowpal Wabbit's text, in words. `scan/vw.py` finds such lines; this need not be fast."""

import re
from collections.abc import Iterator
from itertools import chain

from perceptrons.features.values import NOT_FINITE, shown
from perceptrons.scan.vw import LARGEST, LONGEST_NAMESPACE

NUMBER = re.compile(r"[+-]?(\d++\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
LABEL = "the label is missing: start the line with it, and a space behind it"
ONE_LABEL = "give one label a line, and behind it at most an importance"
Fault = tuple[str, int]  # and its place, from 0


def fault(content: bytes, need_labels: bool, least: float, most: float) -> Fault:
    """What is wrong with a line that is no example, and the column, counted from 1."""
    text = content.decode("utf-8", "surrogateescape").rstrip("\r")
    head, bar, body = text.partition("|")
    if not bar:
        return "there is no | in the line: write features behind one, as 1 |words good news:2", 1
    for what, place in chain(_of_head(head, need_labels, least, most), _of_body(body, len(head) + 1)):
        return what, place + 1
    return "not of the form label |namespace feature:value ...: mend or remove the line", 1


def _of_head(head: str, need_labels: bool, least: float, most: float) -> Iterator[Fault]:
    for bad in re.finditer("[\t\r]", head):
        yield f"{shown(bad[0])} before the |: separate label, importance and tag by spaces", bad.start()
    words = list(re.finditer("[^ ]+", head))
    tag = words.pop() if words and (words[-1][0][0] == "'" or not head.endswith(" ")) else None
    if not words:
        if need_labels and tag is not None and tag[0][0] != "'":
            what = f"{shown(tag[0])} touches the | and so is a tag, and no label: put a space between them"
            yield what, tag.start()
        elif need_labels:
            yield LABEL, 0
        return
    label, *numbers = words
    if ":" in label[0]:
        yield f"{shown(label[0])}: labels with costs are not read here: {ONE_LABEL}", label.start()
    if "," in label[0]:
        yield f"{shown(label[0])}: several labels an example are not read here: {ONE_LABEL}", label.start()
    if re.search(r"[\x00-\x1f\x7f]", label[0]):
        yield f"{shown(label[0])} has a control character, so it is no label: remove it", label.start()
    for word, name in zip(numbers, ("importance", "base"), strict=False):
        if not NUMBER.fullmatch(word[0]):
            what = f"{shown(word[0])} is in the place of the {name} and not a number: begin a tag with '"
        elif name == "base" and float(word[0]) != 0:
            what = f"base {shown(word[0])} is not 0: no prediction to start from is read here, remove it"
        elif name == "importance" and not (float(word[0]) == 0 or least <= float(word[0]) <= most):
            what = f"importance {shown(word[0])} is not 0 or from {least:g} to {most:g}: mend it, or remove the line"
        else:
            continue
        yield what, word.start()
    if len(words) > 3:
        what = (
            f"{len(words)} words before the |: at most a label, an importance and a base, and a tag that begins with '"
        )
        yield what, words[3].start()


def _of_body(body: str, begin: int) -> Iterator[Fault]:
    parts = body.split("|")
    for place, part in enumerate(parts):
        yield from _of_namespace(part, begin, place + 1 == len(parts))
        begin += len(part) + 1


def _of_namespace(part: str, begin: int, last: bool) -> Iterator[Fault]:
    for bad in re.finditer("\r", part):
        yield "a carriage return within the line: remove it, or write a newline", begin + bad.start()
    scale, words = 1.0, re.finditer("[^ \t]+", part)
    if part and part[0] not in " \t":
        namespace, colon, value = next(words)[0].partition(":")
        if not namespace:
            yield f"{shown(':' + value)} behind the |, where a namespace stands: put a space between", begin
        if len(namespace.encode("utf-8", "surrogateescape")) > LONGEST_NAMESPACE:
            yield f"a namespace of more than {LONGEST_NAMESPACE} bytes: give it a shorter name", begin
        if colon:
            what = _of_number(value, 1.0)
            if what:
                yield what, begin + len(namespace) + 1
                return
            scale = float(value)
    for word in words:
        name, colon, value = word[0].partition(":")
        what = None if not colon else _of_value(value, scale, word.end() == len(part) and not last)
        if not colon and abs(scale) > LARGEST:
            what = f"scale {scale:g} is too large (at most {LARGEST:.0e}): scale the values"
        if what:
            yield what, begin + word.start() + len(name) + 1


def _of_value(value: str, scale: float, touches: bool) -> str | None:
    if not re.match(r"[A-Za-z_\x80-\U0010ffff]", value) or NOT_FINITE.fullmatch(value):
        return _of_number(value, scale)
    if touches:
        return f"{shown(value)} is a word and touches the |, which VW takes for a part of it: put a space between"
    if re.fullmatch(r"[eE]-?[0-9]*", value) or re.match("(?i)nan|inf", value):
        return f"{shown(value)} is a word that VW takes for a number: write it otherwise, as {shown('_' + value)}"
    return None


def _of_number(text: str, scale: float) -> str | None:
    if not text:
        return "there is no number behind the colon: fill it in, or remove the feature"
    if NOT_FINITE.fullmatch(text):
        return f"{shown(text)} is not a finite number: fill it in, or remove the feature"
    if not NUMBER.fullmatch(text):
        hint = "write decimals with a point" if "," in text else "mend it; values that are words begin with a letter"
        return f"{shown(text)} is not a number: {hint}"
    if not abs(float(text) * scale) <= LARGEST:
        return f"{shown(text)} is too large (at most {LARGEST:.0e}): scale the values"
    return None
