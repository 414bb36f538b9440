"""Who is asking? Passwords, sessions and API tokens of accounts, and how often somebody may ask.

Nouns: a :class:`~dayzero.identity.model.Session` is a browser that is signed in, a :class:`~dayzero.identity.model.Token` what a
program shows, a :class:`~dayzero.identity.model.Limit` how often something may be tried. None of it is part of the market's books:
these rows change and go away.
"""
