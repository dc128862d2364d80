"""Data as streams on the command line: files of any size, pipes, text. Read `options.py` and `training.py` first."""
