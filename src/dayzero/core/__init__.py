"""The nouns that every part shares: pins, hardware, parallelism, quantities, recipe, launch, package, verdict, errors.

Standard library only, no I/O: what exists here is valid, because it was parsed once at the edge.
"""
