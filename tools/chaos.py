"""Kill servers (kill -9) while they learn, and compare what they serve to the bit with what they served before.

    python -m tools.chaos --kills 300 --seed 0

Every seed draws a model: its kind of input, step, combine, weight decay and so on. A leader learns what several threads
send; a follower copies it. Then one of them is killed and started again, the volume of the follower is lost, or that
of the leader, and the follower is promoted. Three states must have the same bytes and the same scores: the model that
was served before the kill, the one that is served after it, and the one that learns singly, request by request, what
the log holds. A difference is printed with its seed; `--seed THAT --kills 5` makes it again.
"""

import argparse
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

from perceptrons import KernelPerceptron, Perceptron, SequencePerceptron, client, save
from perceptrons.client import ServerError
from perceptrons.modelfile import as_bytes
from perceptrons.sequence import FeatureTemplates
from perceptrons.serve.store import Store
from tests.support import served
from tests.support import served_kinds as kinds

KILLS_OF_A_MODEL = 5
THREADS = 3
REQUESTS = 4  # of every thread between two events
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


def fitted_numbers(rows: list[Any], **parameters: Any) -> Any:
    """A model made by `fit`, in several epochs."""
    model = Perceptron(**{**parameters, "max_iter": 3, "tol": None})
    return model.fit(np.array([row for row, _ in rows]), [label for _, label in rows])


def named_features(rows: list[Any], **parameters: Any) -> Any:
    model = Perceptron(**parameters)
    for features, label in rows:
        model.learn_one(features, label)
    return model


def label_sets(rows: list[Any], **parameters: Any) -> Any:
    return Perceptron(**parameters).partial_fit(np.array([row for row, _ in rows]), [labels for _, labels in rows])


def labelled_by_sets(k: int, rng: np.random.Generator) -> tuple[Any, Any]:
    row, label = kinds.numbers_example(k, rng)
    return row, ["abc"[label - 1], "d"][: 1 + k % 2]


def many_classes(rows: list[Any], **parameters: Any) -> Any:
    """So many that blocks of examples are learned by matrix products."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2 * N_MANY, len(rows[0][0])))
    return Perceptron(**parameters).partial_fit(X, np.arange(2 * N_MANY) % N_MANY)


def one_of_many(k: int, rng: np.random.Generator) -> tuple[Any, Any]:
    return kinds.numbers_example(k, rng)[0], int(rng.integers(N_MANY))


def tagger(rows: list[Any], combine: str = "average", step: str = "constant", **parameters: Any) -> Any:
    model = SequencePerceptron(templates=FeatureTemplates(), max_iter=2, combine=combine, step=step)
    return model.fit([tokens for tokens, _ in rows], [labels for _, labels in rows])


def kernel(rows: list[Any], combine: str = "average", **parameters: Any) -> Any:
    model = KernelPerceptron(kernel="rbf", budget=30, max_iter=1, combine=combine)
    return model.fit(np.array([row for row, _ in rows]), [label for _, label in rows])


KINDS = {
    "text": Kind(kinds.texts, kinds.text_example),
    "VW": Kind(kinds.vw, kinds.vw_example),
    "VW, interactions": Kind(lambda rows, **p: kinds.vw(rows, quadratic=["ab"], **p), kinds.vw_example),
    "VW, hashed": Kind(lambda rows, **p: kinds.vw(rows, hash_bits=9, quadratic=["ab"], **p), kinds.vw_example),
    "svmlight": Kind(kinds.svmlight, kinds.svmlight_example),
    "table": Kind(kinds.table, kinds.table_example),
    "table, text": Kind(lambda rows, **p: kinds.table(rows, text_column="body", **p), kinds.table_example),
    "numbers": Kind(kinds.numbers, kinds.numbers_example),
    "numbers, fit": Kind(fitted_numbers, kinds.numbers_example),
    "numbers, label sets": Kind(label_sets, labelled_by_sets),
    "numbers, many classes": Kind(many_classes, one_of_many),
    "features": Kind(named_features, served.features_example),
    "features, empty": Kind(lambda rows, **p: None, served.features_example),
    "tokens": Kind(tagger, served.tagger_example),
    "kernel": Kind(kernel, served.kernel_example),
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
            "step": rng.choice(STEPS), "combine": rng.choice(COMBINES), **rng.choice(PENALTIES),
            "margin": rng.choice(("auto", "auto", "auto", 0, 1)), "fit_intercept": rng.choice((True, True, False)),
            "multiclass": rng.choice(("joint", "joint", "ovr", "ovo")),
            "init": rng.choice(("zeros", "zeros", "zeros", "random", "ones")),
            "batch_size": rng.choice((1, 1, 1, 1, 3)),
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

    def start_and_wait(self) -> Any:
        self.begin()
        return self.ready()


class Run:
    """One model on two servers, through several kills."""

    def __init__(self, seed: int, servers: list[Server], folder: Path, events: Counter[str]):
        self.seed, self.folder, self.events = seed, folder, events
        self.rng, self.numbers, self.n = random.Random(seed), np.random.default_rng(seed + 1), 100
        self.drawn = drawn(seed)
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

    def load(self) -> None:
        """Several threads send requests; some of them do not fit."""
        requests = []
        for _ in range(THREADS * REQUESTS):
            rows = [
                KINDS[self.drawn.kind].example(self.n + k, self.numbers) for k in range(self.rng.choice((1, 1, 2, 5)))
            ]
            self.n += len(rows)
            labels = [label for _, label in rows]
            if self.rng.random() < 0.05 and self.drawn.kind != "tokens":
                labels[-1] = NEW_CLASSES[type(labels[-1])]
            requests.append(([row for row, _ in rows], labels))
        if self.rng.random() < 0.5:
            requests.insert(self.rng.randrange(len(requests)), ([{"not": ["what", "fits"]}], [{}]))
        sender = client.Client(self.leader.url, timeout=30)

        def send(request: Any) -> None:
            try:
                sender.learn(*request)
            except ServerError as error:
                if error.status != 422 or request[1] != [{}]:
                    raise

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(send, requests))
        sender.close()

    def served(self, server: Server) -> tuple[int, bytes, Any]:
        """Version, bytes and scores of what a server serves."""
        path, asked = self.folder / "download", server.ready()
        version = asked.download(path)
        scores = {} if self.drawn.kind == "tokens" else {"scores": True}
        return version, path.read_bytes(), asked.details(self.probes, **scores)["predictions"]

    def compare(self, what: str, one: tuple[int, bytes, Any], other: tuple[int, bytes, Any]) -> None:
        """Raise DifferenceError unless both are the same."""
        shown = [
            [{key: value for key, value in row.items() if key != "id"} for row in each[2]] for each in (one, other)
        ]
        same = one[0] == other[0], one[1] == other[1], shown[0] == shown[1]
        if not all(same):
            names = [name for name, is_same in zip(("version", "bytes", "scores"), same, strict=True) if not is_same]
            differ = sum(a != b for a, b in zip(*shown, strict=True))
            raise DifferenceError(
                f"seed {self.seed}, {self.drawn.kind}, {self.drawn.parameters}: {what} differ in {', '.join(names)} "
                f"(versions {one[0]} and {other[0]}; {differ} of {PROBES} predictions)"
            )

    def caught_up(self) -> tuple[int, bytes, Any]:
        """What the follower serves at the version of the leader."""
        version, until = self.leader.ready().stats()["version"], time.monotonic() + SECONDS
        while self.follower.ready().stats()["version"] != version:
            if time.monotonic() > until:
                raise DifferenceError(f"seed {self.seed}: the follower does not catch up")
            time.sleep(0.02)
        return self.served(self.follower)

    def replayed(self, server: Server) -> tuple[int, bytes, Any]:
        """What learns singly what a log holds, from the first snapshot of its folder; the server is not running."""
        store = Store(server.folder)
        state = store.load(store.snapshots()[0])[0]
        log = served.read_log(server.folder)
        for version, request in zip(log.versions, log.requests, strict=True):
            if version >= state.version:
                state.learn(request["x"], request["y"])
        scores = self.drawn.kind != "tokens"
        return state.version, as_bytes(state.model), state.predict(self.probes, scores=scores)

    def kill(self) -> None:
        """Learn, kill, and compare."""
        self.load()
        event = self.rng.choice(("leader", "leader", "follower", "lost volume", "promotion"))
        self.events[event] += 1
        before = self.served(self.leader)
        self.compare("leader and follower", before, self.caught_up())
        killed = self.leader if event in ("leader", "promotion") else self.follower
        killed.kill()
        self.compare(f"what was served and what its log gives singly ({event})", before, self.replayed(killed))
        if event == "lost volume":
            shutil.rmtree(killed.folder)
        if event == "promotion":
            self._promote()
        else:
            killed.start_and_wait()
        after = self.served(self.leader) if event in ("leader", "promotion") else self.caught_up()
        self.compare(f"before and after ({event})", before, after)

    def _promote(self) -> None:
        """The leader and its volume are gone: the follower becomes the leader, and an empty one follows it."""
        shutil.rmtree(self.leader.folder)
        self.leader, self.follower = self.follower, self.leader
        self.leader.ready().promote()
        folder = self.folder / f"follower-{self.n}"
        self.leader.use(self.leader.folder)
        self.follower.use(folder, "--follow", self.leader.url)
        self.follower.start_and_wait()

    def end(self) -> None:
        for server in (self.leader, self.follower):
            if server.running:
                server.kill()


def main() -> int:
    """Kill as often as asked for. Returns the exit code: 1 if there was a difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=30, help="Number of kills (default: 30).")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the first model (default: 0).")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="Time limit (default: none).")
    asked = parser.parse_args()
    events, differences, kills, seed = Counter[str](), list[str](), 0, asked.seed
    warnings.simplefilter("ignore")
    end = time.monotonic() + asked.seconds
    with tempfile.TemporaryDirectory() as name:
        servers = [Server(Path(name) / f"server-{number}") for number in range(2)]
        try:
            while kills < asked.kills and time.monotonic() < end:
                folder = Path(name) / f"seed-{seed}"
                folder.mkdir()
                kills += one_model(
                    seed, servers, folder, events, differences, min(KILLS_OF_A_MODEL, asked.kills - kills)
                )
                shutil.rmtree(folder)
                seed += 1
        finally:
            for server in servers:
                server.close()
    print(f"{kills} kills, {seed - asked.seed} models, {dict(events)}: {len(differences)} differences")
    return 1 if differences else 0


def one_model(
    seed: int, servers: list[Server], folder: Path, events: Counter[str], differences: list[str], kills: int
) -> int:
    """The kills that a model went through, all of them or up to the first difference."""
    run = Run(seed, servers, folder, events)
    try:
        for number in range(kills):
            try:
                run.kill()
            except DifferenceError as error:
                print(error, flush=True)
                differences.append(str(error))
                return number + 1
    finally:
        run.end()
    print(f"seed {seed}: {run.drawn.kind}, {run.drawn.parameters}: {kills} kills", flush=True)
    return kills


if __name__ == "__main__":
    sys.exit(main())
