"""Forge caches of blocks and checkpoints, with right checksums or with wrong bytes, and let training go on from them.

    PERCEPTRONS_BOUNDSCHECK=1 python -m tools.fuzz_caches --seconds 600 --seed 0

A finding is anything but a refusal in one line or an answer: another error, an end of the process, more than 20
seconds, a model that is refused after it was saved; and a wrong answer, where only bytes were changed and no checksum.
Each is printed with its seed; `--seed THAT --cases 1` does it again.
"""

import contextlib
import io
import json
import logging
import sys
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from perceptrons import Checkpoint, Perceptron, modelfile
from perceptrons.cli import main as command
from perceptrons.data import source, stream
from perceptrons.engine.streaming.cache import TAIL, ArrayFile
from tools.forging import RECORDS, SVMLIGHT, TEXTS, VW, X, Y, changed_bytes, forged
from tools.fuzz_models import saved_again
from tools.fuzzing import Case, Cases, FoundError, one_line, run

PIECE = 300  # bytes read at a time, so that small files have several blocks
FILES = {
    "svmlight": (SVMLIGHT, {}),
    "vw": (VW, {}),
    "text": (TEXTS, {}),
    "jsonl": (RECORDS, {}),
    "names": (TEXTS, {"hash_bits": 0}),
}
EPOCHS = 2


class Data:
    """A small file with an honest cache and checkpoint of it, and the weights that are right."""

    def __init__(self, name: str, folder: Path) -> None:
        text, self.options = FILES[name]
        self.format = "text" if name == "names" else name
        self.path, self.cache, self.kept = (folder / f"{name}{ending}" for ending in ("", ".cache", ".checkpoint"))
        self.path.write_text(text)
        model = self.fit(EPOCHS, cache=self.cache, checkpoint=Checkpoint(self.kept))
        self.right, self.longer = model.coef_, self.fit(2 * EPOCHS).coef_
        self.cache_bytes, self.kept_bytes = self.cache.read_bytes(), self.kept.read_bytes()
        self.contents = contents_of(self.kept)

    def fit(self, epochs: int, **more: Any) -> Any:
        reader = stream(self.path, format=self.format, **self.options)
        return Perceptron().fit_stream(reader, epochs=epochs, **more)

    def command(self, epochs: int, *more: str) -> bool:
        """The same by the command: does it end with 0? It may refuse with 2 and a line."""
        asked = ["train", str(self.path), "--format", self.format, "--epochs", str(epochs), "--quiet", *more]
        asked += [f"--{name.replace('_', '-')}={value}" for name, value in self.options.items()]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as complaint:
            code = command([*asked, "-o", str(self.path.with_suffix(".model"))])
        if code not in (0, 2) or complaint.getvalue().count("\n") > 1:
            raise FoundError(f"exit code {code}: {complaint.getvalue()[-200:]}")
        return code == 0


def contents_of(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of a checkpoint."""
    model, header = modelfile.load_with_header(path)
    return modelfile.KINDS[type(model).__name__].contents(model)[0] | {"place": header["place"]}, (
        modelfile.KINDS[type(model).__name__].contents(model)[1]
    )


def went_on(fit: Callable[[], Any], path: Path, right: np.ndarray | None = None) -> bool:
    """Was it not refused? right: the weights that have to come out, if any are."""
    try:
        model = fit()
        if right is not None and not np.array_equal(model.coef_, right):
            raise FoundError("other weights than without it")
        saved_again(model, path)
    except FoundError:
        raise
    except Exception as error:
        return not one_line(error)
    return True


def forged_cache(draw: np.random.Generator, content: bytes) -> tuple[bytes, list[str]]:
    """A cache with other records and another index, and right checksums."""
    begin, length, _ = np.frombuffer(content[-TAIL:], "<i8").tolist()
    index = json.loads(content[begin : begin + length])
    body, number = bytearray(content[:begin]), int(draw.integers(len(index["records"])))
    record = index["records"][number]
    arrays = {name: _array(content, record, *place) for name, place in record["arrays"].items()}
    chosen = {"facts": record["facts"], "notes": index["notes"]} if draw.random() < 0.8 else index
    header, arrays, said = forged(draw, chosen, arrays)
    if chosen is index:
        index = header
    else:
        index["notes"], record["facts"] = header.get("notes"), header.get("facts")
        record |= _written(body, arrays)
    text = json.dumps(index).encode()
    tail = np.array([len(body), len(text), zlib.crc32(text)], "<i8").tobytes()
    return bytes(body) + text + tail, [f"record {number}", *said]


def _array(content: bytes, record: dict[str, Any], offset: int, dtype: str, shape: list[int]) -> np.ndarray:
    count = int(np.prod(shape))
    return np.frombuffer(content, dtype, count, record["begin"] + offset).reshape(shape) if count else np.empty(shape)


def _written(body: bytearray, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """The arrays at the end of the records, as a record of their own."""
    file = ArrayFile(io.BytesIO(), None, None, [], 0)
    file.append(arrays)
    body += bytes(-len(body) % 64)
    begin = len(body)
    body += file._file.getvalue()  # type: ignore[attr-defined]
    return {name: file._index[0][name] for name in ("size", "arrays", "checksum")} | {"begin": begin}


def cache_case(draw: np.random.Generator, data: Data) -> Case:
    """A forged cache, or one with wrong bytes: the weights are then those without it, or it is refused."""
    data.cache.unlink(missing_ok=True)
    wrong = draw.random() < 0.3
    content, said = changed_bytes(draw, data.cache_bytes) if wrong else forged_cache(draw, data.cache_bytes)
    data.cache.write_bytes(content)
    name = f"cache of {data.path.name}: {'; '.join(said)}"
    if draw.random() < 0.2:
        return Case(name, lambda: data.command(EPOCHS, "--cache", str(data.cache)))
    right = data.right if wrong else None
    return Case(name, lambda: went_on(lambda: data.fit(EPOCHS, cache=data.cache), data.path, right))


def checkpoint_case(draw: np.random.Generator, data: Data) -> Case:
    content, said, right = _forged_checkpoint(draw, data.contents, data.kept_bytes, data.longer)
    data.kept.with_name(data.kept.name + ".before").unlink(missing_ok=True)
    data.kept.write_bytes(content)
    name = f"checkpoint of {data.path.name}: {'; '.join(said)}"
    if draw.random() < 0.2:
        return Case(name, lambda: data.command(2 * EPOCHS, "--checkpoint", str(data.kept), "--resume"))
    kept = Checkpoint(data.kept, resume=True)
    return Case(name, lambda: went_on(lambda: data.fit(2 * EPOCHS, checkpoint=kept), data.path, right))


def _forged_checkpoint(draw: np.random.Generator, contents: Any, honest: bytes, right: Any) -> tuple[bytes, Any, Any]:
    """Its bytes, what was changed, and the weights that must come out, if any must."""
    if draw.random() < 0.2:
        return *changed_bytes(draw, honest), right
    header, arrays = contents
    if draw.random() < 0.6:  # only where to go on
        place, _, said = forged(draw, header["place"], {}, ("header",))
        header = header | {"place": place}
    else:
        header, arrays, said = forged(draw, header, arrays)
    return modelfile.sealed(json.dumps(header), arrays), said, None


class Cluster:
    """A checkpoint of a run on a cluster within this process."""

    def __init__(self, folder: Path) -> None:
        import distributed

        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        self.client = distributed.Client(processes=False, n_workers=1, dashboard_address="127.0.0.1:0")
        self.kept = folder / "cluster.checkpoint"
        self.fit(EPOCHS, Checkpoint(self.kept))
        self.bytes, self.contents = self.kept.read_bytes(), contents_of(self.kept)
        self.longer = self.fit(2 * EPOCHS).coef_

    def fit(self, epochs: int, checkpoint: Checkpoint | None = None) -> Any:
        from perceptrons.distributed import fit

        return fit(Perceptron(), X, Y, self.client, shards=2, epochs=epochs, checkpoint=checkpoint)

    def case(self, draw: np.random.Generator) -> Case:
        content, said, right = _forged_checkpoint(draw, self.contents, self.bytes, self.longer)
        self.kept.with_name(self.kept.name + ".before").unlink(missing_ok=True)
        self.kept.write_bytes(content)
        kept = Checkpoint(self.kept, resume=True)
        fit = lambda: self.fit(2 * EPOCHS, kept)  # noqa: E731
        return Case(f"checkpoint of a cluster: {'; '.join(said)}", lambda: went_on(fit, self.kept, right))


def begin(folder: Path) -> Cases:
    source.PIECE = PIECE
    data = [Data(name, folder) for name in FILES]
    cluster = Cluster(folder) if find_spec("distributed") else None

    def case(draw: np.random.Generator) -> Case:
        one, which = data[int(draw.integers(len(data)))], draw.random()
        if which < 0.1 and cluster is not None:
            return cluster.case(draw)
        return cache_case(draw, one) if which < 0.55 else checkpoint_case(draw, one)

    return case


if __name__ == "__main__":
    sys.exit(run("tools.fuzz_caches", __doc__, "files", begin))
