"""vLLM: what its wheel says about itself, how it is started, what memory its CPU build takes, and how its endpoint speaks."""
