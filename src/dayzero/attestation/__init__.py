"""Who stands behind it? Statements, the envelopes that hold them, and the signatures over both.

This part signs. Verification has its own home, ``dayzero_verify``, which a buyer can read without reading dayzero.
"""
