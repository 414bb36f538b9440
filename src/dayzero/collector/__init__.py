"""The process that measures: runs in the engine's own Python, with the standard library and what the lane itself needs."""
