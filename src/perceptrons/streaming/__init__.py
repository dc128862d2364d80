"""Learning from more data than fits into memory: blocks read while the model learns, a cache of them, resumed runs."""
