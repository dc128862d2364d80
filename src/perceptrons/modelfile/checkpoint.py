"""Checkpoints: the model and its position in the data, saved at intervals, so that a killed run can be resumed."""

import os
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from perceptrons.engine.streaming.locks import alone
from perceptrons.linear import Perceptron
from perceptrons.modelfile import ModelFileError, as_bytes, load_with_header
from perceptrons.modelfile.whole_files import write_whole
from perceptrons.sequence import SequencePerceptron

MAY_DIFFER = frozenset({"verbose", "n_jobs", "max_seconds", "warm_start", "max_iter", "tol"})  # in a resumed run


class Checkpoint:
    """A checkpoint file: where `fit_stream` and `perceptrons.distributed.fit` save their state, and how often.

    A checkpoint is a model file: `perceptrons.load` reads it. The previous one is kept as PATH.before, and is used if
    the last one is truncated or damaged.

    Parameters
    ----------
    path : path
    every : float, default=60.0
        The number of seconds between two checkpoints; one is also written at the end of training.
    resume : bool, default=False
        Whether to resume from the checkpoint, if it exists: the result is as if the run had never stopped. Otherwise an
        existing file is an error, so that no run is lost by mistake.

    Attributes
    ----------
    complaints : list of str
        The errors of checkpoints that could not be used.
    resumed : bool
        Whether the run was resumed from a checkpoint.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from perceptrons import Checkpoint, Perceptron
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.checkpoint"
    >>> blocks = [([[0.0], [1.0]], ["no", "yes"])]
    >>> _ = Perceptron().fit_stream(blocks, epochs=2, checkpoint=Checkpoint(path))
    >>> longer = Perceptron().fit_stream(blocks, epochs=9, checkpoint=Checkpoint(path, resume=True))
    >>> longer.n_iter_, longer.stop_reason_
    (8, 'converged')
    """

    def __init__(self, path: str | os.PathLike[str], every: float = 60.0, resume: bool = False):
        if not isinstance(every, int | float) or not every >= 0:
            raise ValueError(f"every={every!r}: give a number of seconds that is not negative.")
        self.path, self.every, self.resume = Path(os.path.realpath(os.fsdecode(path))), float(every), resume
        self.before = self.path.with_name(self.path.name + ".before")
        self.complaints: list[str] = []
        self.resumed = False
        self._last = time.monotonic()

    def alone(self) -> AbstractContextManager[None]:
        """Lock the checkpoint for a `with` block. Raise OSError if another run writes to it."""
        return alone(self.path)

    def begin(self, model: Any) -> dict[str, Any] | None:
        """Restore the model and return the position in the data, if there is a checkpoint to resume from."""
        if type(model) not in (Perceptron, SequencePerceptron):
            raise TypeError(
                f"Checkpoints are for a Perceptron or a SequencePerceptron, not for a {type(model).__name__}."
            )
        self._last = time.monotonic()
        if not self.path.parent.is_dir():
            raise FileNotFoundError(2, "the folder does not exist: create it first", str(self.path.parent))
        existing = [path for path in (self.path, self.before) if path.exists()]
        if not self.resume and existing:
            raise FileExistsError(
                17,
                "the checkpoint already exists: resume from it (resume=True, --resume), or remove it",
                str(existing[0]),
            )
        for path in existing:
            try:
                loaded, header = load_with_header(path)
            except ModelFileError as error:
                self.complaints.append(str(error))
                continue
            if not isinstance(header.get("place"), dict):
                raise ModelFileError(
                    f"{path}: this is a model file, not a checkpoint, so training cannot resume from it."
                )
            if type(loaded) is not type(model):
                raise ModelFileError(
                    f"{path}: this is a checkpoint of a {type(loaded).__name__}: resume with a model of that class."
                )
            self._compare(model, loaded, path)
            model.__dict__.update(
                {name: value for name, value in vars(loaded).items() if name not in model.get_params()}
            )
            self.resumed = True
            return header["place"] | {"path": str(path)}
        if self.complaints:
            raise ModelFileError(f"No checkpoint is valid: {' '.join(self.complaints)}")
        return None

    def due(self) -> bool:
        """Return whether it is time for another checkpoint."""
        return time.monotonic() - self._last >= self.every

    def write(self, model: Any, place: dict[str, Any]) -> None:
        """Write the model and its position in the data. The last checkpoint becomes the one before."""
        content = as_bytes(model, place)
        try:
            write_whole(self.path, content, self.before)
        except OSError as error:
            raise OSError(error.errno, f"{error.strerror}: the last checkpoint is intact", str(self.path)) from error
        self._last = time.monotonic()

    def _compare(self, model: Any, loaded: Any, path: Path) -> None:
        """Raise ValueError if the resumed run would differ from the first one."""
        saved = loaded.get_params()
        for name, value in model.get_params().items():
            if hasattr(value, "get_params"):
                continue  # its own parameters are among these
            is_same = repr(_listed(saved[name])) == repr(_listed(value))
            if not is_same and name not in MAY_DIFFER and not (name == "random_state" and not isinstance(value, int)):
                raise ValueError(
                    f"{path}: this run was started with {name}={saved[name]!r}, but it is now {value!r}: use the "
                    "same value, or start again."
                )


def _listed(value: object) -> object:
    """Return a tuple as a list, as files have it."""
    return list(value) if isinstance(value, tuple) else value
