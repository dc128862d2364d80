"""Servers for tests: models of every kind with examples that never repeat, servers in forks, and the log read anew."""

import errno
import itertools
import json
import socket
import struct
import time
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from perceptrons import KernelPerceptron, Perceptron, SequencePerceptron, load, save
from perceptrons.cli import main
from perceptrons.client import Client
from perceptrons.sequence import FeatureTemplates
from tests.support.streams import Warm, points, texts

SEGMENT_BYTES = 6000  # so small that there are many
SECONDS = 60  # until a server answers, on a busy machine


# ---- models and examples


def text_model(folder):
    labels, words = texts(200)
    lines = "".join(f"{label}\t{word}\n" for label, word in zip(labels, words, strict=True))
    (folder / "mail.tsv").write_text(lines)
    return _trained(folder, "mail.tsv", "--format", "text", "--hash-bits", 12)


def table_model(folder):
    labels, words = texts(100)
    rows = [f"{k % 7},{'abc'[k % 3]},{word.split()[0]},{label}\n"
            for k, (label, word) in enumerate(zip(labels, words, strict=True))]  # fmt: skip
    (folder / "mail.csv").write_text("size,shop,word,label\n" + "".join(rows))
    return _trained(folder, "mail.csv", "--label-column", "label", "--categories", "shop", "--categories", "word")


def sparse_model(folder):
    X, y = points(100)
    lines = [f"{label} {' '.join(f'{j}:{v}' for j, v in enumerate(x, 1))}\n" for x, label in zip(X, y, strict=True)]
    (folder / "points.svm").write_text("".join(lines))
    return _trained(folder, "points.svm", "--format", "svmlight")


def tagger_model(folder):
    rng = np.random.default_rng(0)
    sentences = [[f"w{word}" for word in rng.integers(0, 20, 5)] for _ in range(20)]
    model = SequencePerceptron(templates=FeatureTemplates(), max_iter=2)
    model.fit(sentences, [["N" if int(word[1:]) % 3 else "V" for word in one] for one in sentences])
    save(model, folder / "model")
    return folder / "model"


def kernel_model(folder):
    X, y = points(60)
    model = KernelPerceptron(kernel="rbf", budget=20, max_iter=1).fit(X, y)
    save(model, folder / "model")
    return folder / "model"


def _trained(folder, data, *options):
    code = main([str(word) for word in ("train", folder / data, *options, "--quiet", "-o", folder / "model")])
    assert code == 0
    return folder / "model"


def text_example(k, rng):
    kind = int(rng.integers(2))
    words = ("free cash prize", "see you at home")[kind]
    return f"{words} number{k}", ("spam", "ham")[kind ^ (rng.random() < 0.1)]


def features_example(k, rng):
    kind = int(rng.integers(3))
    shown = {"height": float(rng.normal(kind)), "colour": "rgb"[kind], "who": f"u{k}"}
    return shown, "abc"[(kind + (rng.random() < 0.1)) % 3]


def table_example(k, rng):
    kind = int(rng.integers(2))
    return {"size": k, "shop": "abcd"[rng.integers(4)], "word": ("free", "see")[kind]}, ("spam", "ham")[kind]


def sparse_example(k, rng):
    return f"1:{k} 3:{rng.random():.3f} {int(rng.integers(4, 9))}:1", int(rng.integers(1, 4))


def tagger_example(k, rng):
    words = [f"w{word}" for word in rng.integers(0, 20, int(rng.integers(1, 6)))]
    return [*words, f"u{k}"], [*("N" if int(word[1:]) % 3 else "V" for word in words), "U"]


def kernel_example(k, rng):
    return [float(k), *np.round(rng.standard_normal(4), 3).tolist()], int(rng.integers(1, 4))


@dataclass(frozen=True)
class Kind:
    """A kind of model: model writes its file into a folder (None: it begins empty), example makes one of its kind."""

    model: Any
    example: Any


KINDS = {
    "text": Kind(text_model, text_example),
    "features": Kind(None, features_example),
    "table": Kind(table_model, table_example),
    "sparse": Kind(sparse_model, sparse_example),
    "tagger": Kind(tagger_model, tagger_example),
    "kernel": Kind(kernel_model, kernel_example),
}


def model_file(name, folder):
    """The file of a model of this kind, or None if it begins empty."""
    return None if KINDS[name].model is None else KINDS[name].model(folder)


class Examples:
    """Examples with labels, each another one than all before, for several threads."""

    def __init__(self, name, seed=0):
        self._example, self._numbers, self._rng = KINDS[name].example, itertools.count(1), np.random.default_rng(seed)

    def some(self, n):
        """Two lists: n examples and their labels."""
        both = [self._example(next(self._numbers), self._rng) for _ in range(n)]
        return [example for example, _ in both], [label for _, label in both]


def as_text(example):
    """An example as a key of a dict."""
    return json.dumps(example, sort_keys=True)


# ---- the log, read by nothing but what journal.py says of its format


@dataclass
class Read:
    """What a log holds: requests in their order, and the number of segments."""

    requests: list[dict[str, Any]] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)
    segments: int = 0

    def examples(self):
        return [as_text(example) for request in self.requests for example in request["x"]]


def read_log(folder):
    """All of a log that was closed in order: segments with heads, frames with two checksums, JSON in them."""
    found, position, chain = Read(), None, None
    for path in sorted((folder / "log").glob("*.log")):
        content = path.read_bytes()
        magic, begins, before, check = struct.unpack_from("<8sQII", content)
        assert (magic, check) == (b"PCPTLOG1", zlib.crc32(content[:20]))
        assert path.stem == f"{begins:020d}"
        assert position in (None, begins)
        assert chain in (None, before)
        position, chain, offset = begins, before, 24
        found.segments += 1
        while offset < len(content):
            mark, length, version, linked, check = struct.unpack_from("<4sIQII", content, offset)
            assert (mark, check) == (b"PCPT", zlib.crc32(content[offset : offset + 20]))
            payload = content[offset + 24 : offset + 24 + length]
            chain = zlib.crc32(struct.pack("<IQ", length, version) + payload, chain)
            assert (linked, len(payload)) == (chain, length)
            entries = json.loads(payload)
            for entry in entries:
                found.requests.append(entry)
                found.versions.append(version)
                version += len(entry["x"])
            position, offset = position + 1, offset + 24 + length
    return found


def trained_offline(name, model, requests):
    """A model that learns request by request what a log holds, with the methods that everybody has."""
    model = Perceptron() if model is None else load(model)
    for request in requests:
        if name == "features":
            for example, label in zip(request["x"], request["y"], strict=True):
                model.learn_one(example, label)
        else:
            model.partial_fit(np.array(request["x"]) if name == "kernel" else request["x"], request["y"])
    return model


# ---- servers


@contextmanager
def full_disk():
    """A disk on which neither snapshots nor the identity of a server find room."""

    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("perceptrons.serve.store.write_whole", fail)
        yield


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


class WarmServer(Warm):
    """A server in a fork of a process that has everything loaded. Its segments are small."""

    CODE = f"""
from functools import partial
from perceptrons.serve import store
store.Store = partial(store.Store, segment_bytes={SEGMENT_BYTES})
{Warm.CODE}"""

    def __init__(self, folder, *arguments):
        """folder: of the server, and beside it of what it says. arguments: after `serve --data FOLDER`."""
        super().__init__(folder.with_suffix(".said"))
        self.folder, self.port = folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._arguments = ["serve", *arguments, "--data", folder, "--port", self.port]
        self.running, self._clients = False, list[Client]()
        self.load("serve", "--data", folder.with_suffix(".loaded"), "--repair")

    def begin(self):
        """Start it, but do not wait."""
        self.start(*self._arguments)
        self.running = True

    def ready(self):
        """Wait until it answers; gives a client."""
        client, until = Client(self.url), time.monotonic() + SECONDS
        self._clients.append(client)
        while not client.is_ready():
            assert time.monotonic() < until, self._said.read_text()
            time.sleep(0.02)
        return client

    def kill(self):
        self.running = False
        return super().kill()

    def close(self):
        if self.running:
            self.kill()
        for client in self._clients:
            client.close()
        super().close()
