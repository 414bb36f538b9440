"""What is on offer? Packages in all their versions, read from definitions, the release log and the evidence ledger, never typed.

Nouns: a :class:`~dayzero.catalog.model.Card` shows one definition, and each number on it is a
:class:`~dayzero.catalog.model.Measurement` whose figure is shown, gone or absent. An
:class:`~dayzero.catalog.edition.Edition` is one version with what was published of it, an
:class:`~dayzero.catalog.edition.Entry` a package with its versions, a :class:`~dayzero.catalog.edition.Catalog` all of them.
"""
