"""The recipe and the comparison: split, tune on development data, test once. Start with `recipe`."""
