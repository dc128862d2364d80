"""The compiled loops: one file per algorithm family, each function one pass over given examples in a given order."""
