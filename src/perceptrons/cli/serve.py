"""`perceptrons serve`: a model that answers over HTTP and learns while it answers."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perceptrons.cli.errors import BadInputError, refusing, refusing_data, refusing_to_open
from perceptrons.cli.files import load_any
from perceptrons.cli.options import (
    DURABLE,
    KEPT_LEARNING,
    LEARN,
    LIMITS,
    SERVER,
    Combine,
    KeepLearning,
    QuietOption,
    argument,
    command,
    flag,
    given,
    option,
    parse_size,
    typed,
)
from perceptrons.cli.parameters import change_learning
from perceptrons.cli.screen import say

if TYPE_CHECKING:
    from perceptrons.serve.store import Store

SHORTEST_TOKEN = 16


# fmt: off
@dataclass(frozen=True, kw_only=True)
class ServeOptions(QuietOption):
    """The options of `perceptrons serve`."""

    model: Path | None = argument("Model file to start with. Without one, the server starts with an empty model, or with the one in --data.", metavar="MODEL")
    data: Path | None = option("--data", help="Folder for the log and the snapshots (default: MODEL.served).", metavar="DIR")
    combine: Combine | None = option("--combine", help="Weights to predict with, at the first start with MODEL: average, recent, last, vote or pocket (default: those of the model).", panel=LEARN, metavar="WHICH")
    keep_learning: KeepLearning | None = option("--keep-learning", help="How the averaged weights of MODEL learn from new examples, at the first start: follow them and forget what is outdated, or average them with everything before (default: as in the model).", panel=LEARN, metavar="HOW")
    host: str = option("--host", help="Address to listen on. An address that other machines can reach needs --token-file (default: 127.0.0.1).", panel=SERVER, metavar="HOST", default="127.0.0.1")
    port: int = option("--port", help="Port to listen on; 0 selects a free one (default: 8080).", panel=SERVER, metavar="N", default=8080, min=0, max=65535)
    token_file: Path | None = option("--token-file", help="Require the token in this file with every request (default: no token).", panel=SERVER, metavar="FILE")
    tls_cert: Path | None = option("--tls-cert", help="Certificate file for HTTPS (default: HTTP).", panel=SERVER, metavar="FILE")
    tls_key: Path | None = option("--tls-key", help="File with the private key of the certificate.", panel=SERVER, metavar="FILE")
    follow: str | None = option("--follow", help="Follow the server at this URL: copy what it learns, and only predict (default: learn).", panel=SERVER, metavar="URL")
    leader_token_file: Path | None = option("--leader-token-file", help="File with the token of the server to follow (default: --token-file).", panel=SERVER, metavar="FILE")
    accept_older: bool = flag("--accept-older", "Follow a leader that has less than this server, or other examples: move the log and the snapshots here to a folder beside them, and begin again with the model of the leader.", SERVER)
    no_sync: bool = flag("--no-sync", "Do not wait for the disk before answering. This is faster, but a power failure may lose the last examples.", DURABLE)
    snapshot_every: int = option("--snapshot-every", help="Number of learned examples between two snapshots (default: 100,000).", panel=DURABLE, metavar="N", default=100_000, min=1)
    keep_log: int = option("--keep-log", help="Size up to which old parts of the log are kept (default: 1GiB).", panel=DURABLE, metavar="SIZE", default="1GiB", parser=parse_size)
    repair: bool = flag("--repair", "Move the damaged part of the log and everything after it aside, and exit.", DURABLE)
    max_body: int = option("--max-body", help="Maximum size of a request (default: 16MiB).", panel=LIMITS, metavar="SIZE", default="16MiB", parser=parse_size)
    max_examples: int = option("--max-examples", help="Maximum number of examples in one request (default: 10,000).", panel=LIMITS, metavar="N", default=10_000, min=1)
    max_queue: int = option("--max-queue", help="Maximum number of examples that wait to be learned; further requests get status 429 (default: 50,000).", panel=LIMITS, metavar="N", default=50_000, min=1)
    max_features: int = option("--max-features", help="Maximum number of features of the model (default: 16,777,216).", panel=LIMITS, metavar="N", default=2**24, min=1)
    max_classes: int = option("--max-classes", help="Maximum number of classes of the model (default: 1,000).", panel=LIMITS, metavar="N", default=1000, min=1)
# fmt: on


@command
def serve(options: ServeOptions) -> None:
    """Serve MODEL over HTTP: it predicts, keeps learning, and loses nothing that it acknowledged.

    Examples are in a log on disk before the server acknowledges them, so a server that was killed restarts with the
    same model. The page at / shows the progressive error, and /docs describes the API.
    """
    folder = _folder(options)
    try:
        import perceptrons.serve.server  # noqa: F401
    except ModuleNotFoundError as error:
        raise BadInputError(f"perceptrons serve needs {error.name}: pip install 'perceptrons[serve]'.") from error
    from perceptrons.engine.streaming.locks import alone
    from perceptrons.serve.server import Address

    address = Address(options.host, options.port, _named(options.tls_cert), _named(options.tls_key))
    token = None if options.token_file is None else read_token(options.token_file)
    if token is None and not address.is_local:
        raise BadInputError(
            f"--host {options.host} can be reached from other machines, so the server needs a token: give --token-file."
        )
    with refusing_to_open(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with refusing_data(), alone(folder / "server"):
        if options.repair:
            _repair(_store(folder, options))
        else:
            _run(options, folder, address, token)


def _folder(options: ServeOptions) -> Path:
    if options.data is not None:
        return Path(options.data)
    if options.model is None:
        raise BadInputError("perceptrons serve: give a MODEL, or the folder of a server with --data DIR.")
    return Path(f"{options.model}.served")


def _named(path: Path | None) -> str | None:
    return None if path is None else str(path)


def read_token(path: Path) -> str:
    """The token in a file."""
    with refusing_to_open(path), refusing(UnicodeDecodeError, about=path):
        token = path.read_text().strip()
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise BadInputError(
            f"{path}: a token has at least {SHORTEST_TOKEN} printable characters without blanks, as from "
            "python -c 'import secrets; print(secrets.token_urlsafe())'."
        )
    return token


def _store(folder: Path, options: ServeOptions) -> "Store":
    from perceptrons.serve.store import Store

    return Store(folder, sync=not options.no_sync, keep_bytes=options.keep_log)


def _run(options: ServeOptions, folder: Path, address: Any, token: str | None) -> None:
    from perceptrons.linear import Perceptron
    from perceptrons.serve.requests import Limits
    from perceptrons.serve.server import serve as run
    from perceptrons.serve.service import Service, prepare
    from perceptrons.serve.state import GrowthLimits
    from perceptrons.serve.writer import Writer

    store = _store(folder, options)
    follow, changes = None, given(options, KEPT_LEARNING)
    if changes and (options.follow is not None or (options.model is None and store.snapshots())):
        raise BadInputError(f"{typed(next(iter(changes)))} is for the first start with a MODEL: leave it out.")
    if options.follow is not None:
        of_leader = token if options.leader_token_file is None else read_token(options.leader_token_file)
        follow = options.follow, of_leader
    elif not store.snapshots():
        model = Perceptron() if options.model is None else load_any(options.model, pipelines=True)
        change_learning(model, options, options.model)
        prepare(store, model, options.model, changes)
    elif options.model is not None:
        prepare(store, None, options.model, changes)
    writer = Writer(
        store, GrowthLimits(options.max_features, options.max_classes), options.max_queue, options.snapshot_every
    )
    limits = Limits(body=options.max_body, examples=options.max_examples)

    def announce(url: str) -> None:
        if not options.quiet:
            say(f"Serving {options.model or folder} at {url} (log in {folder}). Ctrl-C ends it.")

    with refusing(OSError, about=f"{options.host}:{options.port}"):
        error = run(Service(store, writer, follow, options.accept_older), address, limits, token, announce)
    if error is not None:
        raise BadInputError(str(error)) from error


def _repair(store: "Store") -> None:
    moved = store.repair()
    for warning in store.warnings:
        say(warning)
    if moved:
        say(
            f"The log was damaged. What cannot be used is now in {moved[0].parent}: {', '.join(p.name for p in moved)}."
        )
    elif not store.warnings:
        say("The log is sound: nothing was changed.")
