"""A spinner that says what is being done, if somebody is watching."""

import sys

from perceptrons.cli.screen import screen


class Waiting:
    """On stderr, while the block runs."""

    def __init__(self, text: str, shown: bool):
        self._status = screen(stderr=True).status(text) if shown and sys.stderr.isatty() else None

    def __enter__(self) -> "Waiting":
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._status is not None:
            self._status.stop()

    def say(self, text: str) -> None:
        if self._status is not None:
            self._status.update(text)
