"""`perceptrons serve`: a model that answers over HTTP and learns while it answers."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from perceptrons.cli.errors import BadInputError, refusing, refusing_data, refusing_to_open
from perceptrons.cli.files import load_any
from perceptrons.cli.options import takes
from perceptrons.cli.screen import say

if TYPE_CHECKING:
    from perceptrons.serve.store import Store

SHORTEST_TOKEN = 16


@takes(
    "model:served", "data:folder", "host", "port", "token_file", "tls_cert", "tls_key", "follow", "leader_token_file",
    "accept_older", "no_sync", "snapshot_every", "keep_log", "repair", "max_body", "max_examples:request", "max_queue",
    "max_features", "max_classes", "quiet",
)  # fmt: skip
def serve(asked: Any) -> None:
    """Serve MODEL over HTTP: it predicts, keeps learning, and loses nothing that it acknowledged.

    Examples are in a log on disk before the server acknowledges them, so a server that was killed restarts with the
    same model. The page at / shows the progressive error, and /docs describes the API.
    """
    folder = _folder(asked)
    try:
        import perceptrons.serve.server  # noqa: F401
    except ModuleNotFoundError as error:
        raise BadInputError(f"perceptrons serve needs {error.name}: pip install 'perceptrons[serve]'.") from error
    from perceptrons.engine.streaming.locks import alone
    from perceptrons.serve.server import Address

    address = Address(asked.host, asked.port, _named(asked.tls_cert), _named(asked.tls_key))
    token = None if asked.token_file is None else read_token(asked.token_file)
    if token is None and not address.is_local:
        raise BadInputError(
            f"--host {asked.host} can be reached from other machines, so the server needs a token: give --token-file."
        )
    with refusing_to_open(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with refusing_data(), alone(folder / "server"):
        if asked.repair:
            _repair(_store(folder, asked))
        else:
            _run(asked, folder, address, token)


def _folder(asked: Any) -> Path:
    if asked.data is not None:
        return Path(asked.data)
    if asked.model is None:
        raise BadInputError("perceptrons serve: give a MODEL, or the folder of a server with --data DIR.")
    return Path(f"{asked.model}.served")


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


def _store(folder: Path, asked: Any) -> "Store":
    from perceptrons.serve.store import Store

    return Store(folder, sync=not asked.no_sync, keep_bytes=asked.keep_log)


def _run(asked: Any, folder: Path, address: Any, token: str | None) -> None:
    from perceptrons.linear import Perceptron
    from perceptrons.serve.requests import Limits
    from perceptrons.serve.server import serve as run
    from perceptrons.serve.service import Service, prepare
    from perceptrons.serve.state import GrowthLimits
    from perceptrons.serve.writer import Writer

    store = _store(folder, asked)
    follow = None
    if asked.follow is not None:
        of_leader = token if asked.leader_token_file is None else read_token(asked.leader_token_file)
        follow = asked.follow, of_leader
    elif not store.snapshots():
        model = Perceptron() if asked.model is None else load_any(asked.model, pipelines=True)
        prepare(store, model, asked.model)
    elif asked.model is not None:
        prepare(store, None, asked.model)
    writer = Writer(store, GrowthLimits(asked.max_features, asked.max_classes), asked.max_queue, asked.snapshot_every)
    limits = Limits(body=asked.max_body, examples=asked.max_examples)

    def said(url: str) -> None:
        if not asked.quiet:
            say(f"Serving {asked.model or folder} at {url} (log in {folder}). Ctrl-C ends it.")

    with refusing(OSError, about=f"{asked.host}:{asked.port}"):
        error = run(Service(store, writer, follow, asked.accept_older), address, limits, token, said)
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
