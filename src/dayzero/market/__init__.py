"""Who may use it? Licences, orders, money and entitlements, each recorded once and never changed.

Nouns: a :class:`~dayzero.market.model.Deed` is what one transaction appends, a :class:`~dayzero.market.model.Signing` the licence
as it is signed, an :class:`~dayzero.market.model.Order` what was asked for, an :class:`~dayzero.market.model.Allowed` the right to
download, with what it rests on.
"""
