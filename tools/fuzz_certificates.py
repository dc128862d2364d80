"""Forge certificates of separability and give them to both checkers: the library's, and the one that stands alone.

    python -m tools.fuzz_certificates --seconds 600 --seed 0

A finding is an error that is no refusal, more than 20 seconds, or a certificate that is accepted though its claim is
false: of the data below it is known whether they are separable, and every margin is checked in exact arithmetic.
Each is printed with its seed; `--seed THAT --cases 1` does it again.
"""

import contextlib
import copy
import hashlib
import io
import json
import runpy
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from perceptrons.theory import Certificate, separability
from tools.forging import change_header, changed_bytes
from tools.fuzzing import SLOW, Case, Cases, FoundError, one_line, run

CHECKER = Path(__file__).parent / "check_certificate.py"
ROUNDING = 1e-9  # of a margin
LONG = ["0x" + "f" * 99_000, "9" * 4000, "0x1", "-0x1", "1/3", "1/0", "0/1", "-1/2", "1e200000000", "0b1", "1_0", "１"]
WORDS = (b"NaN", b"Infinity", b"-0", b"1e400", b"[" * 5000, b'"digest":0,', b"\xff", b"\x00", b"null", b"true", b'"')


class Known(NamedTuple):
    """Data of which it is known whether hyperplanes separate them, and whether those through the origin do."""

    X: list[list[float]]
    y: list[int]
    separable: bool
    by_origin: bool


DATA = {
    "two points": Known([[0.0], [2.0]], [0, 1], True, False),
    "xor": Known([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0], False, False),
    "a corner": Known([[1.0, 1.0], [2.0, 3.0], [-1.0, -1.0], [-3.0, -1.0]], [1, 1, 0, 0], True, True),
    "one direction": Known([[1.0, 2.0], [2.0, 4.0]], [0, 1], True, False),
    "the same point": Known([[1.0, 0.5], [1.0, 0.5], [3.0, 0.0]], [0, 1, 1], False, False),
    "a zero row": Known([[0.0, 0.0], [1.0, 0.0]], [0, 1], True, False),
    "three classes": Known([[0.0, 0.0], [9.0, 1.0], [3.0, 8.0], [1.0, 0.0]], [0, 1, 2, 0], True, False),
    "one in the middle": Known([[-1.0], [0.0], [1.0]], [0, 1, 0], False, False),
    "three in a row": Known([[-1.0], [0.0], [1.0]], [0, 1, 2], True, False),
    "three on a point": Known([[1.0], [1.0], [1.0], [2.0]], [0, 1, 2, 0], False, False),
    "halves and thirds": Known([[0.5, 1 / 3], [-0.25, 2 / 3], [0.1, -0.7]], [1, 0, 0], True, True),
}


class Proof(NamedTuple):
    """An honest certificate of some data."""

    name: str
    content: dict[str, Any]


def sealed(content: dict[str, Any]) -> dict[str, Any]:
    """The certificate with the digest that its content has."""
    content = {name: value for name, value in content.items() if name != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return {**content, "digest": hashlib.sha256(text.encode()).hexdigest()}


def forged(draw: np.random.Generator, proofs: list[Proof], honest: Proof) -> tuple[str, str]:
    """The text of a certificate that is not what it was, and what was changed."""
    content, said = copy.deepcopy(honest.content), []
    for _ in range(int(draw.integers(1, 4))):
        way = str(draw.choice(list(WAYS)))
        said.append(WAYS[way](draw, content, proofs[int(draw.integers(len(proofs)))].content))
    if draw.random() < 0.9:
        with contextlib.suppress(UnicodeEncodeError):
            content = sealed(content)
    text = json.dumps(content)
    if draw.random() < 0.1:
        new, more = changed_bytes(draw, text.encode(), WORDS)
        text, said = new.decode("utf-8", "replace"), [*said, *more]
    return text, "; ".join(said)


def _anything(draw: np.random.Generator, content: dict[str, Any], _: Any) -> str:
    return change_header(draw, content, {}) if content else "nothing"


def _part(draw: np.random.Generator, content: dict[str, Any], other: dict[str, Any]) -> str:
    """Take a part of another certificate."""
    name = sorted(other)[int(draw.integers(len(other)))]
    content[name] = copy.deepcopy(other[name])
    return f"{name} of another"


def _turn(draw: np.random.Generator, content: dict[str, Any], _: Any) -> str:
    name = str(draw.choice(["separable", "fit_intercept"]))
    content[name] = not content.get(name)
    return f"{name} turned round"


def _margin(draw: np.random.Generator, content: dict[str, Any], _: Any) -> str:
    """Claim a larger margin, or a smaller bound on it."""
    if not isinstance(content.get("margin"), list) or len(content["margin"]) != 2:
        content["margin"] = [0.5, 1.0]
    which, factor = int(draw.integers(2)), float(draw.choice([1e-300, 0.5, 0.999999, 1.000001, 2.0, 1e300]))
    if isinstance(content["margin"][which], float):
        content["margin"][which] *= factor
    return f"margin {which} times {factor}"


def _weight(draw: np.random.Generator, content: dict[str, Any], _: Any) -> str:
    """Replace a weight of a combination, or a number of the separator, by a word."""
    word = LONG[int(draw.integers(len(LONG)))]
    name = str(draw.choice(["support", "witness", "coef", "intercept"]))
    part = content.get(name)
    holder = part.get("weights") if isinstance(part, dict) else part
    if isinstance(holder, list) and holder:
        holder[int(draw.integers(len(holder)))] = word
    else:
        content[name] = word
    return f"{name}: {word[:20]}"


WAYS: dict[str, Callable[..., str]] = {
    "anything": _anything, "anything again": _anything, "part": _part, "turn": _turn, "margin": _margin,
    "weight": _weight,
}  # fmt: skip


def false_claim(content: Any, data: Known, bracket: dict[bool, Any]) -> str:
    """What is false in the claim of a certificate that was accepted for these data, or nothing."""
    origin = not content["fit_intercept"]
    truth = data.by_origin if origin else data.separable
    if content["separable"] is not truth:
        return f"separable: {content['separable']}, but it is {truth}"
    if not truth:
        return ""
    low, high = content["margin"]
    best = bracket[bool(content["fit_intercept"])]
    if low > best[1] * (1 + ROUNDING) or high < best[0] * (1 - ROUNDING):
        return f"a margin between {low} and {high}, but it is between {best[0]} and {best[1]}"
    if len(content["classes"]) == 2 and not _reached(content, data, Fraction(low)):
        return f"the separator does not keep {low}"
    return ""


def _reached(content: Any, data: Known, low: Fraction) -> bool:
    """Does the separator of two classes keep this distance from every row, exactly?"""
    w, b = [_read(value) for value in content["coef"]], _read(content["intercept"])
    square = sum(value * value for value in w)
    sides = [sum(u * Fraction(v) for u, v in zip(w, row, strict=True)) + b for row in data.X]
    leads = [side if label else -side for side, label in zip(sides, data.y, strict=True)]
    return all(lead > 0 and lead * lead >= low * low * square for lead in leads)


def _read(value: Any) -> Fraction:
    return Fraction(*(int(part, 0) for part in value.split("/"))) if isinstance(value, str) else Fraction(value)


def accepted_here(text: str, data: Known) -> bool:
    """Does the library accept it?"""
    try:
        certificate = Certificate.from_json(text)
        accepted = certificate.verify(data.X, data.y)
        repr(certificate), certificate.to_json(), hash(certificate)
        if accepted:
            certificate.explain()
    except Exception as error:
        return not one_line(error)
    return accepted


def accepted_alone(text: str, file: Path, rows: Path, apart: bool) -> bool:
    """Does the checker that stands alone accept it? apart: in a process of its own, as people call it."""
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    if apart:
        asked = [sys.executable, str(CHECKER), str(file), str(rows)]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=SLOW, check=False)
        if done.returncode not in (0, 1, 2) or (done.stdout + done.stderr).count("\n") != 1:
            raise FoundError(f"check_certificate.py ended with {done.returncode}: {done.stderr[-200:]!r}")
        return done.returncode == 0
    before = sys.argv, sys.excepthook
    sys.argv = [str(CHECKER), str(file), str(rows)]
    try:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            runpy.run_path(str(CHECKER), run_name="__main__")
        return said.getvalue().startswith("holds")
    except SystemExit as end:
        if end.code not in (1, 2):
            raise FoundError(f"check_certificate.py ended with {end.code}") from end
        return False
    except Exception as error:
        if isinstance(error, TimeoutError) or "\n" in str(error):  # else its hook tells it in one line, and ends with 2
            raise
        return False
    finally:
        sys.argv, sys.excepthook = before


def begin(folder: Path) -> Cases:
    proofs, brackets = [], {}
    for name, data in DATA.items():
        (folder / f"{name}.csv").write_text(
            "".join(",".join(map(repr, [*row, label])) + "\n" for row, label in zip(data.X, data.y, strict=True))
        )
        for one in (True, False):
            content = json.loads(separability(data.X, data.y, fit_intercept=one, gap=1e-6).to_json())
            proofs.append(Proof(name, content))
            brackets.setdefault(name, {})[one] = content["margin"]

    def case(draw: np.random.Generator) -> Case:
        honest = proofs[int(draw.integers(len(proofs)))]
        text, said = forged(draw, proofs, honest)
        name = honest.name if draw.random() < 0.8 else list(DATA)[int(draw.integers(len(DATA)))]
        apart, data = draw.random() < 0.05, DATA[name]

        def use() -> bool:
            here = accepted_here(text, data)
            alone = accepted_alone(text, folder / "proof.json", folder / f"{name}.csv", apart)
            for who, accepted in (("the library", here), ("check_certificate.py", alone)):
                wrong = false_claim(json.loads(text), data, brackets[name]) if accepted else ""
                if wrong:
                    raise FoundError(f"{who} accepts {wrong}")
            return here or alone

        return Case(f"{honest.name} for {name}: {said}", use)

    return case


if __name__ == "__main__":
    sys.exit(run("tools.fuzz_certificates", __doc__, "certificates", begin))
