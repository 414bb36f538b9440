"""Extractors: a raw file format to a value. Each file is one entry point of ``dayzero.evidence_extractors``."""
