"""The tables of money, of what it bought, and of the chains over all of it."""

from sqlalchemy import Column, Index, PrimaryKeyConstraint, Table, Text

from dayzero.adapters.market_store.columns import (
    HEX,
    METADATA,
    UtcNow,
    check,
    filled,
    refers,
    small,
    text,
    unique,
    whole,
)

# PostgreSQL reads a check's rule again for every statement, so that its length is its price: this one is a list of words. The kinds
# of the two sides are the ledger's own, so that no other three words run together into one of these.
_SIDES = (
    "kind || debit_kind || credit_kind IN ('grantgrantswallet', 'depositclearingwallet',"
    " 'salewalletrevenue', 'saleclearingrevenue', 'refundrevenuewallet', 'refundrevenueclearing')"
)

# One debit, one credit, one amount: balanced by construction. A refund goes exactly the way back.
Table(
    "transfer",
    METADATA,
    text("id"),
    text("kind"),
    text("account_id"),
    text("order_id", null=True),
    text("reverses_id", null=True),
    text("debit_id"),
    text("debit_kind"),
    text("debit_owner"),
    text("credit_id"),
    text("credit_kind"),
    text("credit_owner"),
    whole("amount_minor"),
    text("currency"),
    text("idem_key", null=True),
    text("reason"),
    text("at"),
    PrimaryKeyConstraint("id", name="transfer_pk"),
    unique("transfer", "order_id"),
    unique("transfer", "idem_key"),
    unique("transfer", "id order_id"),
    unique("transfer", "reverses_id id"),
    unique("transfer", "account_id id debit_id credit_id currency"),
    refers(
        "transfer_debit",
        "debit_id debit_kind debit_owner currency",
        "ledger_account",
        "id kind owner_id currency",
    ),
    refers(
        "transfer_credit",
        "credit_id credit_kind credit_owner currency",
        "ledger_account",
        "id kind owner_id currency",
    ),
    refers(
        "transfer_order",
        "order_id account_id amount_minor currency",
        "orders",
        "id account_id amount_minor currency",
    ),
    refers(
        "transfer_reverses",
        "reverses_id account_id credit_id debit_id currency",
        "transfer",
        "id account_id debit_id credit_id currency",
    ),
    check("transfer_amount", "amount_minor > 0"),
    check("transfer_sides", _SIDES),
    check("transfer_debit_owner", "debit_kind <> 'wallet' OR debit_owner = account_id"),
    check("transfer_credit_owner", "credit_kind <> 'wallet' OR credit_owner = account_id"),
    check("transfer_of_order", "(kind = 'sale') = (order_id IS NOT NULL)"),
    check("transfer_of_reversal", "(kind = 'refund') = (reverses_id IS NOT NULL)"),
    check("transfer_key", "coalesce(order_id, idem_key) IS NOT NULL"),
)

# A right to use is that of its order: one reference holds it to the version, the signature and the terms, or to there being none.
Table(
    "entitlement",
    METADATA,
    text("id"),
    text("order_id"),
    text("account_id"),
    text("product_id"),
    text("version_id"),
    small("requires_signature"),
    text("signature_id", null=True),
    text("terms_id", null=True),
    text("transfer_id"),
    text("granted_at"),
    filled("signature_key", "signature_id"),
    filled("terms_key", "terms_id"),
    PrimaryKeyConstraint("id", name="entitlement_pk"),
    unique("entitlement", "order_id"),
    unique("entitlement", "account_id product_id id version_id"),
    unique("entitlement", "id account_id transfer_id"),
    refers(
        "entitlement_order",
        "order_id account_id product_id version_id requires_signature signature_key terms_key",
        "orders",
        "id account_id product_id version_key requires_signature signature_key terms_key",
    ),
    refers("entitlement_payment", "transfer_id order_id", "transfer", "id order_id"),
    check("entitlement_version", "version_id <> ''"),
)

Table(
    "subscription",
    METADATA,
    text("id"),
    text("order_id"),
    text("account_id"),
    text("product_id"),
    text("kind"),
    small("requires_signature"),
    text("signature_id", null=True),
    text("terms_id", null=True),
    text("transfer_id"),
    text("starts_at"),
    text("ends_at"),
    filled("version_key", "NULL"),  # maintenance is of no version
    filled("signature_key", "signature_id"),
    filled("terms_key", "terms_id"),
    PrimaryKeyConstraint("id", name="subscription_pk"),
    unique("subscription", "order_id"),
    unique("subscription", "account_id product_id id"),
    unique("subscription", "id account_id transfer_id"),
    refers(
        "subscription_order",
        "order_id account_id product_id version_key requires_signature signature_key terms_key",
        "orders",
        "id account_id product_id version_key requires_signature signature_key terms_key",
    ),
    refers("subscription_payment", "transfer_id order_id", "transfer", "id order_id"),
    check("subscription_kind", "kind = 'maintenance'"),
    check("subscription_window", "ends_at > starts_at"),
)

# Taking back a right to use is said here, and only here; what became of a package's claims is said in the evidence ledger.
Table(
    "revocation",
    METADATA,
    text("id"),
    text("account_id"),
    text("entitlement_id", null=True),
    text("subscription_id", null=True),
    text("reason"),
    text("note"),
    text("sale_id", null=True),
    text("refund_id", null=True),
    text("at"),
    PrimaryKeyConstraint("id", name="revocation_pk"),
    unique("revocation", "entitlement_id"),
    unique("revocation", "subscription_id"),
    unique("revocation", "refund_id"),
    refers(
        "revocation_entitlement",
        "entitlement_id account_id sale_id",
        "entitlement",
        "id account_id transfer_id",
    ),
    refers(
        "revocation_subscription",
        "subscription_id account_id sale_id",
        "subscription",
        "id account_id transfer_id",
    ),
    refers("revocation_refund", "refund_id sale_id", "transfer", "id reverses_id"),
    check("revocation_one", "(entitlement_id IS NULL) <> (subscription_id IS NULL)"),
    check("revocation_sale", "sale_id IS NOT NULL"),
    check("revocation_reason", "reason IN ('refund', 'breach', 'chargeback', 'mistake')"),
    check("revocation_refunded", "(reason = 'refund') = (refund_id IS NOT NULL)"),
)

# Money that arrives later: the order waits with a row here, and what came of it stands in ``settlement``.
Table(
    "payment",
    METADATA,
    text("order_id"),
    text("account_id"),
    text("provider"),
    whole("amount_minor"),
    text("currency"),
    text("at"),
    PrimaryKeyConstraint("order_id", name="payment_pk"),
    refers(
        "payment_order",
        "order_id account_id amount_minor currency",
        "orders",
        "id account_id amount_minor currency",
    ),
    check("payment_provider", "provider <> '' AND provider <> 'credit'"),
)

Table(
    "payment_session",
    METADATA,
    text("order_id"),
    text("reference"),
    text("url"),
    text("at"),
    PrimaryKeyConstraint("order_id", name="payment_session_pk"),
    refers("payment_session_of", "order_id", "payment", "order_id"),
)

Table(
    "settlement",
    METADATA,
    text("order_id"),
    text("outcome"),
    text("provider"),
    text("event_id"),
    text("transfer_id", null=True),
    text("at"),
    PrimaryKeyConstraint("order_id", "outcome", name="settlement_pk"),
    refers("settlement_of", "order_id", "payment", "order_id"),
    refers("settlement_event", "provider event_id", "provider_event", "provider event_id"),
    refers("settlement_transfer", "transfer_id order_id", "transfer", "id order_id"),
    check("settlement_outcome", "outcome IN ('post', 'void')"),
    check("settlement_posted", "(outcome = 'post') = (transfer_id IS NOT NULL)"),
)

# What a provider said, once an event; an event may be about an order that nobody placed here.
Table(
    "provider_event",
    METADATA,
    text("provider"),
    text("event_id"),
    text("kind"),
    text("order_id"),
    text("payment_ref"),
    whole("amount_minor"),
    text("currency"),
    text("body"),
    text("received_at"),
    PrimaryKeyConstraint("provider", "event_id", name="provider_event_pk"),
    Index("provider_event_of_order", "order_id"),
    Index("provider_event_of_payment", "payment_ref"),
    check("provider_event_kind", "kind IN ('paid', 'cancelled', 'refunded', 'disputed', 'other')"),
)

Table(
    "download",
    METADATA,
    text("id"),
    text("account_id"),
    text("product_id"),
    text("version_id"),
    text("kit_sha256"),
    text("entitlement_id"),
    text("entitled_version_id"),
    text("subscription_id", null=True),
    text("at"),
    PrimaryKeyConstraint("id", name="download_pk"),
    Index("download_of_account", "account_id"),
    refers(
        "download_kit",
        "version_id product_id kit_sha256",
        "package_version",
        "id product_id kit_sha256",
    ),
    refers(
        "download_entitlement",
        "entitlement_id account_id product_id entitled_version_id",
        "entitlement",
        "id account_id product_id version_id",
    ),
    refers(
        "download_subscription",
        "subscription_id account_id product_id",
        "subscription",
        "id account_id product_id",
    ),
    check("download_granted", "version_id = entitled_version_id OR subscription_id IS NOT NULL"),
)

# What was recorded, as the bytes that were hashed: one chain an account, so that no two buyers wait for each other.
Table(
    "journal",
    METADATA,
    text("account_id"),
    whole("seq"),
    whole("prev_seq", null=True),
    text("kind"),
    text("body"),
    text("prev_hash"),
    text("hash"),
    Column("recorded_at", Text, nullable=False, server_default=UtcNow()),
    PrimaryKeyConstraint("account_id", "seq", name="journal_pk"),
    unique("journal", "account_id seq hash"),
    refers("journal_prev", "account_id prev_seq prev_hash", "journal", "account_id seq hash"),
    check("journal_hash", HEX.format("hash")),
    check("journal_order", "seq = coalesce(prev_seq, 0) + 1 AND (prev_seq IS NOT NULL OR prev_hash = '')"),
)

# The heads of the chains that grew, now and then, as one chain; its newest hash is signed and kept outside.
Table(
    "block",
    METADATA,
    whole("seq"),
    whole("prev_seq", null=True),
    text("body"),
    text("prev_hash"),
    text("hash"),
    PrimaryKeyConstraint("seq", name="block_pk"),
    unique("block", "seq hash"),
    refers("block_prev", "prev_seq prev_hash", "block", "seq hash"),
    check("block_hash", HEX.format("hash")),
    check(
        "block_order",
        "(seq = 1 AND prev_seq IS NULL AND prev_hash = '') OR (seq > 1 AND prev_seq IS NOT NULL AND prev_seq = seq - 1)",
    ),
)
