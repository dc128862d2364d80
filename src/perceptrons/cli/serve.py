"""`perceptrons serve`: a model that answers over HTTP and learns while it answers."""

from pathlib import Path
from typing import TYPE_CHECKING

from perceptrons.cli.files import load_any, refusing, refusing_data, refusing_to_open
from perceptrons.cli.messages import BadInputError, say
from perceptrons.cli.models import change_learning
from perceptrons.cli.options import KEPT_LEARNING, ServeOptions, given, typed

if TYPE_CHECKING:
    from perceptrons.serve.server import Address
    from perceptrons.serve.store import Store

SHORTEST_TOKEN = 16


def serve(options: ServeOptions) -> None:
    """Run `perceptrons serve`."""
    if options.data is None and options.model is None:
        raise BadInputError("perceptrons serve: give a MODEL, or the folder of a server with --data DIR.")
    folder = Path(f"{options.model}.served") if options.data is None else options.data
    try:
        import perceptrons.serve.server  # noqa: F401
    except ModuleNotFoundError as error:
        raise BadInputError(f"perceptrons serve needs {error.name}: pip install 'perceptrons[serve]'.") from error
    from perceptrons.engine.streaming.locks import alone
    from perceptrons.serve.server import Address
    from perceptrons.serve.store import Store

    tls_files = (None if path is None else str(path) for path in (options.tls_cert, options.tls_key))
    address = Address(options.host, options.port, *tls_files)
    token = None if options.token_file is None else read_token(options.token_file)
    if token is None and not address.is_local:
        raise BadInputError(
            f"--host {options.host} can be reached from other machines, so the server needs a token: give --token-file."
        )
    with refusing_to_open(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with refusing_data(), alone(folder / "server"):
        store = Store(folder, sync=not options.no_sync, keep_bytes=options.keep_log)
        if options.repair:
            _repair(store)
        else:
            _run(options, store, address, token)


def read_token(path: Path) -> str:
    """Return the token in a file; refuse one that can be guessed."""
    with refusing_to_open(path), refusing(UnicodeDecodeError, about=path):
        token = path.read_text().strip()
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise BadInputError(
            f"{path}: a token has at least {SHORTEST_TOKEN} printable characters without blanks, as from "
            "python -c 'import secrets; print(secrets.token_urlsafe())'."
        )
    return token


def _run(options: ServeOptions, store: "Store", address: "Address", token: str | None) -> None:
    from perceptrons.linear import Perceptron
    from perceptrons.serve.requests import Limits
    from perceptrons.serve.server import serve as run
    from perceptrons.serve.service import Service, prepare
    from perceptrons.serve.state import GrowthLimits
    from perceptrons.serve.writer import Writer

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
            say(f"Serving {options.model or store.folder} at {url} (log in {store.folder}). Ctrl-C ends it.")

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
