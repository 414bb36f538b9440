"""Can a stranger check it? Everything that serves a package but the weights, in one archive with one form, and what is signed.

The archive's format and every check of it live in ``dayzero_verify``; here it is filled, described and explained.
"""
