"""The command that was given, as text: to be suggested again, with something changed."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def command(data: Sequence[Path], asked: Mapping[str, Any], without: Sequence[str] = ()) -> str:
    """`perceptrons train` on these data with the options that were given, by the names of their parameters."""
    words = ["perceptrons", "train", *map(str, data)]
    for name, value in asked.items():
        if value is None or value is False or name in without:
            continue
        option = f"--{name.replace('_', '-')}"
        for one in value if isinstance(value, list) else [value]:
            words += [option] if one is True else [option, str(one)]
    return shlex.join(words)
