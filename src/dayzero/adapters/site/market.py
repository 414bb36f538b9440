"""Render the pages of the market in the look of the catalog."""

from datetime import UTC, datetime
from typing import Final

from dayzero.adapters.site.environment import templates
from dayzero.adapters.site.place import At, Site, up

_WITHOUT_CENTS: Final = ("CLP", "ISK", "JPY", "KRW", "PYG", "UGX", "VND", "XAF", "XOF", "XPF")
_THOUSANDTHS: Final = ("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND")
_MARKET: Final = frozenset({"market", "offer", "licence", "confirm"})


def render_market(site: Site, page: str, path: str, **values: object) -> bytes:
    """Render one page of the market.

    Args:
        site: What all pages have in common.
        page: Which: the name of its template without ``market_``.
        path: Where it stands, without ``/`` at its beginning.
        values: What it shows.
    """
    shown = {"money": money, "moment": moment, **values}
    current = "market" if page in _MARKET else "account"
    template = templates().get_template(f"market_{page}.html.j2")
    return template.render(at=At(site, up(path)), current=current, **shown).encode()


def money(amount_minor: int, currency: str) -> str:
    """Write an amount of minor units as people do: ``9,000.00 EUR`` (ISO 4217 says how many digits stand behind the point)."""
    digits = 0 if currency in _WITHOUT_CENTS else 3 if currency in _THOUSANDTHS else 2
    whole, rest = divmod(amount_minor, 10**digits)
    return f"{whole:,}.{rest:0{digits}} {currency}" if digits else f"{whole:,} {currency}"


def moment(second: int) -> str:
    """Write a second since 1970 as the market writes times."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
