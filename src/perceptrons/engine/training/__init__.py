"""From checked input to trained weights. Start with `epochs` (the loop), `one_pass` (a call of a pass) and `base`."""
