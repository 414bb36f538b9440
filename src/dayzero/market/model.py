"""What the market records and answers. Money is whole minor units; times are UTC, RFC 3339, to the second."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Value: TypeAlias = str | int | None
"""What stands in a column."""

Values: TypeAlias = Mapping[str, Value]
"""A row, by column."""

HOUSE = "house"
"""The account of whoever runs the market: it owns the offer, the revenue and the books of the providers."""

CREDIT = "credit"
"""The provider of money that is there already: the buyer's wallet."""

AFFIRMATION_KINDS = ("redistribution", "resale", "traceability", "upstream-licence")
"""What a buyer affirms under the terms that come with dayzero; other terms may ask for others, in their own order."""

KEYS: Mapping[str, tuple[str, ...]] = {
    "account": ("id",),
    "ledger_account": ("id",),
    "product": ("id",),
    "package_version": ("id",),
    "version_notice": ("id",),
    "terms": ("id",),
    "terms_affirmation": ("terms_id", "ord"),
    "signature_policy": ("id",),
    "price_tier": ("id",),
    "tier_withdrawal": ("tier_id",),
    "signature": ("id",),
    "orders": ("id",),
    "transfer": ("id",),
    "entitlement": ("id",),
    "subscription": ("id",),
    "revocation": ("id",),
    "payment": ("order_id",),
    "payment_session": ("order_id",),
    "settlement": ("order_id", "outcome"),
    "provider_event": ("provider", "event_id"),
    "download": ("id",),
}
"""Every table that the journal covers, and what names a row of it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row to be appended."""

    table: str
    values: Values

    @property
    def name(self) -> str:
        """What names it: the table and its key."""
        return row_name(self.table, self.values)


def row_name(table: str, values: Values) -> str:
    """Name a row by its table and key."""
    return f"{table} {'/'.join(str(values[column]) for column in KEYS[table])}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """What one transaction appends, and to whose chain.

    Attributes:
        account: Id of the account whose chain grows.
        kind: What happened, in one word.
        at: When.
        rows: What is appended, each after those that it refers to.
    """

    account: str
    kind: str
    at: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signing:
    """A licence as the buyer signs it.

    Attributes:
        terms_sha256: Digest of the terms text that was read.
        entity: The licensed entity.
        signer: Who signs.
        authority: By what authority the signer binds the entity.
        affirmations: Digest of each affirmation that was made, in the order of the terms.
    """

    terms_sha256: str
    entity: str
    signer: str
    authority: str
    affirmations: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase:
    """A request to buy.

    Attributes:
        account_id: Who buys.
        key: Idempotency key of the request, chosen by the buyer's client and kept before it is sent.
        tier_id: What, at which price.
        provider: Where the money comes from: :data:`CREDIT`, or a payment provider's name.
        signing: The licence, where the tier demands one.
    """

    account_id: str
    key: str
    tier_id: str
    provider: str = CREDIT
    signing: Signing | None = None


OrderState: TypeAlias = Literal["pending", "paid", "void", "refunded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An order and what came of it.

    Attributes:
        id: Its id.
        account_id: Who ordered.
        tier_id: What, at which price.
        amount_minor, currency: The price.
        provider: Where the money comes from.
        state: ``pending`` until the money is there; ``void`` where the provider gave up; ``refunded`` where all of it went back.
        entitlement_id: The right to the version, ``""`` before the money is there or where maintenance was bought.
        subscription_id: The maintenance, ``""`` likewise.
        replayed: True where the request was known already and nothing new was done.
    """

    id: str
    account_id: str
    tier_id: str
    amount_minor: int
    currency: str
    provider: str
    state: OrderState
    entitlement_id: str
    subscription_id: str
    replayed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """The right to download a version, and what it rests on.

    Attributes:
        version: The row of the version.
        entitlement: The row of the entitlement: to this version, or to the one whose maintenance brings it.
        subscription_id: The maintenance that brings it, ``""`` where the version itself was bought.
    """

    version: Values
    entitlement: Values
    subscription_id: str


@dataclass(frozen=True, slots=True)
class Denied:
    """No right to download, and why."""

    why: str


Access: TypeAlias = Allowed | Denied

EventKind: TypeAlias = Literal["paid", "cancelled", "refunded", "disputed", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What a payment provider says, once its signature was checked.

    Attributes:
        provider: Who says it.
        id: The provider's name for this event; a repeated delivery has the same.
        kind: ``refunded`` states the total of refunds so far, ``disputed`` what the dispute took, the others the payment's amount.
        order_id: About which order, ``""`` where it names none.
        payment: The provider's name for the payment, so that two events about one payment are one payment.
        regained: The payment whose money came back to the house with this one, after a dispute was won; ``""`` for any other.
        amount_minor, currency: How much.
        body: The body as it came.
    """

    provider: str
    id: str
    kind: EventKind
    order_id: str
    payment: str
    amount_minor: int
    currency: str
    body: str
    regained: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Where a buyer pays.

    Attributes:
        reference: The provider's name for it.
        url: The provider's page.
    """

    reference: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that the audit found.

    Attributes:
        kind: Which rule was broken.
        where: The first row, journal entry or block that shows it.
        reason: How.
    """

    kind: str
    where: str
    reason: str
