"""Data cut into shards: collections as they are chunked, arrays of this machine dealt out, files by name."""

import os
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any

import numpy as np

from perceptrons.data import stream
from perceptrons.data.compression import STDIN
from perceptrons.data.source import Share, can_be_shared, find_files
from perceptrons.distributed import tasks
from perceptrons.distributed.cluster import (
    TRIES,
    ClusterError,
    Workers,
    check_scheduler,
    gathered,
    scattered,
    sent,
    threads_of,
)
from perceptrons.distributed.parts import Facts, FilesPart, Raw, raw_part
from perceptrons.linear import Perceptron
from perceptrons.training.inputs import check_matrix
from perceptrons.training.targets import read_target

BY_LINE = ("svmlight", "libsvm", "vw", "text", "jsonl")  # formats with an example a line, wherever one begins
MOST = 10**6  # shards
ROOM = 0.6  # of a worker's memory: what a shard of an array may take


class Shards:
    """For every shard the futures of its parts. Those that hold data of this machine can be sent again."""

    def __init__(self, client: Any, parts: list[list[Any]], local: list[Any] | None = None, on_disk: bool = False):
        self.client, self.raw, self.local, self.on_disk = client, parts, local, on_disk
        self.workers = Workers(client)
        self.parts: list[list[Any]] = []
        self.n = 0  # examples to learn from
        self._arguments: tuple[Any, Sequence[Any]] = (None, ())

    def __len__(self) -> int:
        return len(self.raw)

    def facts(self) -> list[list[Facts]]:
        """Of every part of every shard."""
        if self.local is not None:
            return [[part.facts()] for part in self.local]
        asked = [[self.client.submit(tasks.facts_of, part, pure=False) for part in shard] for shard in self.raw]
        found = gathered(self.workers, asked)
        for number, facts in enumerate(found):  # as in a stream, a block of nothing is none
            kept = [place for place, part in enumerate(facts) if part.n] or [0]
            self.raw[number] = [self.raw[number][place] for place in kept]
            found[number] = [facts[place] for place in kept]
        return found

    def prepare(self, common: Any, mappings: Sequence[Any]) -> None:
        """Have the parts made ready. mappings: one for every shard, or None."""
        self._arguments = common, mappings
        self.parts = [self._prepared(number) for number in range(len(self))]
        self.n = sum(self.ask(tasks.n_train))
        if common.fraction and self.n == sum(self.ask(tasks.n_all)):
            raise ValueError("No example can be held out: there are too few in every shard. Use early_stopping=False.")
        self.raw = [[None] * len(shard) for shard in self.raw]  # the workers need not keep them

    def ask(self, question: Callable[..., Any], *arguments: Any) -> list[Any]:
        """What the workers answer about all parts."""
        from dask.sizeof import sizeof

        for left in reversed(range(TRIES)):
            parts = [part for shard in self.parts for part in shard]
            try:
                more = [sent(self.workers, argument, sizeof(argument), len(parts)) for argument in arguments]
                asked = [self.client.submit(question, part, *more, pure=False) for part in parts]
                return gathered(self.workers, asked)
            except CancelledError as error:
                self.mend(error, left)
        raise AssertionError  # mend raises where nothing is left

    def mend(self, error: BaseException, left: int) -> None:
        """Send again what was lost with a worker. left: attempts; with none, or without a scheduler, ClusterError."""
        check_scheduler(self.client, error)
        if not left:
            raise ClusterError(
                f"Workers died in {TRIES} attempts, or data were lost that cannot be had again: {error}"
            ) from error
        for number, part in enumerate(self.local or ()):
            if self.parts[number][0].status in ("cancelled", "lost", "error"):
                self.raw[number] = [scattered(self.workers, part)]
                self.parts[number] = self._prepared(number)

    def forget(self) -> None:
        """Have workers let the data go, and remove what they keep on disk. The number of shards is gone with it."""
        if self.on_disk and self.client.status == "running":
            parts = [part for shard in self.parts or self.raw for part in shard if part is not None]
            parts = [part for part in parts if part.status == "finished"]
            asked = [self.client.submit(tasks.forget, part, pure=False) for part in parts]
            gathered(self.workers, asked, errors="skip")
        self.parts = self.raw = []

    def _prepared(self, number: int) -> list[Any]:
        common, mappings = self._arguments
        mapping = mappings[number] if len(mappings) else None
        return [self.client.submit(tasks.ready, part, common, mapping, pure=False) for part in self.raw[number]]


def of_arrays(client: Any, estimator: Perceptron, X: Any, y: Any, weight: Any, shards: int | None) -> Shards:
    """Arrays of this machine: rows are dealt to the shards at random, each keeps them in their order."""
    model = Perceptron(**estimator.get_params())
    X = check_matrix(model, X, reset=True, growth=model._growth())
    target = read_target(y, X.shape[0])
    if weight is not None:
        target.weights(weight, None, stream=False)  # refuses what are no weights
        weight = np.broadcast_to(np.asarray(weight, np.float64), X.shape[:1])
    names = None if "_columns" not in model.__dict__ else list(model._columns)
    number = how_many(client, shards, X.shape[0], "one an example")
    which = dealt(X.shape[0], number, estimator._seed() if number > 1 else 0)
    raws = []
    for number, rows in enumerate(which):
        part = slice(None) if len(which) == 1 else rows
        one = target._replace(
            codes=target.codes[part], indicator=None if target.indicator is None else target.indicator[part]
        )
        raws.append(Raw(X[part], one, None if weight is None else weight[part], names, (number, 0)))
    check_room(client, max(bytes_of(raw.X) for raw in raws))
    workers = Workers(client)
    return Shards(client, [[scattered(workers, raw)] for raw in raws], raws)


def dealt(n: int, shards: int, seed: int) -> list[np.ndarray]:
    """Which of n examples go to which shard."""
    order = np.random.default_rng([seed, n]).permutation(n)
    return [np.sort(group) for group in np.array_split(order, shards)]


def how_many(client: Any, shards: int | None, most: int, why: str) -> int:
    """The number of shards: as asked, otherwise as many as there are threads. most: that there can be, and why."""
    if shards is None:
        return max(1, min(threads_of(client), most))
    if isinstance(shards, bool) or not isinstance(shards, int | np.integer) or shards < 1:
        raise ValueError(f"shards={shards!r}: give a whole number of at least 1, or None.")
    if shards > most:
        raise ValueError(f"shards={shards}: there can be at most {most:,} here, {why}.")
    return int(shards)


def bytes_of(X: Any) -> int:
    return int(X.nbytes) if isinstance(X, np.ndarray) else sum(a.nbytes for a in (X.data, X.indices, X.indptr))


def check_room(client: Any, size: int) -> None:
    """Raise ValueError if no worker has the memory for a shard of so many bytes."""
    limits = [worker["memory_limit"] for worker in client.scheduler_info(n_workers=-1)["workers"].values()]
    limits = [limit for limit in limits if limit]
    if limits and size > ROOM * max(limits):
        raise ValueError(
            f"A shard takes {size / 1e6:,.0f} MB, too much for workers with {max(limits) / 1e6:,.0f} MB of memory: "
            "ask for more shards, or give files or a dask collection, which are read block by block."
        )


def of_collection(client: Any, estimator: Any, X: Any, y: Any, weight: Any, shards: int | None) -> Shards:
    """A dask array or dataframe: its partitions stay where they are, consecutive ones in a shard."""
    from dask import delayed

    blocks = [partitions(X, "X")]
    for name, given in (("y", y), ("sample_weight", weight)):
        if given is None and name == "y":
            raise ValueError("y=None: labels are needed, a dask array or series with the partitions of X.")
        blocks.append([None] * len(blocks[0]) if given is None else partitions(given, name, X))
    n = len(blocks[0])
    groups = np.array_split(np.arange(n), how_many(client, shards, n, "one a partition"))
    plain = Perceptron(**estimator.get_params())
    make = delayed(raw_part, pure=False)
    asked = [
        [make(*(column[b] for column in blocks), plain, (number, place)) for place, b in enumerate(group.tolist())]
        for number, group in enumerate(groups)
    ]
    return Shards(client, computed(client, asked))


def computed(client: Any, asked: list[list[Any]]) -> list[list[Any]]:
    """The futures of delayed values, all asked for at once: one by one, each would look through the whole graph."""
    futures = iter(client.compute([part for shard in asked for part in shard]))
    return [[next(futures) for _ in shard] for shard in asked]


def partitions(given: Any, name: str, like: Any = None) -> list[Any]:
    """The row blocks of a dask array or dataframe, as delayed values; cut as `like` is."""
    import dask.array as da

    if not is_collection(given):
        raise TypeError(
            f"{name} is {type(given).__name__}, where a dask array, dataframe or series is needed: for local data use "
            "the model's own methods, and give fit X and y alike."
        )
    if isinstance(given, da.Array):
        if given.ndim not in ((2,) if name == "X" else (1, 2)):
            raise ValueError(f"{name} has {given.ndim} dimensions: X needs rows and columns, y and weights rows.")
        if given.ndim == 2 and given.numblocks[1] > 1:
            given = given.rechunk({1: -1})
        if isinstance(like, da.Array) and given.chunks[0] != like.chunks[0]:
            if given.shape[0] != like.shape[0] and not np.isnan([given.shape[0], like.shape[0]]).any():
                raise ValueError(f"X has {like.shape[0]} rows, but {name} has {given.shape[0]}.")
            if not np.isnan([*given.chunks[0], *like.chunks[0]]).any():
                given = given.rechunk({0: like.chunks[0]})
    blocks = np.ravel(np.array(given.to_delayed(optimize_graph=False), dtype=object)).tolist()
    if like is not None:
        wanted = like.numblocks[0] if isinstance(like, da.Array) else like.npartitions
        if len(blocks) != wanted:
            raise ValueError(f"{name} has {len(blocks)} partitions, but X has {wanted}: repartition it like X.")
    return blocks


def is_collection(given: Any) -> bool:
    import dask
    from dask.delayed import Delayed

    if isinstance(given, Delayed):
        raise TypeError("A delayed value says nothing of its rows: make an array of it by dask.array.from_delayed.")
    return bool(dask.is_dask_collection(given)) and hasattr(given, "to_delayed")


def are_files(X: Any) -> bool:
    """Is X a name of a file or a list of such?"""
    if isinstance(X, str | os.PathLike):
        return True
    return isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(name, str | os.PathLike) for name in X)


def of_files(client: Any, files: Any, shards: int | None, reading: dict[str, Any]) -> Shards:
    """Files that the workers read themselves: each shard some of them, or its share of each if they are fewer."""
    found, recipe, divisible = gathered(Workers(client), client.submit(look, files, reading, pure=False))
    most = (MOST, "whatever the cluster") if divisible else (len(found), "one a file, as these cannot be divided")
    number = how_many(client, shards, *most)
    token = uuid.uuid4().hex
    parts = []
    for i in range(number):
        whole = number <= len(found)
        group, share = (found[i::number], None) if whole else (found, Share(i, number))
        parts.append([client.submit(FilesPart, group, recipe, i, token, share, pure=False)])
    return Shards(client, parts, on_disk=True)


def found_files(files: Any) -> list[str]:
    """The files that names and patterns stand for, as the worker sees them that is asked."""
    names = [files] if isinstance(files, str | os.PathLike) else files
    found = find_files(tuple(os.path.abspath(os.fspath(name)) if str(name) != "-" else "-" for name in names))
    if STDIN in found:
        raise ValueError("Workers cannot read this program's standard input: give files that all of them can open.")
    return [str(path) for path in found]


def look(files: Any, reading: dict[str, Any]) -> tuple[list[str], dict[str, Any], bool]:
    """The files, how all of them are read (their first block decides what is not said), and can parts of them be?"""
    names = found_files(files)
    reader = stream(*names, **reading)
    for block in reader:
        kind = {} if block.classes is None else {"text_labels": block.classes.dtype.kind in "UO"}
        recipe = {**reading, **reader.recipe(), **kind, "many_classes": True}  # which was checked here
        divisible = reader.format in BY_LINE and all(can_be_shared(path) for path in reader.files)
        return names, {name: value for name, value in recipe.items() if value is not None}, divisible
    raise ValueError(f"{', '.join(names)}: there is no example in it.")
