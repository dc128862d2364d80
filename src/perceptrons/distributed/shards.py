"""Shards: the parts of the data that workers hold, and how data are divided into them."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from perceptrons.data.source import STDIN, find_files
from perceptrons.distributed.clients import MAX_ATTEMPTS, ClusterError, Workers, check_scheduler
from perceptrons.engine.training.epochs import Trainee

MAX_SHARE_OF_MEMORY = 0.6  # of a worker, for a shard of an array


class PreparedModel(NamedTuple):
    """A model that is ready to be trained on shards."""

    setup: Any  # what every part has to know: a `LinearSetup` or a `ChainSetup`
    mappings: Sequence[Any]  # one per shard, or none
    fit: Trainee  # the model without examples, for its norm and its stopping rules
    fingerprint: Any  # tells whether the data have changed
    messages: dict[str, Any]  # of files, for `watch`: skipped records, complaints and notices
    has_weights: bool  # of examples


class Shards:
    """The futures of the parts of every shard. local: data of this machine, sent again when a worker dies."""

    def __init__(
        self, client: Any, raw: list[list[Any]], local: Sequence[Any] = (), on_disk: bool = False,
        notices: Sequence[str] = (),
    ):  # fmt: skip
        self.client, self.raw, self.local, self.on_disk = client, raw, local, on_disk
        self.workers = Workers(client)
        self.parts: list[list[Any]] = []
        self.n = 0  # examples to learn from
        self.notices = notices  # about files, for the user
        self._setup: Any = None
        self._mappings: Sequence[Any] = ()

    @classmethod
    def of_local(cls, client: Any, parts: list[Any], n_bytes: int) -> "Shards":
        """Send each of these parts to a worker. n_bytes: of the largest."""
        limits = [worker["memory_limit"] for worker in client.scheduler_info(n_workers=-1)["workers"].values()]
        limits = [limit for limit in limits if limit]
        if limits and n_bytes > MAX_SHARE_OF_MEMORY * max(limits):
            raise ValueError(
                f"A shard takes {n_bytes / 1e6:,.0f} MB, too much for workers with {max(limits) / 1e6:,.0f} MB of "
                "memory: use more shards, or give files or a dask collection, which are read block by block."
            )
        workers = Workers(client)
        return cls(client, [[workers.scatter(part)] for part in parts], parts)

    def __len__(self) -> int:
        return len(self.raw)

    @contextmanager
    def forgotten_on_error(self) -> Iterator[None]:
        """Let the workers forget the data if the block raises an error."""
        try:
            yield
        except BaseException:
            self.forget()
            raise

    def facts(self) -> list[list[Any]]:
        """Return the facts about every part of every shard. Parts without examples are dropped, as in a stream."""
        from dask.utils import M

        if self.local:
            return [[part.facts()] for part in self.local]
        tasks = [[self.client.submit(M.facts, part, pure=False) for part in shard] for shard in self.raw]
        by_shard = self.workers.gather(tasks)
        for shard, facts in enumerate(by_shard):
            nonempty = [k for k, part in enumerate(facts) if part.n] or [0]
            self.raw[shard] = [self.raw[shard][k] for k in nonempty]
            by_shard[shard] = [facts[k] for k in nonempty]
        return by_shard

    def prepare(self, setup: Any, mappings: Sequence[Any]) -> None:
        """Have the workers make the parts ready to learn from. mappings: one per shard, or none."""
        self._setup, self._mappings = setup, mappings
        self.parts = [self._ready_parts(shard) for shard in range(len(self))]
        self.n = sum(self.ask(attrgetter("n_train")))
        if setup.fraction and self.n == sum(self.ask(attrgetter("n"))):
            raise ValueError("No examples can be held out: every shard has too few. Use early_stopping=False.")
        self.raw = [[None] * len(shard) for shard in self.raw]  # the workers need not keep them

    def ask(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return function(part, *arguments) of all parts, computed by the workers that hold them."""
        from dask.sizeof import sizeof

        for attempts_left in reversed(range(MAX_ATTEMPTS)):
            parts = [part for shard in self.parts for part in shard]
            try:
                more = [self.workers.send(argument, sizeof(argument), len(parts)) for argument in arguments]
                return self.workers.gather([self.client.submit(function, part, *more, pure=False) for part in parts])
            except CancelledError as error:
                self.restore(error, attempts_left)
        raise AssertionError  # restore raises an error when no attempt is left

    def restore(self, error: BaseException, attempts_left: int) -> None:
        """Send again what was lost with a worker. Raise ClusterError without attempts or without a scheduler."""
        check_scheduler(self.client, error)
        if not attempts_left:
            raise ClusterError(
                f"Workers died in {MAX_ATTEMPTS} attempts, or data were lost that cannot be recovered: {error}"
            ) from error
        for shard, part in enumerate(self.local):
            if self.parts[shard][0].status in ("cancelled", "lost", "error"):
                self.raw[shard] = [self.workers.scatter(part)]
                self.parts[shard] = self._ready_parts(shard)

    def forget(self) -> None:
        """Let the workers release the data, and remove what they keep on disk. Afterwards there are no shards."""
        from dask.utils import M

        if self.on_disk and self.client.status == "running":
            parts = [part for shard in self.parts or self.raw for part in shard if part is not None]
            tasks = [self.client.submit(M.forget, part, pure=False) for part in parts if part.status == "finished"]
            self.workers.gather(tasks, errors="skip")
        self.parts = self.raw = []

    def _ready_parts(self, shard: int) -> list[Any]:
        from dask.utils import M

        mapping = self._mappings[shard] if len(self._mappings) else None
        return [self.client.submit(M.ready, part, self._setup, mapping, pure=False) for part in self.raw[shard]]


def assign_examples(n: int, shards: int, seed: int) -> list[np.ndarray]:
    """Return the numbers of the examples of each shard, of n examples that are assigned at random."""
    order = np.random.default_rng([seed, n]).permutation(n)
    return [np.sort(group) for group in np.array_split(order, shards)]


def number_of_shards(client: Any, shards: int | None, limit: int, reason: str) -> int:
    """Return the requested number of shards, or by default the number of threads. reason: for the limit."""
    if shards is None:
        return max(1, min(sum(client.nthreads().values()), limit))
    if isinstance(shards, bool) or not isinstance(shards, int | np.integer) or shards < 1:
        raise ValueError(f"shards={shards!r}: give a whole number of at least 1, or None.")
    if shards > limit:
        raise ValueError(f"shards={shards}: there can be at most {limit:,} here, {reason}.")
    return int(shards)


def aligned(array: np.ndarray) -> np.ndarray:
    """Return the array, aligned in memory for compiled loops: data from a network may begin at any byte."""
    return array if array.flags.aligned else array.copy()


def read_partitions(
    client: Any, shards: int | None, read: Callable[..., Any], columns: list[list[Any]], *more: Any
) -> list[list[Any]]:
    """Return futures of read(*blocks, *more, place) for all row blocks of some columns: shards of consecutive blocks.

    columns: delayed blocks, or None. place: the numbers of the shard, and of the block in it.
    """
    from dask import delayed

    n = len(columns[0])
    groups = np.array_split(np.arange(n), number_of_shards(client, shards, n, "one per partition"))
    make = delayed(read, pure=False)
    tasks = [
        [make(*(column[b] for column in columns), *more, (shard, k)) for k, b in enumerate(group.tolist())]
        for shard, group in enumerate(groups)
    ]
    futures = iter(client.compute([part for shard in tasks for part in shard]))  # each call walks through the graph
    return [[next(futures) for _ in shard] for shard in tasks]


def partitions(collection: Any, name: str, like: Any = None) -> list[Any]:
    """Return the row blocks of a dask array or dataframe as delayed values, divided as `like` is."""
    import dask.array as da

    if not is_collection(collection):
        raise TypeError(
            f"{name} is {type(collection).__name__}, but a dask array, dataframe or series is required: for local data "
            "use the methods of the model, and give X and y in the same form."
        )
    if isinstance(collection, da.Array):
        if collection.ndim not in ((2,) if name == "X" else (1, 2)):
            raise ValueError(f"{name} has {collection.ndim} dimensions: X must have two, y and weights one.")
        if collection.ndim == 2 and collection.numblocks[1] > 1:
            collection = collection.rechunk({1: -1})
        if isinstance(like, da.Array) and collection.chunks[0] != like.chunks[0]:
            if collection.shape[0] != like.shape[0] and not np.isnan([collection.shape[0], like.shape[0]]).any():
                raise ValueError(f"X has {like.shape[0]} rows, but {name} has {collection.shape[0]}.")
            if not np.isnan([*collection.chunks[0], *like.chunks[0]]).any():
                collection = collection.rechunk({0: like.chunks[0]})
    blocks = np.ravel(np.array(collection.to_delayed(optimize_graph=False), dtype=object)).tolist()
    if like is not None:
        n_expected = like.numblocks[0] if isinstance(like, da.Array) else like.npartitions
        if len(blocks) != n_expected:
            raise ValueError(f"{name} has {len(blocks)} partitions, but X has {n_expected}: repartition it like X.")
    return blocks


def is_collection(value: Any) -> bool:
    """Return whether this is a dask array, dataframe, series or bag."""
    import dask
    from dask.delayed import Delayed

    if isinstance(value, Delayed):
        raise TypeError("A delayed value does not know its number of rows: convert it with dask.array.from_delayed.")
    return bool(dask.is_dask_collection(value)) and hasattr(value, "to_delayed")


def are_files(X: Any) -> bool:
    """Return whether X is the name of a file, or a list of names."""
    if isinstance(X, str | os.PathLike):
        return True
    return isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(name, str | os.PathLike) for name in X)


def refuse_options(reading: dict[str, Any]) -> None:
    """Raise TypeError for options of reading, for data that are not files."""
    if reading:
        raise TypeError(f"fit() has no option {next(iter(reading))!r}; options for reading are for file names only.")


def find_files_of_worker(files: Any) -> list[str]:
    """Return the files that match names and patterns, as the worker that runs this sees them."""
    names = [files] if isinstance(files, str | os.PathLike) else files
    paths = find_files(tuple(os.path.abspath(os.fspath(name)) if str(name) != "-" else "-" for name in names))
    if STDIN in paths:
        raise ValueError("Workers cannot read this program's standard input: give files that all of them can open.")
    return [str(path) for path in paths]
