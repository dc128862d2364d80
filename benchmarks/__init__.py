"""Benchmarks: this library and its peers side by side, in one run, on the same data. `python -m benchmarks linear`."""
