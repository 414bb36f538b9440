"""What is on offer? Cards and their listing, read from package definitions and the evidence ledger, never typed.

Nouns: a :class:`~dayzero.catalog.model.Card` shows one package, a :class:`~dayzero.catalog.model.Listing` all of them; each
number on them is a :class:`~dayzero.catalog.model.Measurement` whose figure is shown, gone or absent.
"""
