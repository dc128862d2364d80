"""Small models of every kind, what to use them on, and random changes to what is in their files."""

import copy
import io
import json
import string
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from perceptrons import FeatureTemplates, KernelPerceptron, Perceptron, SequencePerceptron, StructuredPerceptron
from perceptrons.data import stream

rng = np.random.default_rng(0)
X = np.round(rng.standard_normal((24, 5)), 1)
Y = np.array(["a", "b", "c"])[np.argmax(X[:, :3], axis=1)]
TWO = np.where(X[:, 0] > 0, "yes", "no")
SETS = [[name for name, value in zip("abc", row, strict=False) if value > 0] for row in X.tolist()]
DICTS = [{f"f{j}": value for j, value in enumerate(row) if value} for row in X.tolist()]
WORDS = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["the", "cat"], ["dogs", "bark", "at", "the", "cat"]]
TAGS = [["D", "N", "V"], ["D", "N", "V"], ["D", "N"], ["N", "V", "P", "D", "N"]]
NAMES = [[[f"word={word}", f"end={word[-1]}"] for word in words] for words in WORDS]
TEXTS = "spam\tbuy now, cheap\nham\tsee you at home\nspam\tcheap cheap prizes\nham\tcall me at home\n" * 3
RECORDS = "".join(
    json.dumps({"label": y, "size": x[0], "kind": "uv"[x[1] > 0]}) + "\n" for x, y in zip(X.tolist(), TWO, strict=True)
)
RAW = "age,job,day,paid,label\n" + "".join(
    f"{'' if k % 5 == 0 else k},{'uvw'[k % 3]},2024-0{k % 9 + 1}-11{'T07:30' * (k % 4 == 0)},{'yn'[k % 2]},{y}\n"
    for k, y in enumerate(TWO)
)
PEOPLE: list[dict[str, Any]] = [
    {"age": None, "job": "u", "day": "2024-02-29", "paid": "y"}, {"age": 3, "job": "x", "day": "NA", "paid": ""},
]  # fmt: skip
SVMLIGHT = "".join(f"{int(x[0] > 0)} 1:{x[0]} 3:{x[1]}\n" for x in X)
VW = "".join(f"{1 if x[0] > 0 else -1} | size:{x[0]} big{int(x[1] > 0)}\n" for x in X)


class Classes:
    """A model of outputs: one of three classes of a row."""

    size = 15

    def decode(self, x: Any, w: Any, cost_with: Any = None) -> int:
        scores = w[:15].reshape(3, 5) @ x
        return int(np.argmax(scores if cost_with is None else scores + (np.arange(3) != cost_with)))

    def features(self, x: Any, y: int) -> Any:
        return np.arange(y * 5, (y + 1) * 5), x

    def loss(self, y: int, y_hat: int) -> int:
        return int(y != y_hat)


class Sample(NamedTuple):
    """A fitted model, examples for it and their labels; one_by_one: examples for predict_one, if others."""

    model: Any
    X: Any
    y: Any
    one_by_one: Any = None


def linear(X: Any = X, y: Any = Y, **choices: Any) -> Callable[[], Sample]:
    return lambda: Sample(Perceptron(max_iter=3, **choices).fit(X, y), X, y)


def kernel(X: Any = X, y: Any = Y, **choices: Any) -> Callable[[], Sample]:
    return lambda: Sample(KernelPerceptron(max_iter=3, **choices).fit(X, y), X, y)


def by_name(kind: Any) -> Callable[[], Sample]:
    def made() -> Sample:
        model = kind()
        for x, y in zip(DICTS, Y, strict=True):
            model.learn_one(x, y)
        return Sample(model, DICTS, Y)

    return made


def of_files(text: str, format: str, examples: Any, **options: Any) -> Callable[[], Sample]:
    def made() -> Sample:
        model = Perceptron().fit_stream(stream(io.StringIO(text), format=format, **options), epochs=2)
        return Sample(model, examples, model.predict(examples) if examples is not None else None)

    return made


def tagger(X: Any, **choices: Any) -> Callable[[], Sample]:
    return lambda: Sample(SequencePerceptron(max_iter=3, **choices).fit(X, TAGS), X, TAGS)


def matrix_tagger() -> Sample:
    lengths = [6, 6, 6, 6]
    model = SequencePerceptron(max_iter=3).fit(X, Y, lengths=lengths)
    return Sample(model, None, None)


def structured() -> Sample:
    rows, y = list(X), np.argmax(X[:, :3], axis=1).tolist()
    return Sample(StructuredPerceptron(Classes(), max_iter=3).fit(rows, y), rows, y)


CSR = sp.csr_matrix(np.where(np.abs(X) > 1, X, 0))
HASHED = sp.csr_matrix((CSR.data, CSR.indices * 900 + 7, CSR.indptr), shape=(24, 4096))
TEMPLATES = FeatureTemplates(["word[-1..1]", "suffix(word, 1)|word[-1]", "shape(word)", "bias"])
SAMPLES: dict[str, Callable[[], Sample]] = {
    "binary": linear(y=TWO),
    "classes": linear(cost={"a": {"b": 2.0}}, class_weight={"a": 2.0}),
    "sparse": linear(CSR),
    "idle columns": linear(HASHED, TWO),
    "arow": linear(HASHED, step="arow"),
    "vote": linear(combine="vote"),
    "sparse vote": linear(CSR, TWO, combine="vote"),
    "pocket": linear(combine="pocket"),
    "one against one": linear(multiclass="ovo"),
    "one against the rest": linear(multiclass="ovr"),
    "label sets": linear(y=SETS),
    "weight decay": linear(penalty="l2", alpha=0.01, multiclass="ovo"),
    "names": by_name(Perceptron),
    "texts": of_files(TEXTS, "text", ["cheap prizes", "at home"]),
    "texts with names": of_files(TEXTS, "text", ["cheap prizes", "at home"], hash_bits=0),
    "records": of_files(RECORDS, "jsonl", [{"size": 1.0, "kind": "u"}, {"size": -1.0, "kind": "v"}]),
    "prepared table": of_files(RAW, "csv", PEOPLE, prepare=True, interactions="*", powers=2),
    "prepared numbers": of_files(RAW, "csv", PEOPLE, prepare=True, ignore=["job", "day"], scale="max-abs"),
    "svmlight": of_files(SVMLIGHT, "svmlight", None),
    "vw": of_files(VW, "vw", None),
    "kernel": kernel(y=TWO, kernel="rbf"),
    "kernel of classes": kernel(kernel="poly", combine="vote"),
    "kernel one against the rest": kernel(multiclass="ovr", combine="last"),
    "sparse kernel": kernel(CSR),
    "kernel matrix": kernel(X @ X.T, kernel="precomputed"),
    "random budget": kernel(budget=4, on_full="remove_random"),
    "oldest budget": kernel(budget=4, on_full="forget_oldest"),
    "projected budget": kernel(budget=4, on_full="project", y=TWO),
    "kernel names": by_name(KernelPerceptron),
    "tagger of names": tagger(NAMES, min_count=2),
    "tagger of templates": tagger(WORDS, templates=TEMPLATES, allowed={"D": ["N"]}),
    "tagger of frequent templates": tagger(WORDS, templates=TEMPLATES, min_count=2),
    "hashed tagger": tagger(WORDS, templates=TEMPLATES, hash_bits=6),
    "tagger of hashed names": tagger(NAMES, hash_bits=5, combine="last"),
    "tagger of a matrix": matrix_tagger,
    "structured": structured,
}

LEAVES: list[Any] = [
    None, True, False, -1, 0, 1, 2, 3, 7, 255, 2**15, 2**31 - 1, 2**31, 2**32, 2**62, 2**63, 10**30, 10**400, 0.5, -0.0,
    1e-300, 1e300, float("nan"), float("inf"), -float("inf"), "", "a", "x", "average", "vote", "\ud800", "\x1b[31m",
    "é", "9" * 400, [], [[]], {}, [None], {"a": 1}, {"pairs": []}, {"pairs": [["a", 1.0]]}, [0, 1], ["a", "b"],
]  # fmt: skip
WHOLE = [-(2**63), -(2**31), -1, 0, 1, 2, 3, 7, 127, 255, 256, 2**15, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1]
REAL = [np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 1e9, 2.0**53, 1e300, -1e300, 5e-324]


KINDS = ("header", "number", "values", "values", "shape", "type", "arrays")


def forged(
    draw: np.random.Generator, header: dict[str, Any], arrays: dict[str, Any], kinds: tuple[str, ...] = KINDS
) -> tuple[Any, Any, list[str]]:
    """A copy of both with one to three changes, and what was changed."""
    header, arrays, said = copy.deepcopy(header), {name: array.copy() for name, array in arrays.items()}, []
    for _ in range(int(draw.integers(1, 4))):
        said.append(CHANGES[str(draw.choice(kinds))](draw, header, arrays))
    return header, arrays, said


def changed_bytes(draw: np.random.Generator, content: bytes, words: tuple[bytes, ...] = (b"",)) -> tuple[bytes, Any]:
    """A copy with one to four pieces changed, and what was changed. words: what may be put in."""
    new, said = bytearray(content), []
    for _ in range(int(draw.integers(1, 5))):
        at = int(draw.integers(len(new) + 1))
        end = min(len(new), at + int(2 ** draw.uniform(0, 6)))
        way = str(draw.choice(["bit", "byte", "remove", "repeat", "cut", "word", "word", "swap"]))
        if way == "bit" and at < len(new):
            new[at] ^= 1 << int(draw.integers(8))
        elif way == "byte" and at < len(new):
            new[at] = int(draw.integers(256))
        elif way == "remove":
            del new[at:end]
        elif way == "repeat":
            new[at:at] = new[at:end] * int(draw.integers(1, 4))
        elif way == "cut" and draw.random() < 0.2:
            del new[at:]
        elif way == "word":
            new[at:at] = words[int(draw.integers(len(words)))]
        elif way == "swap":
            new[at:end] = new[at:end][::-1]
        said.append(f"{way} at {at}")
    return bytes(new), said


def _places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to every value of a header."""
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [path, *(place for key, value in inner for place in _places(value, (*path, key)))]


def change_header(draw: np.random.Generator, header: dict[str, Any], arrays: dict[str, Any]) -> str:
    """Replace, remove, repeat or add to one value."""
    path = _places(header)[1:]
    if not path:
        return "nothing"
    chosen = path[int(draw.integers(len(path)))]
    holder: Any = header
    for key in chosen[:-1]:
        holder = holder[key]
    key, old = chosen[-1], holder[chosen[-1]]
    leaf = copy.deepcopy(LEAVES[int(draw.integers(len(LEAVES)))])
    way = draw.choice(["replace", "replace", "replace", "near", "remove", "add"])
    if way == "remove":
        del holder[key]
    elif way == "add" and isinstance(old, list):
        old.insert(int(draw.integers(len(old) + 1)), old[-1] if old and draw.random() < 0.5 else leaf)
    elif way == "add" and isinstance(old, dict):
        old["".join(draw.choice(list(string.ascii_lowercase), 2))] = leaf
    elif way == "near" and isinstance(old, int | float):
        holder[key] = old + int(draw.integers(-2, 3))
    else:
        holder[key] = leaf
    return f"header {list(chosen)}: {way} {str(leaf)[:40]!r}"


def _change_number(draw: np.random.Generator, header: dict[str, Any], arrays: dict[str, Any]) -> str:
    """Replace a whole number wherever the header has it: sizes stand in several places."""
    numbers = [header.get(name) for name in ("n_features", "size", "t", "updates")]
    whole = [number for number in numbers if type(number) is int]
    if not whole:
        return change_header(draw, header, arrays)
    old, new = whole[int(draw.integers(len(whole)))], int(draw.choice(WHOLE))
    for path in _places(header)[1:]:
        holder: Any = header
        for key in path[:-1]:
            holder = holder[key]
        if type(holder[path[-1]]) is int and holder[path[-1]] == old:
            holder[path[-1]] = new
    return f"every {old} in the header: {new}"


def _change_values(draw: np.random.Generator, header: dict[str, Any], arrays: dict[str, Any]) -> str:
    """Change some numbers of an array."""
    name = _one_of(draw, arrays)
    array = np.ascontiguousarray(arrays[name])
    if not array.size or array.dtype.kind not in "iufb":
        return f"{name}: nothing"
    flat = array.reshape(-1)
    at = draw.integers(0, len(flat), int(draw.integers(1, 4)))
    choices = [*WHOLE, *array.shape] if array.dtype.kind in "iu" else [*REAL, *array.shape]
    new = np.array([choices[int(draw.integers(len(choices)))] for _ in at], object)
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        new = np.array([min(max(int(value), limits.min), limits.max) for value in new], object)
    with np.errstate(over="ignore"):
        flat[at] = new.astype(array.dtype)
    arrays[name] = array
    return f"{name}{at.tolist()} = {new.tolist()}"


def _change_shape(draw: np.random.Generator, header: dict[str, Any], arrays: dict[str, Any]) -> str:
    name = _one_of(draw, arrays)
    array = arrays[name]
    ways = {
        "shorter": lambda: array[:-1],
        "longer": lambda: np.concatenate([array, array[-1:]]),
        "empty": lambda: array[:0],
        "flat": lambda: array.reshape(-1),
        "turned": lambda: array.T,
        "deeper": lambda: array[None],
        "wider": lambda: np.concatenate([array, array[..., -1:]], axis=-1),
        "narrower": lambda: array[..., :-1],
        "backwards": lambda: array[::-1],
        "a number": lambda: array.reshape(-1)[:1].reshape(()) if array.size else array,
    }
    way = str(draw.choice(list(ways)))
    if array.ndim:
        arrays[name] = np.ascontiguousarray(ways[way]())
    return f"{name}: {way}"


def _change_type(draw: np.random.Generator, header: dict[str, Any], arrays: dict[str, Any]) -> str:
    name, kind = _one_of(draw, arrays), str(draw.choice(["i1", "u1", "i2", "i4", "i8", "u8", "f2", "f4", "f8", "?"]))
    if arrays[name].dtype.kind in "US":  # words are no numbers; those that were bytes before are strings again
        kind = str(draw.choice(["S", "U1"]))
    with np.errstate(all="ignore"):
        arrays[name] = arrays[name].astype(kind)
    return f"{name}: of type {kind}"


def _change_arrays(draw: np.random.Generator, header: dict[str, Any], arrays: dict[str, Any]) -> str:
    """Remove an array, or let it be a copy of another."""
    name, other = _one_of(draw, arrays), _one_of(draw, arrays)
    if draw.random() < 0.5:
        arrays[name] = arrays[other].copy()
        return f"{name}: that of {other}"
    del arrays[name]
    return f"{name}: removed"


def _one_of(draw: np.random.Generator, arrays: dict[str, Any]) -> str:
    names = sorted(arrays) or ["w"]
    arrays.setdefault(names[0], np.zeros(1))
    return names[int(draw.integers(len(names)))]


CHANGES: dict[str, Callable[..., str]] = {
    "header": change_header,
    "number": _change_number,
    "values": _change_values,
    "shape": _change_shape,
    "type": _change_type,
    "arrays": _change_arrays,
}
