"""Rules that are true of vLLM alone."""
