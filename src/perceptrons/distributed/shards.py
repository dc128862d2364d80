"""Shards: for each the parts of the data that workers hold, how many there are, and what can be cut into them."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from operator import attrgetter
from typing import Any

import numpy as np

from perceptrons.data.source import STDIN, find_files
from perceptrons.distributed.clients import (
    TRIES,
    ClusterError,
    Workers,
    check_scheduler,
    gathered,
    scattered,
    sent,
    threads_of,
)
from perceptrons.distributed.worker_data import Facts

ROOM = 0.6  # of a worker's memory: what a shard of an array may take


class Shards:
    """For every shard the futures of its parts. Those that hold data of this machine can be sent again."""

    def __init__(self, client: Any, parts: list[list[Any]], local: list[Any] | None = None, on_disk: bool = False):
        self.client, self.raw, self.local, self.on_disk = client, parts, local, on_disk
        self.workers = Workers(client)
        self.parts: list[list[Any]] = []
        self.n = 0  # examples to learn from
        self.notices: list[str] = []  # what somebody should be told of files
        self._arguments: tuple[Any, Sequence[Any]] = (None, ())

    def __len__(self) -> int:
        return len(self.raw)

    def facts(self) -> list[list[Facts]]:
        """Of every part of every shard."""
        from dask.utils import M

        if self.local is not None:
            return [[part.facts()] for part in self.local]
        asked = [[self.client.submit(M.facts, part, pure=False) for part in shard] for shard in self.raw]
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
        self.n = sum(self.ask(attrgetter("n_train")))
        if common.fraction and self.n == sum(self.ask(attrgetter("n"))):
            raise ValueError("No examples can be held out: every shard has too few. Use early_stopping=False.")
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
                f"Workers died in {TRIES} attempts, or data were lost that cannot be recovered: {error}"
            ) from error
        for number, part in enumerate(self.local or ()):
            if self.parts[number][0].status in ("cancelled", "lost", "error"):
                self.raw[number] = [scattered(self.workers, part)]
                self.parts[number] = self._prepared(number)

    def forget(self) -> None:
        """Have workers let the data go, and remove what they keep on disk. The number of shards is gone with it."""
        from dask.utils import M

        if self.on_disk and self.client.status == "running":
            parts = [part for shard in self.parts or self.raw for part in shard if part is not None]
            parts = [part for part in parts if part.status == "finished"]
            asked = [self.client.submit(M.forget, part, pure=False) for part in parts]
            gathered(self.workers, asked, errors="skip")
        self.parts = self.raw = []

    def _prepared(self, number: int) -> list[Any]:
        from dask.utils import M

        common, mappings = self._arguments
        mapping = mappings[number] if len(mappings) else None
        return [self.client.submit(M.ready, part, common, mapping, pure=False) for part in self.raw[number]]


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


def check_room(client: Any, size: int) -> None:
    """Raise ValueError if no worker has enough memory for a shard of this many bytes."""
    limits = [worker["memory_limit"] for worker in client.scheduler_info(n_workers=-1)["workers"].values()]
    limits = [limit for limit in limits if limit]
    if limits and size > ROOM * max(limits):
        raise ValueError(
            f"A shard takes {size / 1e6:,.0f} MB, too much for workers with {max(limits) / 1e6:,.0f} MB of memory: "
            "use more shards, or give files or a dask collection, which are read block by block."
        )


def computed(client: Any, asked: list[list[Any]]) -> list[list[Any]]:
    """The futures of delayed values, all asked for at once: one by one, each would look through the whole graph."""
    futures = iter(client.compute([part for shard in asked for part in shard]))
    return [[next(futures) for _ in shard] for shard in asked]


def partitions(given: Any, name: str, like: Any = None) -> list[Any]:
    """The row blocks of a dask array or dataframe, as delayed values; cut as `like` is."""
    import dask.array as da

    if not is_collection(given):
        raise TypeError(
            f"{name} is {type(given).__name__}, but a dask array, dataframe or series is required: for local data "
            "use the methods of the model, and give X and y in the same form."
        )
    if isinstance(given, da.Array):
        if given.ndim not in ((2,) if name == "X" else (1, 2)):
            raise ValueError(f"{name} has {given.ndim} dimensions: X must have two, y and weights one.")
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
        raise TypeError("A delayed value does not know its number of rows: convert it with dask.array.from_delayed.")
    return bool(dask.is_dask_collection(given)) and hasattr(given, "to_delayed")


def are_files(X: Any) -> bool:
    """Is X a name of a file or a list of such?"""
    if isinstance(X, str | os.PathLike):
        return True
    return isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(name, str | os.PathLike) for name in X)


def refuse_options(reading: dict[str, Any]) -> None:
    """Raise TypeError for options of reading where nothing is read."""
    if reading:
        raise TypeError(f"fit() has no option {next(iter(reading))!r}; options for reading are for file names only.")


def found_files(files: Any) -> list[str]:
    """The files that names and patterns stand for, as the worker sees them that is asked."""
    names = [files] if isinstance(files, str | os.PathLike) else files
    found = find_files(tuple(os.path.abspath(os.fspath(name)) if str(name) != "-" else "-" for name in names))
    if STDIN in found:
        raise ValueError("Workers cannot read this program's standard input: give files that all of them can open.")
    return [str(path) for path in found]
