"""Measure cases in processes of the engine's Python, and keep what they say."""
