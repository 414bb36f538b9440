"""Which rows of one build still hold on another one? Only those whose kernel is shown to be the same."""
