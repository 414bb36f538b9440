"""Engines: what is true of one engine only. Each folder is one entry point of the group ``dayzero.engines``."""
