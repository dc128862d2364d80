"""Clusters on the command line: files that the workers of Dask read and learn from. Read `training.py` first."""
