"""Training on more data than fits into memory: blocks, a cache, and resumed runs."""
