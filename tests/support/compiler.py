"""Compiles what the tests call in a process of its own, for memory.

numba never frees compiled code. A function that it compiles takes some 7 MB for good, one that it loads from its cache
some 1 MB, and the tests call many hundreds. So a process that ends when it is large compiles them into the cache.
"""

import contextlib
import gc
import importlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

LARGE = 800  # MB
ROOT = Path(__file__).parent.parent.parent


def megabytes(which="VmHWM"):
    """Memory of this process: the most it ever had, or "VmRSS", what it has now. 0 where the system does not say."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(which)), 0)


class Compiler:
    """The other process. It is there from the start, since some tests count files and threads."""

    def __init__(self):
        self._process, self._turn, self._owner = None, threading.Lock(), os.getpid()

    def start(self):
        command = [sys.executable, "-m", "tests.support.compiler"]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def stop(self):
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with process:  # closes its pipes
                pass

    def compile(self, function, types):
        """Have a function compiled for arguments of these types. If it cannot be, the caller will find the same."""
        from numba.core.serialize import dumps

        if os.getpid() != self._owner:
            return  # a fork: the pipes are its parent's
        with self._turn:
            try:
                pickle.dump((function.__module__, function.__qualname__, dumps(types)), self._process.stdin)
                self._process.stdin.flush()
                size = pickle.load(self._process.stdout)
            except BaseException:  # such as Ctrl-C: the answer that is still to come would be taken for that of another
                self.stop()
                self.start()
                raise
            if size > LARGE:
                self.stop()
                self.start()


def compile_elsewhere():
    """From now on, another process compiles what this one does not find in the cache. Returns that one."""
    from numba.core.caching import FunctionCache

    compiler, load = Compiler(), FunctionCache.load_overload

    def loaded(self, types, context):
        found = load(self, types, context)
        if found is None:
            compiler.compile(self._py_func, types)
            found = load(self, types, context)
        return found

    FunctionCache.load_overload = loaded
    compiler.start()
    return compiler


def serve(questions, answers):
    """Compile what is asked for, until nobody asks."""
    from numba.core.errors import NumbaError

    while questions.peek(1):
        module, name, types = pickle.load(questions)
        function = getattr(importlib.import_module(module), name, None)  # None: made inside another function
        if function is not None:
            with contextlib.suppress(NumbaError):  # whoever asked will meet it too
                function.compile(pickle.loads(types))
        pickle.dump(megabytes(), answers)
        answers.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asks answers Ctrl-C
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    gc.set_threshold(100_000, 20, 100)  # compiling makes many objects that live long: looked through less often
    serve(sys.stdin.buffer, answers)
