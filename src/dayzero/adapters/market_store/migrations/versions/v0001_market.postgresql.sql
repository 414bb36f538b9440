CREATE TABLE account (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at TEXT NOT NULL,
    CONSTRAINT account_pk PRIMARY KEY (id),
    CONSTRAINT account_uq_name UNIQUE (name),
    CONSTRAINT account_named CHECK (length(trim(name)) > 0)
)
--;;
CREATE TABLE block (
    seq BIGSERIAL NOT NULL,
    prev_seq BIGINT,
    body TEXT NOT NULL,
    prev_hash TEXT NOT NULL,
    hash TEXT NOT NULL,
    CONSTRAINT block_pk PRIMARY KEY (seq),
    CONSTRAINT block_uq_seq_hash UNIQUE (seq, hash),
    CONSTRAINT block_prev FOREIGN KEY(prev_seq, prev_hash) REFERENCES block (seq, hash),
    CONSTRAINT block_hash CHECK (length(hash) = 64),
    CONSTRAINT block_order CHECK ((seq = 1 AND prev_seq IS NULL AND prev_hash = '') OR (seq > 1 AND prev_seq IS NOT NULL AND prev_seq = seq - 1))
)
--;;
CREATE TABLE journal (
    account_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    prev_seq BIGINT,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    prev_hash TEXT NOT NULL,
    hash TEXT NOT NULL,
    recorded_at TEXT DEFAULT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') NOT NULL,
    CONSTRAINT journal_pk PRIMARY KEY (account_id, seq),
    CONSTRAINT journal_uq_account_seq_hash UNIQUE (account_id, seq, hash),
    CONSTRAINT journal_prev FOREIGN KEY(account_id, prev_seq, prev_hash) REFERENCES journal (account_id, seq, hash),
    CONSTRAINT journal_hash CHECK (length(hash) = 64),
    CONSTRAINT journal_order CHECK ((seq = 1 AND prev_seq IS NULL AND prev_hash = '') OR (seq > 1 AND prev_seq IS NOT NULL AND prev_seq = seq - 1))
)
--;;
CREATE TABLE product (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    title TEXT NOT NULL,
    created_at TEXT NOT NULL,
    CONSTRAINT product_pk PRIMARY KEY (id),
    CONSTRAINT product_uq_name UNIQUE (name),
    CONSTRAINT product_named CHECK (length(trim(name)) > 0)
)
--;;
CREATE TABLE provider_event (
    provider TEXT NOT NULL,
    event_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    order_id TEXT NOT NULL,
    payment_ref TEXT NOT NULL,
    amount_minor BIGINT NOT NULL,
    currency TEXT NOT NULL,
    body TEXT NOT NULL,
    received_at TEXT NOT NULL,
    CONSTRAINT provider_event_pk PRIMARY KEY (provider, event_id),
    CONSTRAINT provider_event_kind CHECK (kind IN ('paid', 'cancelled', 'refunded', 'disputed', 'other'))
)
--;;
CREATE INDEX provider_event_of_order ON provider_event (order_id)
--;;
CREATE INDEX provider_event_of_payment ON provider_event (payment_ref)
--;;
CREATE TABLE signature_policy (
    id TEXT NOT NULL,
    currency TEXT NOT NULL,
    threshold_minor BIGINT NOT NULL,
    at TEXT NOT NULL,
    CONSTRAINT signature_policy_pk PRIMARY KEY (id),
    CONSTRAINT signature_policy_uq_id_currency_threshold_minor UNIQUE (id, currency, threshold_minor),
    CONSTRAINT signature_policy_threshold CHECK (threshold_minor >= 0)
)
--;;
CREATE TABLE terms (
    id TEXT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    n_affirmations INTEGER NOT NULL,
    published_at TEXT NOT NULL,
    CONSTRAINT terms_pk PRIMARY KEY (id),
    CONSTRAINT terms_uq_id_sha256 UNIQUE (id, sha256),
    CONSTRAINT terms_uq_id_n_affirmations UNIQUE (id, n_affirmations),
    CONSTRAINT terms_hash CHECK (length(sha256) = 64),
    CONSTRAINT terms_affirmed CHECK (n_affirmations >= 1),
    CONSTRAINT terms_said CHECK (length(trim(body)) > 0)
)
--;;
CREATE TABLE ledger_account (
    id TEXT NOT NULL,
    owner_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    provider TEXT NOT NULL,
    currency TEXT NOT NULL,
    opened_at TEXT NOT NULL,
    CONSTRAINT ledger_account_pk PRIMARY KEY (id),
    CONSTRAINT ledger_account_uq_owner_kind_provider_currency UNIQUE (owner_id, kind, provider, currency),
    CONSTRAINT ledger_account_uq_id_kind_owner_currency UNIQUE (id, kind, owner_id, currency),
    CONSTRAINT ledger_account_owner FOREIGN KEY(owner_id) REFERENCES account (id),
    CONSTRAINT ledger_account_kind CHECK (kind IN ('wallet', 'revenue', 'grants', 'clearing')),
    CONSTRAINT ledger_account_house CHECK ((kind = 'wallet') = (owner_id <> 'house')),
    CONSTRAINT ledger_account_provider CHECK ((kind = 'clearing') = (provider <> '')),
    CONSTRAINT ledger_account_currency CHECK (length(currency) = 3 AND currency = upper(currency))
)
--;;
CREATE TABLE package_version (
    id TEXT NOT NULL,
    product_id TEXT NOT NULL,
    version TEXT NOT NULL,
    definition_sha256 TEXT NOT NULL,
    kit_sha256 TEXT NOT NULL,
    published_at TEXT NOT NULL,
    CONSTRAINT package_version_pk PRIMARY KEY (id),
    CONSTRAINT package_version_uq_product_version UNIQUE (product_id, version),
    CONSTRAINT package_version_uq_id_product UNIQUE (id, product_id),
    CONSTRAINT package_version_uq_id_product_kit_sha256 UNIQUE (id, product_id, kit_sha256),
    CONSTRAINT package_version_product FOREIGN KEY(product_id) REFERENCES product (id),
    CONSTRAINT package_version_definition CHECK (length(definition_sha256) = 64),
    CONSTRAINT package_version_kit CHECK (length(kit_sha256) = 64)
)
--;;
CREATE TABLE signature (
    id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    terms_id TEXT NOT NULL,
    terms_sha256 TEXT NOT NULL,
    entity TEXT NOT NULL,
    signer TEXT NOT NULL,
    authority TEXT NOT NULL,
    signed_at TEXT NOT NULL,
    CONSTRAINT signature_pk PRIMARY KEY (id),
    CONSTRAINT signature_uq_id_account_terms UNIQUE (id, account_id, terms_id),
    CONSTRAINT signature_account FOREIGN KEY(account_id) REFERENCES account (id),
    CONSTRAINT signature_terms FOREIGN KEY(terms_id, terms_sha256) REFERENCES terms (id, sha256),
    CONSTRAINT signature_entity CHECK (length(trim(entity)) > 0),
    CONSTRAINT signature_signer CHECK (length(trim(signer)) > 0),
    CONSTRAINT signature_authority CHECK (length(trim(authority)) > 0)
)
--;;
CREATE TABLE terms_affirmation (
    terms_id TEXT NOT NULL,
    ord INTEGER NOT NULL,
    n_affirmations INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    CONSTRAINT terms_affirmation_pk PRIMARY KEY (terms_id, ord),
    CONSTRAINT terms_affirmation_uq_terms_ord_sha256 UNIQUE (terms_id, ord, sha256),
    CONSTRAINT terms_affirmation_terms FOREIGN KEY(terms_id, n_affirmations) REFERENCES terms (id, n_affirmations),
    CONSTRAINT terms_affirmation_ord CHECK (ord >= 1 AND ord <= n_affirmations),
    CONSTRAINT terms_affirmation_hash CHECK (length(sha256) = 64)
)
--;;
CREATE TABLE balance (
    ledger_account_id TEXT NOT NULL,
    amount_minor BIGINT NOT NULL,
    CONSTRAINT balance_pk PRIMARY KEY (ledger_account_id),
    CONSTRAINT balance_of FOREIGN KEY(ledger_account_id) REFERENCES ledger_account (id),
    CONSTRAINT balance_not_negative CHECK (amount_minor >= 0)
)
--;;
CREATE TABLE price_tier (
    id TEXT NOT NULL,
    product_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    version_id TEXT,
    maintenance_days INTEGER,
    name TEXT NOT NULL,
    amount_minor BIGINT NOT NULL,
    currency TEXT NOT NULL,
    policy_id TEXT NOT NULL,
    threshold_minor BIGINT NOT NULL,
    requires_signature INTEGER NOT NULL,
    terms_id TEXT,
    published_at TEXT NOT NULL,
    CONSTRAINT price_tier_pk PRIMARY KEY (id),
    CONSTRAINT price_tier_uq_id_product_kind_requires_signature_amount_minor_c UNIQUE (id, product_id, kind, requires_signature, amount_minor, currency),
    CONSTRAINT price_tier_uq_id_version UNIQUE (id, version_id),
    CONSTRAINT price_tier_uq_id_terms UNIQUE (id, terms_id),
    CONSTRAINT price_tier_product FOREIGN KEY(product_id) REFERENCES product (id),
    CONSTRAINT price_tier_version FOREIGN KEY(version_id, product_id) REFERENCES package_version (id, product_id),
    CONSTRAINT price_tier_policy FOREIGN KEY(policy_id, currency, threshold_minor) REFERENCES signature_policy (id, currency, threshold_minor),
    CONSTRAINT price_tier_terms FOREIGN KEY(terms_id) REFERENCES terms (id),
    CONSTRAINT price_tier_amount CHECK (amount_minor > 0),
    CONSTRAINT price_tier_flag CHECK (requires_signature IN (0, 1)),
    CONSTRAINT price_tier_threshold CHECK (amount_minor <= threshold_minor OR requires_signature = 1),
    CONSTRAINT price_tier_has_terms CHECK ((requires_signature = 1) = (terms_id IS NOT NULL)),
    CONSTRAINT price_tier_kind CHECK ((kind = 'package' AND version_id IS NOT NULL AND maintenance_days IS NULL) OR (kind = 'maintenance' AND version_id IS NULL AND maintenance_days IS NOT NULL AND maintenance_days > 0))
)
--;;
CREATE TABLE signature_affirmation (
    signature_id TEXT NOT NULL,
    ord INTEGER NOT NULL,
    prev_ord INTEGER,
    terms_id TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    CONSTRAINT signature_affirmation_pk PRIMARY KEY (signature_id, terms_id, ord),
    CONSTRAINT signature_affirmation_of FOREIGN KEY(signature_id) REFERENCES signature (id),
    CONSTRAINT signature_affirmation_text FOREIGN KEY(terms_id, ord, sha256) REFERENCES terms_affirmation (terms_id, ord, sha256),
    CONSTRAINT signature_affirmation_prev FOREIGN KEY(signature_id, terms_id, prev_ord) REFERENCES signature_affirmation (signature_id, terms_id, ord),
    CONSTRAINT signature_affirmation_order CHECK ((ord = 1 AND prev_ord IS NULL) OR (ord > 1 AND prev_ord IS NOT NULL AND prev_ord = ord - 1))
)
--;;
CREATE TABLE version_notice (
    id TEXT NOT NULL,
    version_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    at TEXT NOT NULL,
    CONSTRAINT version_notice_pk PRIMARY KEY (id),
    CONSTRAINT version_notice_version FOREIGN KEY(version_id) REFERENCES package_version (id),
    CONSTRAINT version_notice_kind CHECK (kind IN ('yanked', 'claim-retracted'))
)
--;;
CREATE TABLE signature_seal (
    signature_id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    terms_id TEXT NOT NULL,
    last_ord INTEGER NOT NULL,
    at TEXT NOT NULL,
    CONSTRAINT signature_seal_pk PRIMARY KEY (signature_id),
    CONSTRAINT signature_seal_uq_signature_account_terms UNIQUE (signature_id, account_id, terms_id),
    CONSTRAINT signature_seal_of FOREIGN KEY(signature_id, account_id, terms_id) REFERENCES signature (id, account_id, terms_id),
    CONSTRAINT signature_seal_all FOREIGN KEY(terms_id, last_ord) REFERENCES terms (id, n_affirmations),
    CONSTRAINT signature_seal_last FOREIGN KEY(signature_id, terms_id, last_ord) REFERENCES signature_affirmation (signature_id, terms_id, ord)
)
--;;
CREATE TABLE tier_withdrawal (
    tier_id TEXT NOT NULL,
    reason TEXT NOT NULL,
    at TEXT NOT NULL,
    CONSTRAINT tier_withdrawal_pk PRIMARY KEY (tier_id),
    CONSTRAINT tier_withdrawal_tier FOREIGN KEY(tier_id) REFERENCES price_tier (id)
)
--;;
CREATE TABLE orders (
    id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    idem_key TEXT NOT NULL,
    request_sha256 TEXT NOT NULL,
    tier_id TEXT NOT NULL,
    product_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    version_id TEXT,
    requires_signature INTEGER NOT NULL,
    amount_minor BIGINT NOT NULL,
    currency TEXT NOT NULL,
    signature_id TEXT,
    terms_id TEXT,
    provider TEXT NOT NULL,
    placed_at TEXT NOT NULL,
    CONSTRAINT orders_pk PRIMARY KEY (id),
    CONSTRAINT orders_uq_account_idem_key UNIQUE (account_id, idem_key),
    CONSTRAINT orders_uq_signature UNIQUE (signature_id),
    CONSTRAINT orders_uq_id_account_amount_minor_currency UNIQUE (id, account_id, amount_minor, currency),
    CONSTRAINT orders_uq_id_account_product_version_requires_signature UNIQUE (id, account_id, product_id, version_id, requires_signature),
    CONSTRAINT orders_uq_id_account_product_kind_requires_signature UNIQUE (id, account_id, product_id, kind, requires_signature),
    CONSTRAINT orders_uq_id_signature UNIQUE (id, signature_id),
    CONSTRAINT orders_account FOREIGN KEY(account_id) REFERENCES account (id),
    CONSTRAINT orders_tier FOREIGN KEY(tier_id, product_id, kind, requires_signature, amount_minor, currency) REFERENCES price_tier (id, product_id, kind, requires_signature, amount_minor, currency),
    CONSTRAINT orders_version FOREIGN KEY(tier_id, version_id) REFERENCES price_tier (id, version_id),
    CONSTRAINT orders_terms FOREIGN KEY(tier_id, terms_id) REFERENCES price_tier (id, terms_id),
    CONSTRAINT orders_seal FOREIGN KEY(signature_id, account_id, terms_id) REFERENCES signature_seal (signature_id, account_id, terms_id),
    CONSTRAINT orders_signed CHECK ((requires_signature = 1) = (signature_id IS NOT NULL)),
    CONSTRAINT orders_terms_named CHECK ((requires_signature = 1) = (terms_id IS NOT NULL)),
    CONSTRAINT orders_version_named CHECK ((kind = 'package') = (version_id IS NOT NULL)),
    CONSTRAINT orders_key CHECK (length(idem_key) BETWEEN 1 AND 255)
)
--;;
CREATE TABLE payment (
    order_id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    provider TEXT NOT NULL,
    amount_minor BIGINT NOT NULL,
    currency TEXT NOT NULL,
    at TEXT NOT NULL,
    CONSTRAINT payment_pk PRIMARY KEY (order_id),
    CONSTRAINT payment_order FOREIGN KEY(order_id, account_id, amount_minor, currency) REFERENCES orders (id, account_id, amount_minor, currency),
    CONSTRAINT payment_provider CHECK (provider <> '' AND provider <> 'credit')
)
--;;
CREATE TABLE transfer (
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    account_id TEXT NOT NULL,
    order_id TEXT,
    reverses_id TEXT,
    debit_id TEXT NOT NULL,
    debit_kind TEXT NOT NULL,
    debit_owner TEXT NOT NULL,
    credit_id TEXT NOT NULL,
    credit_kind TEXT NOT NULL,
    credit_owner TEXT NOT NULL,
    amount_minor BIGINT NOT NULL,
    currency TEXT NOT NULL,
    idem_key TEXT,
    reason TEXT NOT NULL,
    at TEXT NOT NULL,
    CONSTRAINT transfer_pk PRIMARY KEY (id),
    CONSTRAINT transfer_uq_order UNIQUE (order_id),
    CONSTRAINT transfer_uq_idem_key UNIQUE (idem_key),
    CONSTRAINT transfer_uq_id_order UNIQUE (id, order_id),
    CONSTRAINT transfer_uq_id_reverses UNIQUE (id, reverses_id),
    CONSTRAINT transfer_uq_id_account_debit_credit_currency UNIQUE (id, account_id, debit_id, credit_id, currency),
    CONSTRAINT transfer_debit FOREIGN KEY(debit_id, debit_kind, debit_owner, currency) REFERENCES ledger_account (id, kind, owner_id, currency),
    CONSTRAINT transfer_credit FOREIGN KEY(credit_id, credit_kind, credit_owner, currency) REFERENCES ledger_account (id, kind, owner_id, currency),
    CONSTRAINT transfer_order FOREIGN KEY(order_id, account_id, amount_minor, currency) REFERENCES orders (id, account_id, amount_minor, currency),
    CONSTRAINT transfer_reverses FOREIGN KEY(reverses_id, account_id, credit_id, debit_id, currency) REFERENCES transfer (id, account_id, debit_id, credit_id, currency),
    CONSTRAINT transfer_amount CHECK (amount_minor > 0),
    CONSTRAINT transfer_sides CHECK ((kind = 'grant' AND debit_kind = 'grants' AND credit_kind = 'wallet') OR (kind = 'deposit' AND debit_kind = 'clearing' AND credit_kind = 'wallet') OR (kind = 'sale' AND debit_kind IN ('wallet', 'clearing') AND credit_kind = 'revenue') OR (kind = 'refund' AND debit_kind = 'revenue' AND credit_kind IN ('wallet', 'clearing'))),
    CONSTRAINT transfer_debit_owner CHECK (debit_kind <> 'wallet' OR debit_owner = account_id),
    CONSTRAINT transfer_credit_owner CHECK (credit_kind <> 'wallet' OR credit_owner = account_id),
    CONSTRAINT transfer_of_order CHECK ((kind = 'sale') = (order_id IS NOT NULL)),
    CONSTRAINT transfer_of_reversal CHECK ((kind = 'refund') = (reverses_id IS NOT NULL)),
    CONSTRAINT transfer_key CHECK (kind = 'sale' OR idem_key IS NOT NULL)
)
--;;
CREATE INDEX transfer_of_account ON transfer (account_id)
--;;
CREATE TABLE entitlement (
    id TEXT NOT NULL,
    order_id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    product_id TEXT NOT NULL,
    version_id TEXT NOT NULL,
    requires_signature INTEGER NOT NULL,
    signature_id TEXT,
    terms_id TEXT,
    transfer_id TEXT NOT NULL,
    granted_at TEXT NOT NULL,
    CONSTRAINT entitlement_pk PRIMARY KEY (id),
    CONSTRAINT entitlement_uq_order UNIQUE (order_id),
    CONSTRAINT entitlement_uq_id_account_product_version UNIQUE (id, account_id, product_id, version_id),
    CONSTRAINT entitlement_uq_id_account_transfer UNIQUE (id, account_id, transfer_id),
    CONSTRAINT entitlement_order FOREIGN KEY(order_id, account_id, product_id, version_id, requires_signature) REFERENCES orders (id, account_id, product_id, version_id, requires_signature),
    CONSTRAINT entitlement_signature FOREIGN KEY(order_id, signature_id) REFERENCES orders (id, signature_id),
    CONSTRAINT entitlement_seal FOREIGN KEY(signature_id, account_id, terms_id) REFERENCES signature_seal (signature_id, account_id, terms_id),
    CONSTRAINT entitlement_payment FOREIGN KEY(transfer_id, order_id) REFERENCES transfer (id, order_id),
    CONSTRAINT entitlement_signed CHECK ((requires_signature = 1) = (signature_id IS NOT NULL)),
    CONSTRAINT entitlement_terms_named CHECK ((requires_signature = 1) = (terms_id IS NOT NULL))
)
--;;
CREATE INDEX entitlement_of_account ON entitlement (account_id, product_id)
--;;
CREATE TABLE payment_session (
    order_id TEXT NOT NULL,
    reference TEXT NOT NULL,
    url TEXT NOT NULL,
    at TEXT NOT NULL,
    CONSTRAINT payment_session_pk PRIMARY KEY (order_id),
    CONSTRAINT payment_session_of FOREIGN KEY(order_id) REFERENCES payment (order_id)
)
--;;
CREATE TABLE settlement (
    order_id TEXT NOT NULL,
    outcome TEXT NOT NULL,
    provider TEXT NOT NULL,
    event_id TEXT NOT NULL,
    transfer_id TEXT,
    at TEXT NOT NULL,
    CONSTRAINT settlement_pk PRIMARY KEY (order_id, outcome),
    CONSTRAINT settlement_of FOREIGN KEY(order_id) REFERENCES payment (order_id),
    CONSTRAINT settlement_event FOREIGN KEY(provider, event_id) REFERENCES provider_event (provider, event_id),
    CONSTRAINT settlement_transfer FOREIGN KEY(transfer_id, order_id) REFERENCES transfer (id, order_id),
    CONSTRAINT settlement_outcome CHECK (outcome IN ('post', 'void')),
    CONSTRAINT settlement_posted CHECK ((outcome = 'post') = (transfer_id IS NOT NULL))
)
--;;
CREATE TABLE subscription (
    id TEXT NOT NULL,
    order_id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    product_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    requires_signature INTEGER NOT NULL,
    signature_id TEXT,
    terms_id TEXT,
    transfer_id TEXT NOT NULL,
    starts_at TEXT NOT NULL,
    ends_at TEXT NOT NULL,
    CONSTRAINT subscription_pk PRIMARY KEY (id),
    CONSTRAINT subscription_uq_order UNIQUE (order_id),
    CONSTRAINT subscription_uq_id_account_product UNIQUE (id, account_id, product_id),
    CONSTRAINT subscription_uq_id_account_transfer UNIQUE (id, account_id, transfer_id),
    CONSTRAINT subscription_order FOREIGN KEY(order_id, account_id, product_id, kind, requires_signature) REFERENCES orders (id, account_id, product_id, kind, requires_signature),
    CONSTRAINT subscription_signature FOREIGN KEY(order_id, signature_id) REFERENCES orders (id, signature_id),
    CONSTRAINT subscription_seal FOREIGN KEY(signature_id, account_id, terms_id) REFERENCES signature_seal (signature_id, account_id, terms_id),
    CONSTRAINT subscription_payment FOREIGN KEY(transfer_id, order_id) REFERENCES transfer (id, order_id),
    CONSTRAINT subscription_kind CHECK (kind = 'maintenance'),
    CONSTRAINT subscription_signed CHECK ((requires_signature = 1) = (signature_id IS NOT NULL)),
    CONSTRAINT subscription_terms_named CHECK ((requires_signature = 1) = (terms_id IS NOT NULL)),
    CONSTRAINT subscription_window CHECK (ends_at > starts_at)
)
--;;
CREATE INDEX subscription_of_account ON subscription (account_id, product_id)
--;;
CREATE TABLE download (
    id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    product_id TEXT NOT NULL,
    version_id TEXT NOT NULL,
    kit_sha256 TEXT NOT NULL,
    entitlement_id TEXT NOT NULL,
    entitled_version_id TEXT NOT NULL,
    subscription_id TEXT,
    at TEXT NOT NULL,
    CONSTRAINT download_pk PRIMARY KEY (id),
    CONSTRAINT download_kit FOREIGN KEY(version_id, product_id, kit_sha256) REFERENCES package_version (id, product_id, kit_sha256),
    CONSTRAINT download_entitlement FOREIGN KEY(entitlement_id, account_id, product_id, entitled_version_id) REFERENCES entitlement (id, account_id, product_id, version_id),
    CONSTRAINT download_subscription FOREIGN KEY(subscription_id, account_id, product_id) REFERENCES subscription (id, account_id, product_id),
    CONSTRAINT download_granted CHECK (version_id = entitled_version_id OR subscription_id IS NOT NULL)
)
--;;
CREATE INDEX download_of_account ON download (account_id)
--;;
CREATE TABLE revocation (
    id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    entitlement_id TEXT,
    subscription_id TEXT,
    reason TEXT NOT NULL,
    note TEXT NOT NULL,
    sale_id TEXT,
    refund_id TEXT,
    at TEXT NOT NULL,
    CONSTRAINT revocation_pk PRIMARY KEY (id),
    CONSTRAINT revocation_uq_entitlement UNIQUE (entitlement_id),
    CONSTRAINT revocation_uq_subscription UNIQUE (subscription_id),
    CONSTRAINT revocation_uq_refund UNIQUE (refund_id),
    CONSTRAINT revocation_entitlement FOREIGN KEY(entitlement_id, account_id, sale_id) REFERENCES entitlement (id, account_id, transfer_id),
    CONSTRAINT revocation_subscription FOREIGN KEY(subscription_id, account_id, sale_id) REFERENCES subscription (id, account_id, transfer_id),
    CONSTRAINT revocation_refund FOREIGN KEY(refund_id, sale_id) REFERENCES transfer (id, reverses_id),
    CONSTRAINT revocation_one CHECK ((entitlement_id IS NULL) <> (subscription_id IS NULL)),
    CONSTRAINT revocation_sale CHECK (sale_id IS NOT NULL),
    CONSTRAINT revocation_reason CHECK (reason IN ('refund', 'breach', 'chargeback', 'mistake')),
    CONSTRAINT revocation_refunded CHECK ((reason = 'refund') = (refund_id IS NOT NULL))
)
--;;
CREATE FUNCTION market_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = 'append-only: ' || TG_TABLE_NAME;
END $$
--;;
CREATE FUNCTION market_balance_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_trigger_depth() < 2 OR TG_OP NOT IN ('INSERT', 'UPDATE') THEN
        RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = 'append-only: balance follows the transfers';
    END IF;
    RETURN NULL;
END $$
--;;
CREATE FUNCTION market_open_balance() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    INSERT INTO balance (ledger_account_id, amount_minor) VALUES (NEW.id, 0);
    RETURN NULL;
END $$
--;;
CREATE FUNCTION market_move_balance() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    wallet text := CASE WHEN NEW.debit_kind = 'wallet' THEN NEW.debit_id ELSE NEW.credit_id END;
    change bigint := CASE WHEN NEW.debit_kind = 'wallet' THEN -NEW.amount_minor ELSE NEW.amount_minor END;
BEGIN
    PERFORM 1 FROM balance WHERE ledger_account_id = wallet FOR NO KEY UPDATE;
    UPDATE balance SET amount_minor = amount_minor + change WHERE ledger_account_id = wallet;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = 'transfer_balance: no balance is kept of ' || wallet;
    END IF;
    RETURN NULL;
END $$
--;;
CREATE FUNCTION market_refund_fits() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    paid bigint;
BEGIN
    SELECT amount_minor INTO paid FROM transfer WHERE id = NEW.reverses_id AND kind = 'sale' FOR NO KEY UPDATE;
    IF paid IS NULL OR paid < (SELECT sum(amount_minor) FROM transfer WHERE reverses_id = NEW.reverses_id) THEN
        RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = 'transfer_refund: more than was paid';
    END IF;
    RETURN NULL;
END $$
--;;
CREATE TRIGGER account_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON account FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER block_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON block FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER download_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON download FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER entitlement_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON entitlement FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER journal_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON journal FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER ledger_account_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_account FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER orders_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON orders FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER package_version_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON package_version FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER payment_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON payment FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER payment_session_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON payment_session FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER price_tier_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON price_tier FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER product_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON product FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER provider_event_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON provider_event FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER revocation_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON revocation FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER settlement_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON settlement FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER signature_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON signature FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER signature_affirmation_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON signature_affirmation FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER signature_policy_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON signature_policy FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER signature_seal_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON signature_seal FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER subscription_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON subscription FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER terms_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON terms FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER terms_affirmation_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON terms_affirmation FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER tier_withdrawal_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON tier_withdrawal FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER transfer_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON transfer FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
CREATE TRIGGER version_notice_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON version_notice FOR EACH STATEMENT EXECUTE FUNCTION market_append_only()
--;;
DO $$ BEGIN
    ALTER TABLE journal ALTER COLUMN body SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN NULL;
END $$
--;;
CREATE TRIGGER balance_kept BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON balance
    FOR EACH STATEMENT EXECUTE FUNCTION market_balance_is_kept()
--;;
CREATE TRIGGER ledger_account_balance AFTER INSERT ON ledger_account
    FOR EACH ROW WHEN (NEW.kind = 'wallet') EXECUTE FUNCTION market_open_balance()
--;;
CREATE TRIGGER transfer_moves AFTER INSERT ON transfer
    FOR EACH ROW WHEN (NEW.debit_kind = 'wallet' OR NEW.credit_kind = 'wallet') EXECUTE FUNCTION market_move_balance()
--;;
CREATE TRIGGER transfer_refund_fits AFTER INSERT ON transfer
    FOR EACH ROW WHEN (NEW.kind = 'refund') EXECUTE FUNCTION market_refund_fits()
