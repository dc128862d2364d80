"""One page about a model and its data, in one HTML file. Start with `report`."""
