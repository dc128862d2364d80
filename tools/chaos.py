"""Kill servers (kill -9) while they learn, and compare what they serve to the bit with what they served before.

    python -m tools.chaos --kills 300 --seed 0

Every seed draws a model: its kind of input, step, combine, penalty, whether `fit` trained it in several epochs before
it was served, and so on. A leader learns what several threads send; a follower copies it. Then one of the two or both
are killed and started again, also while requests are on their way; the volume of one of them is lost; the follower is
promoted; or the leader goes back to a snapshot. Three states must have the same bytes and the same scores: the model
that was served before the kill, the one that is served after it, and the one that learns singly, request by request,
what the log holds. Every acknowledged example is learned once.
A difference is printed with its seed; `--seed THAT --kills 1` makes it again with all events of that model.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec import to_builtins

from tools.compiled import cache_folder

os.environ.setdefault("NUMBA_CACHE_DIR", cache_folder())  # read when perceptrons is imported

from perceptrons import KernelPerceptron, Perceptron, SequencePerceptron, client, save
from perceptrons.client import ServerError
from perceptrons.modelfile import as_bytes
from perceptrons.sequence import FeatureTemplates
from perceptrons.serve.journal import Start, checked_frames
from perceptrons.serve.store import Logged, Store, read_snapshot
from tests.support import served
from tests.support import served_kinds as kinds

KILLS_OF_A_MODEL = (1, 2, 3)
EVENTS = (
    "leader", "leader under load", "leader under load", "both", "follower", "lost volume", "promotion", "rollback",
)  # fmt: skip
THREADS = 3
REQUESTS = 4  # of every thread between two events
REPEATED = 3  # requests that are sent again after a kill
PROBES = 20
N_MANY = 160  # classes
NEW_CLASSES: dict[type, Any] = {str: "new", int: 999, list: ["a", "new"]}  # by the type of labels
SECONDS = 60  # until a follower has caught up
STEPS = ("constant", "constant", "pa", "pa1", "pa2", "arow")
COMBINES = ("average", "recent", "last", "vote", "pocket")
PENALTIES = (
    {}, {}, {}, {"penalty": "l2"}, {"penalty": "l2", "alpha": 0.01},
    {"penalty": "l1"}, {"penalty": "l1", "alpha": 0.01}, {"penalty": "elasticnet", "alpha": 0.001},
)  # fmt: skip


class DifferenceError(Exception):
    """Two states that must be the same are not."""


class Kind(NamedTuple):
    """A kind of model. make(rows, parameters): a trained model, or None for one that begins empty."""

    make: Callable[..., Any]
    example: Callable[..., tuple[Any, Any]]


def named_features(rows: list[Any], fitted: bool, **parameters: Any) -> Any:
    model = Perceptron(**parameters)
    for features, label in rows:
        model.learn_one(features, label)
    return model


def labelled_by_sets(k: int, rng: np.random.Generator) -> tuple[Any, Any]:
    row, label = kinds.numbers_example(k, rng)
    return row, ["abc"[label - 1], "d"][: 1 + k % 2]


def many_classes(rows: list[Any], **parameters: Any) -> Any:
    """So many that blocks of examples are learned by matrix products."""
    X = np.random.default_rng(0).standard_normal((2 * N_MANY, len(rows[0][0])))
    return kinds.numbers([(row, k % N_MANY) for k, row in enumerate(X)], **parameters)


def one_of_many(k: int, rng: np.random.Generator) -> tuple[Any, Any]:
    return kinds.numbers_example(k, rng)[0], int(rng.integers(N_MANY))


def tagger(rows: list[Any], hash_bits: int | None = None, **parameters: Any) -> Any:
    margin = None if parameters["margin"] == "auto" else parameters["margin"]
    rule = {name: parameters[name] for name in ("combine", "step")}
    model = SequencePerceptron(templates=FeatureTemplates(), max_iter=2, hash_bits=hash_bits, margin=margin, **rule)
    return model.fit([tokens for tokens, _ in rows], [labels for _, labels in rows])


def kernel(rows: list[Any], on_full: str = "remove_random", fitted: bool = True, **parameters: Any) -> Any:
    choices = {name: parameters[name] for name in ("combine", "multiclass")}
    budget = None if choices["combine"] == "vote" else 30
    model = KernelPerceptron(kernel="rbf", budget=budget, on_full=on_full, max_iter=3 if fitted else 1, **choices)
    return model.fit(np.array([row for row, _ in rows]), [label for _, label in rows])


def empty(rows: list[Any], **parameters: Any) -> None:
    """No model: the first request decides what an example is."""


KINDS = {
    "text": Kind(kinds.texts, kinds.text_example),
    "VW": Kind(kinds.vw, kinds.vw_example),
    "VW, interactions": Kind(lambda rows, **p: kinds.vw(rows, quadratic=["ab"], **p), kinds.vw_example),
    "VW, hashed": Kind(lambda rows, **p: kinds.vw(rows, hash_bits=9, quadratic=["ab"], **p), kinds.vw_example),
    "svmlight": Kind(kinds.svmlight, kinds.svmlight_example),
    "table": Kind(kinds.table, kinds.table_example),
    "table, text": Kind(lambda rows, **p: kinds.table(rows, text_column="body", **p), kinds.table_example),
    "numbers": Kind(kinds.numbers, kinds.numbers_example),
    "numbers, label sets": Kind(kinds.numbers, labelled_by_sets),
    "numbers, many classes": Kind(many_classes, one_of_many),
    "features": Kind(named_features, served.features_example),
    "features, empty": Kind(empty, served.features_example),
    "text, empty": Kind(empty, kinds.text_example),
    "numbers, empty": Kind(empty, kinds.numbers_example),
    "tokens": Kind(tagger, served.tagger_example),
    "tokens, hashed": Kind(lambda rows, **p: tagger(rows, hash_bits=10, **p), served.tagger_example),
    "tokens, empty": Kind(empty, served.tagger_example),
    "kernel": Kind(kernel, served.kernel_example),
    "kernel, forgetting": Kind(lambda rows, **p: kernel(rows, "forget_oldest", **p), served.kernel_example),
    "kernel, projecting": Kind(lambda rows, **p: kernel(rows, "project", **p), served.kernel_example),
}


class Drawn(NamedTuple):
    """A model that a seed has drawn."""

    kind: str
    parameters: dict[str, Any]
    model: Any


def drawn(seed: int) -> Drawn:
    """The first combination of parameters that makes sense; kinds come in turn."""
    rng, kind = random.Random(seed), [*KINDS][seed % len(KINDS)]
    while True:
        parameters = {
            "fitted": rng.random() < 0.6, "step": rng.choice(STEPS), "combine": rng.choice(COMBINES),
            **rng.choice(PENALTIES),
            "margin": rng.choice(("auto", "auto", "auto", 0, 1)), "fit_intercept": rng.choice((True, True, False)),
            "multiclass": rng.choice(("joint", "joint", "ovr", "ovo")),
            "init": rng.choice(("zeros", "zeros", "zeros", "random", "ones")),
            "batch_size": rng.choice((1, 1, 1, 1, 3)), "window": rng.choice((500, 7)),
            "zero_score": rng.choice(("mistake", "mistake", "correct", "positive")),
        }  # fmt: skip
        numbers = np.random.default_rng(seed)
        rows = [KINDS[kind].example(k, numbers) for k in range(40)]
        try:
            return Drawn(kind, parameters, KINDS[kind].make(rows, **parameters))
        except ValueError:  # options that cannot be combined
            continue


class Server(served.WarmServer):
    """A server whose process serves one folder after another."""

    def use(self, folder: Path, *arguments: Any) -> None:
        self.folder = folder
        self._arguments = ["serve", *arguments, "--data", folder, "--port", self.port, "--snapshot-every", 37]

    def start_and_wait(self) -> None:
        self.begin()
        self.ready()


class Request(NamedTuple):
    """What is sent to learn. fits: can the model learn it?"""

    examples: list[Any]
    labels: list[Any]
    key: str
    fits: bool = True


class Served(NamedTuple):
    """What a server serves."""

    version: int
    content: bytes
    predictions: list[dict[str, Any]]


class Run:
    """One model on two servers, through several kills."""

    def __init__(self, seed: int, servers: list[Server], folder: Path, events: Counter[str]):
        self.seed, self.folder, self.events = seed, folder, events
        self.rng, self.numbers, self.n = random.Random(seed), np.random.default_rng(seed + 1), 100
        self.drawn, self.version = drawn(seed), 0
        self.is_tagger = self.drawn.kind.startswith("tokens")
        self.acknowledged: list[tuple[Request, dict[str, Any]]] = []  # the newest requests, with their answers
        self.leader, self.follower = servers
        path = folder / "model"
        if self.drawn.model is not None:
            save(self.drawn.model, path)
        self._begin(self.leader, "leader", *([] if self.drawn.model is None else [path]))
        self._begin(self.follower, "follower", "--follow", self.leader.url)
        self.probes = [KINDS[self.drawn.kind].example(k, self.numbers)[0] for k in range(100, 100 + PROBES)]

    def _begin(self, server: Server, name: str, *arguments: Any) -> None:
        server.use(self.folder / name, *arguments)
        server.start_and_wait()

    def fail(self, message: str) -> None:
        raise DifferenceError(f"seed {self.seed}, {self.drawn.kind}, {self.drawn.parameters}: {message}")

    # ---- requests

    def requests(self) -> list[Request]:
        """Requests of one to five examples, some with a new class, and maybe one that does not fit."""
        made = []
        for _ in range(THREADS * REQUESTS):
            size = self.rng.choice((1, 1, 2, 5))
            rows = [KINDS[self.drawn.kind].example(self.n + k, self.numbers) for k in range(size)]
            self.n += size
            labels = [label for _, label in rows]
            if self.rng.random() < 0.05:
                labels[-1] = ["new"] * len(labels[-1]) if self.is_tagger else NEW_CLASSES[type(labels[-1])]
            made.append(Request([row for row, _ in rows], labels, f"{self.seed}-{self.n}"))
        if self.rng.random() < 0.5:
            misfit = Request([{"not": ["what", "fits"]}], [{}], f"{self.seed}-{self.n}-misfit", fits=False)
            made.insert(self.rng.randrange(len(made)), misfit)
        return made

    def load(self, kills: bool = False) -> None:
        """Let several threads send requests until they are answered. kills: kill and restart the leader meanwhile."""
        sender = client.Client(self.leader.url, timeout=30, retries=1000)

        def send(request: Request) -> None:
            try:
                answer = sender.learn(request.examples, request.labels, key=request.key)
            except ServerError as error:
                if error.status != 422 or request.fits:
                    raise
            else:
                self.acknowledged.append((request, answer))

        n_before = len(self.acknowledged)
        with ThreadPoolExecutor(THREADS) as pool:
            results = pool.map(send, self.requests())
            if kills:
                time.sleep(self.rng.uniform(0, 0.1))
                self.leader.kill()
                self.leader.start_and_wait()
            list(results)
        sender.close()
        self.version += sum(len(request.examples) for request, _ in self.acknowledged[n_before:])

    def check_keys(self) -> None:
        """Send requests again that were acknowledged, and see that they are not learned again."""
        again = self.leader.ready()
        for request, first in self.rng.sample(self.acknowledged, min(REPEATED, len(self.acknowledged))):
            answer = again.learn(request.examples, request.labels, key=request.key)
            if answer != {**first, "repeated": True}:
                self.fail(f"the request {request.key} was answered with {first}, and when sent again with {answer}")

    # ---- states

    def served(self, server: Server) -> Served:
        path, ready = self.folder / "download", server.ready()
        version = ready.download(path)
        scores = {} if self.is_tagger else {"scores": True}
        return Served(version, path.read_bytes(), ready.details(self.probes, **scores)["predictions"])

    def compare(self, what: str, one: Served, other: Served) -> None:
        """Raise DifferenceError unless both are the same."""
        predictions = [
            [{key: value for key, value in row.items() if key != "id"} for row in each.predictions]
            for each in (one, other)
        ]
        same = one.version == other.version, one.content == other.content, predictions[0] == predictions[1]
        if not all(same):
            names = [name for name, is_same in zip(("version", "bytes", "scores"), same, strict=True) if not is_same]
            n_differ = sum(a != b for a, b in zip(*predictions, strict=True))
            self.fail(
                f"{what} differ in {', '.join(names)} (versions {one.version} and {other.version}; {n_differ} of "
                f"{PROBES} predictions)"
            )

    def caught_up(self) -> Served:
        """What the follower serves when it has the whole log of the leader."""
        leader, follower, until = self.leader.ready(), self.follower.ready(), time.monotonic() + SECONDS
        end = [leader.stats()[name] for name in ("version", "position")]
        while [follower.stats()[name] for name in ("version", "position")] != end:
            if time.monotonic() > until:
                self.fail(f"the follower does not catch up ({follower.stats()['warning']})")
            time.sleep(0.02)
        return self.served(self.follower)

    def replayed(self, server: Server) -> Served:
        """What learns singly what a log holds, from the first snapshot of its folder; the server is not running."""
        store = Store(server.folder)
        first = store.snapshots()[0]
        state = read_snapshot(first.path).state
        for frame in checked_frames(server.folder / "log"):
            if isinstance(frame, Start) or frame.position < first.position:
                continue
            logged = Logged.from_frame(frame)
            if logged.rollback is not None:
                state = read_snapshot(store.folder / "snapshots" / logged.rollback.snapshot).state
            for change in logged.changes:
                state.learn(change.examples, change.labels)
        predictions = to_builtins(state.predict(self.probes, scores=not self.is_tagger))
        return Served(state.version, as_bytes(state.model), predictions)

    # ---- events

    def kill(self) -> None:
        """Learn, kill, and compare."""
        event = self.rng.choice(EVENTS)
        self.events[event] += 1
        self.load(kills=event == "leader under load")
        if event == "rollback":
            self._roll_back()
        before = self.served(self.leader)
        if before.version != self.version:
            self.fail(f"{self.version} examples were acknowledged, but the version is {before.version} ({event})")
        self.compare(f"leader and follower ({event})", before, self.caught_up())
        killed = {"both": [self.leader, self.follower], "follower": [self.follower], "lost volume": [self.follower]}
        for server in killed.get(event, [self.leader]):
            server.kill()
            self.compare(f"what was served and what its log gives singly ({event})", before, self.replayed(server))
        if event == "lost volume":
            shutil.rmtree(self.follower.folder)
        if event == "promotion":
            self._promote()
        for server in (self.leader, self.follower):
            if not server.running:
                server.start_and_wait()
        self.compare(f"before and after ({event})", before, self.served(self.leader))
        self.compare(f"leader and follower after the kill ({event})", before, self.caught_up())
        self.check_keys()

    def _promote(self) -> None:
        """The leader is off: the follower becomes the leader. The old leader follows it, or its volume is lost."""
        folder = self.leader.folder
        if self.rng.random() < 0.5:
            shutil.rmtree(folder)
        self.leader, self.follower = self.follower, self.leader
        self.leader.ready().promote()
        self.follower.use(folder, "--follow", self.leader.url)

    def _roll_back(self) -> None:
        """Go back to a snapshot, and check that the model is the one that it was made of."""
        expected, leader = self.served(self.leader), self.leader.ready()
        leader.snapshot()
        self.load()
        self.leader.ready().rollback(expected.version)
        self.version = expected.version
        self.compare("a snapshot and what a rollback to it gives", expected, self.served(self.leader))

    def end(self) -> None:
        for server in (self.leader, self.follower):
            if server.running:
                server.kill()


def main() -> int:
    """Kill as often as asked for. Returns the exit code: 1 if there was a difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=30, help="Least number of kills (default: 30).")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the first model (default: 0).")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="Time limit (default: none).")
    options = parser.parse_args()
    events, differences, seed = Counter[str](), list[str](), options.seed
    warnings.simplefilter("ignore")
    client.MAX_PAUSE_SECONDS = 0.1  # requests that a kill has interrupted come again soon
    end = time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as name:
        servers = [Server(Path(name) / f"server-{number}") for number in range(2)]
        try:
            while events.total() < options.kills and time.monotonic() < end:
                folder = Path(name) / f"seed-{seed}"
                folder.mkdir()
                differences += attack_model(seed, servers, folder, events)
                shutil.rmtree(folder)
                seed += 1
        finally:
            for server in servers:
                server.close()
    print(f"{events.total()} kills, {seed - options.seed} models, {dict(events)}: {len(differences)} differences")
    return 1 if differences else 0


def attack_model(seed: int, servers: list[Server], folder: Path, events: Counter[str]) -> list[str]:
    """Let the model of a seed go through its kills, up to the first difference. Returns the differences."""
    run = Run(seed, servers, folder, events)
    n_kills = run.rng.choice(KILLS_OF_A_MODEL)
    try:
        for _ in range(n_kills):
            run.kill()
    except DifferenceError as error:
        print(error, flush=True)
        return [str(error)]
    finally:
        run.end()
    print(f"seed {seed}: {run.drawn.kind}, {run.drawn.parameters}: {n_kills} kills", flush=True)
    return []


if __name__ == "__main__":
    sys.exit(main())
