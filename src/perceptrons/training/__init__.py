"""From checked input to trained weights: `inputs`, `labels`, `weights`, `learning` (one call of a pass), `epochs`."""
