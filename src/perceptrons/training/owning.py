"""Models in other processes: joblib hands large arrays over as files that can only be read, and learning writes."""

from typing import Any

import numpy as np


class Owning:
    """Unpickled, the object has arrays of its own."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: own(value) for name, value in state.items()})


def own(value: Any) -> Any:
    """Arrays that can be written, whether alone, in a dict or in a tuple; all else as it is."""
    if isinstance(value, np.ndarray) and not value.flags.writeable:
        return np.array(value, order="K")
    if isinstance(value, dict):
        return {key: own(item) for key, item in value.items()} if type(value) is dict else value
    if isinstance(value, tuple):
        items = [own(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value
