"""Rules that are true of SGLang alone."""
