"""What was asked of a test part, as a digest: the same request again gives the same result, so it is no second use."""

import hashlib
import json
from importlib.metadata import version
from typing import Any

import numpy as np

from perceptrons.selection.seal import row_digests
from perceptrons.selection.splitting import Parts

PACKAGES = ("perceptrons", "numpy", "scikit-learn")  # whose versions may change a result,
VERSIONED = ("perceptrons", "sklearn")  # and whose estimators are the same while these are


class _NotRepeatableError(Exception):
    """Something in the request can give another result the next time."""


def request_digest(parts: Parts, **asked: Any) -> str | None:
    """A digest of the examples to learn from and to choose by, in their order, and of everything else that was asked.

    None if the result may differ from run to run or cannot be compared: a seed of None, a time limit, functions,
    objects that are no estimators, estimators of other libraries.
    """
    try:
        told = _plain(asked)
    except _NotRepeatableError:
        return None
    found = hashlib.sha256(json.dumps([told, [version(name) for name in PACKAGES], parts.how]).encode())
    for part in (parts.train, parts.dev):
        X, y = part.taken()
        found.update(repr([type(X).__name__, str(getattr(X, "dtype", "")), list(getattr(X, "columns", ()))]).encode())
        for digest in row_digests(X, y):
            found.update(digest)
    return found.hexdigest()


def _plain(value: Any, name: str = "") -> Any:
    """The value as JSON knows it, the same for equal ones."""
    if (name == "random_state" and not isinstance(value, int | np.integer)) or (name == "max_seconds" and value):
        raise _NotRepeatableError
    if hasattr(value, "get_params") and not isinstance(value, type):
        if type(value).__module__.partition(".")[0] not in VERSIONED:  # its code may be another by now
            raise _NotRepeatableError
        parameters = {key: _plain(one, key) for key, one in value.get_params(deep=False).items()}
        return [f"{type(value).__module__}.{type(value).__qualname__}", sorted(parameters.items())]
    if isinstance(value, np.ndarray | np.generic):
        return [str(value.dtype), _plain(value.tolist())]
    if isinstance(value, dict):
        pairs = [[json.dumps(_plain(key)), _plain(one, str(key))] for key, one in value.items()]
        return {"pairs": sorted(pairs, key=lambda pair: pair[0])}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise _NotRepeatableError
