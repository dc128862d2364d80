"""Feeds the readers of `perceptrons.data` with bytes that nobody would write, as long as you like.

    pip install atheris
    python -m tools.fuzz_readers -runs=100000 [FOLDER_OF_FINDINGS]

The first byte chooses the format, the second where pieces are cut, the third how bad records, labels and columns are
treated; the rest is the file. A reader may raise DataFileError, and nothing else; what it reads is finite, and the same
when it is read again. NUMBA_DISABLE_JIT=1 shows the fuzzer the branches within compiled loops: slow, but it finds its
way into them; then run it without, on the same folder.
"""

import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import atheris

if os.environ.get("NUMBA_DISABLE_JIT") != "1":  # numba cannot compile what atheris has instrumented
    for module in iter_modules(import_module("perceptrons.engine.scan").__path__, "perceptrons.engine.scan."):
        import_module(module.name)
    for name in ("csv", "svmlight", "vw", "text"):
        import_module(f"perceptrons.data.{name}")

with atheris.instrument_imports(include=["perceptrons"]):
    from tools.reading import in_one_thread, try_bytes

    for name in ("svmlight", "vw", "text", "table_reader"):
        import_module(f"perceptrons.data.{name}")

FILE = Path(tempfile.mkdtemp()) / "input"

if __name__ == "__main__":
    in_one_thread()
    atheris.Setup(sys.argv, lambda data: try_bytes(FILE, data))
    atheris.Fuzz()
