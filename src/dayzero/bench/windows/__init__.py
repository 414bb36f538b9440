"""Does B beat A? Alternating pairs of windows, the instrument certified on A against itself, and a verdict that can say no."""
