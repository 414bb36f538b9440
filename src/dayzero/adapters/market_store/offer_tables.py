"""The tables of who is here, what is on offer, what was signed and what was ordered.

Foreign keys and checks say what cannot be; no trigger is needed for a signature or a payment. Every table is append-only but
``balance``, which triggers keep. Money is whole minor units. Times are UTC text, RFC 3339.
"""

from sqlalchemy import PrimaryKeyConstraint, Table

from dayzero.adapters.market_store.columns import HEX, METADATA, SAID, check, filled, refers, small, text, unique, whole

Table(
    "account",
    METADATA,
    text("id"),
    text("name"),
    text("created_at"),
    PrimaryKeyConstraint("id", name="account_pk"),
    unique("account", "name"),
    check("account_named", SAID.format("name")),
)

Table(
    "ledger_account",
    METADATA,
    text("id"),
    text("owner_id"),
    text("kind"),
    text("provider"),
    text("currency"),
    text("opened_at"),
    PrimaryKeyConstraint("id", name="ledger_account_pk"),
    unique("ledger_account", "owner_id kind provider currency"),
    unique("ledger_account", "id kind owner_id currency"),
    refers("ledger_account_owner", "owner_id", "account", "id"),
    check("ledger_account_kind", "kind IN ('wallet', 'revenue', 'grants', 'clearing')"),
    check("ledger_account_house", "(kind = 'wallet') = (owner_id <> 'house')"),
    check("ledger_account_provider", "(kind = 'clearing') = (provider <> '')"),
    check("ledger_account_currency", "length(currency) = 3 AND currency = upper(currency)"),
)

Table(
    "balance",
    METADATA,
    text("ledger_account_id"),
    whole("amount_minor"),
    PrimaryKeyConstraint("ledger_account_id", name="balance_pk"),
    refers("balance_of", "ledger_account_id", "ledger_account", "id"),
    check("balance_not_negative", "amount_minor >= 0"),
)

Table(
    "product",
    METADATA,
    text("id"),
    text("name"),
    text("title"),
    text("created_at"),
    PrimaryKeyConstraint("id", name="product_pk"),
    unique("product", "name"),
    check("product_named", SAID.format("name")),
)

Table(
    "package_version",
    METADATA,
    text("id"),
    text("product_id"),
    text("version"),
    text("definition_sha256"),
    text("kit_sha256"),
    text("published_at"),
    PrimaryKeyConstraint("id", name="package_version_pk"),
    unique("package_version", "product_id version"),
    unique("package_version", "id product_id"),
    unique("package_version", "id product_id kit_sha256"),
    refers("package_version_product", "product_id", "product", "id"),
    check("package_version_definition", HEX.format("definition_sha256")),
    check("package_version_kit", HEX.format("kit_sha256")),
)

Table(
    "version_notice",
    METADATA,
    text("id"),
    text("version_id"),
    text("kind"),
    text("body"),
    text("at"),
    PrimaryKeyConstraint("id", name="version_notice_pk"),
    refers("version_notice_version", "version_id", "package_version", "id"),
    check("version_notice_kind", "kind IN ('yanked', 'claim-retracted')"),
)

Table(
    "terms",
    METADATA,
    text("id"),
    text("title"),
    text("body"),
    text("sha256"),
    small("n_affirmations"),
    text("published_at"),
    text("affirmations"),
    PrimaryKeyConstraint("id", name="terms_pk"),
    unique("terms", "id sha256 affirmations"),
    unique("terms", "id n_affirmations affirmations"),
    check("terms_hash", HEX.format("sha256")),
    check("terms_affirmed", "n_affirmations >= 1"),
    check("terms_listed", "length(affirmations) = 65 * n_affirmations - 1"),
    check("terms_said", SAID.format("body")),
)

Table(
    "terms_affirmation",
    METADATA,
    text("terms_id"),
    small("ord"),
    small("n_affirmations"),
    text("kind"),
    text("body"),
    text("sha256"),
    text("affirmations"),
    PrimaryKeyConstraint("terms_id", "ord", name="terms_affirmation_pk"),
    refers(
        "terms_affirmation_terms",
        "terms_id n_affirmations affirmations",
        "terms",
        "id n_affirmations affirmations",
    ),
    check("terms_affirmation_ord", "ord >= 1 AND ord <= n_affirmations"),
    check("terms_affirmation_listed", "substr(affirmations, 65 * ord - 64, 64) = sha256"),
    check("terms_affirmation_hash", HEX.format("sha256")),
)

Table(
    "signature_policy",
    METADATA,
    text("id"),
    text("currency"),
    whole("threshold_minor"),
    text("at"),
    PrimaryKeyConstraint("id", name="signature_policy_pk"),
    unique("signature_policy", "id currency threshold_minor"),
    check("signature_policy_threshold", "threshold_minor >= 0"),
)

Table(
    "price_tier",
    METADATA,
    text("id"),
    text("product_id"),
    text("kind"),
    text("version_id", null=True),
    small("maintenance_days", null=True),
    text("name"),
    whole("amount_minor"),
    text("currency"),
    text("policy_id"),
    whole("threshold_minor"),
    small("requires_signature"),
    text("terms_id", null=True),
    text("published_at"),
    filled("version_key", "version_id"),
    filled("terms_key", "terms_id"),
    PrimaryKeyConstraint("id", name="price_tier_pk"),
    unique("price_tier", "id product_id kind requires_signature amount_minor currency version_key terms_key"),
    refers("price_tier_product", "product_id", "product", "id"),
    refers("price_tier_version", "version_id product_id", "package_version", "id product_id"),
    refers(
        "price_tier_policy", "policy_id currency threshold_minor", "signature_policy", "id currency threshold_minor"
    ),
    refers("price_tier_terms", "terms_id", "terms", "id"),
    check("price_tier_amount", "amount_minor > 0"),
    check("price_tier_version_named", "version_id <> ''"),
    check("price_tier_terms_named", "terms_id <> ''"),
    check("price_tier_flag", "requires_signature IN (0, 1)"),
    check("price_tier_threshold", "amount_minor <= threshold_minor OR requires_signature = 1"),
    check("price_tier_has_terms", "(requires_signature = 1) = (terms_id IS NOT NULL)"),
    check(
        "price_tier_kind",
        "(kind = 'package' AND version_id IS NOT NULL AND maintenance_days IS NULL)"
        " OR (kind = 'maintenance' AND version_id IS NULL AND maintenance_days IS NOT NULL AND maintenance_days > 0)",
    ),
)

Table(
    "tier_withdrawal",
    METADATA,
    text("tier_id"),
    text("reason"),
    text("at"),
    PrimaryKeyConstraint("tier_id", name="tier_withdrawal_pk"),
    refers("tier_withdrawal_tier", "tier_id", "price_tier", "id"),
)

# The list of what is affirmed is held to that of the terms: a row is a whole signature, or it is none.
Table(
    "signature",
    METADATA,
    text("id"),
    text("account_id"),
    text("terms_id"),
    text("terms_sha256"),
    text("entity"),
    text("signer"),
    text("authority"),
    text("signed_at"),
    text("affirmations"),
    PrimaryKeyConstraint("id", name="signature_pk"),
    unique("signature", "id account_id terms_id"),
    refers("signature_account", "account_id", "account", "id"),
    refers("signature_terms", "terms_id terms_sha256 affirmations", "terms", "id sha256 affirmations"),
    check("signature_entity", SAID.format("entity")),
    check("signature_signer", SAID.format("signer")),
    check("signature_authority", SAID.format("authority")),
)

# An order has what its price says, the version and the terms too, or none where that has none: one reference holds all of it.
Table(
    "orders",
    METADATA,
    text("id"),
    text("account_id"),
    text("idem_key"),
    text("request_sha256"),
    text("tier_id"),
    text("product_id"),
    text("kind"),
    text("version_id", null=True),
    small("requires_signature"),
    whole("amount_minor"),
    text("currency"),
    text("signature_id", null=True),
    text("terms_id", null=True),
    text("provider"),
    text("placed_at"),
    filled("version_key", "version_id"),
    filled("signature_key", "signature_id"),
    filled("terms_key", "terms_id"),
    PrimaryKeyConstraint("id", name="orders_pk"),
    unique("orders", "account_id idem_key"),
    unique("orders", "signature_id"),
    unique("orders", "id account_id amount_minor currency"),
    unique("orders", "id account_id product_id version_key requires_signature signature_key terms_key"),
    refers("orders_account", "account_id", "account", "id"),
    refers(
        "orders_tier",
        "tier_id product_id kind requires_signature amount_minor currency version_key terms_key",
        "price_tier",
        "id product_id kind requires_signature amount_minor currency version_key terms_key",
    ),
    refers("orders_signature", "signature_id account_id terms_id", "signature", "id account_id terms_id"),
    check("orders_signed", "(requires_signature = 1) = (signature_id IS NOT NULL)"),
    check("orders_signature_named", "signature_id <> ''"),
    check("orders_key", "length(idem_key) BETWEEN 1 AND 255"),
)
