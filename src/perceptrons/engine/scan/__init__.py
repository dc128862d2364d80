"""Compiled loops over bytes: files and texts on their way to rows. Start with `words.py`."""
