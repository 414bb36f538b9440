CREATE TEMP TABLE past_journal AS SELECT * FROM journal
--;;
CREATE TEMP TABLE past_price_tier AS SELECT * FROM price_tier
--;;
CREATE TEMP TABLE past_orders AS SELECT * FROM orders
--;;
CREATE TEMP TABLE past_transfer AS SELECT * FROM transfer
--;;
CREATE TEMP TABLE past_entitlement AS SELECT * FROM entitlement
--;;
CREATE TEMP TABLE past_subscription AS SELECT * FROM subscription
--;;
DROP TABLE subscription
--;;
DROP TABLE entitlement
--;;
DROP TABLE transfer
--;;
DROP TABLE orders
--;;
DROP TABLE price_tier
--;;
DROP TABLE journal
--;;
CREATE TABLE journal (
    account_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    prev_seq BIGINT,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    prev_hash TEXT NOT NULL,
    hash TEXT NOT NULL,
    recorded_at TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')) NOT NULL,
    CONSTRAINT journal_pk PRIMARY KEY (account_id, seq),
    CONSTRAINT journal_uq_account_seq_hash UNIQUE (account_id, seq, hash),
    CONSTRAINT journal_prev FOREIGN KEY(account_id, prev_seq, prev_hash) REFERENCES journal (account_id, seq, hash),
    CONSTRAINT journal_hash CHECK (length(hash) = 64),
    CONSTRAINT journal_order CHECK (seq = coalesce(prev_seq, 0) + 1 AND (prev_seq IS NOT NULL OR prev_hash = ''))
)
--;;
INSERT INTO journal (account_id, seq, prev_seq, kind, body, prev_hash, hash, recorded_at) SELECT account_id, seq, prev_seq, kind, body, prev_hash, hash, recorded_at FROM past_journal
--;;
DROP TABLE past_journal
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
    version_key TEXT NOT NULL GENERATED ALWAYS AS (coalesce(version_id, '')) STORED,
    terms_key TEXT NOT NULL GENERATED ALWAYS AS (coalesce(terms_id, '')) STORED,
    CONSTRAINT price_tier_pk PRIMARY KEY (id),
    CONSTRAINT price_tier_uq_id_product_kind_requires_signature_amount_minor_c UNIQUE (id, product_id, kind, requires_signature, amount_minor, currency, version_key, terms_key),
    CONSTRAINT price_tier_product FOREIGN KEY(product_id) REFERENCES product (id),
    CONSTRAINT price_tier_version FOREIGN KEY(version_id, product_id) REFERENCES package_version (id, product_id),
    CONSTRAINT price_tier_policy FOREIGN KEY(policy_id, currency, threshold_minor) REFERENCES signature_policy (id, currency, threshold_minor),
    CONSTRAINT price_tier_terms FOREIGN KEY(terms_id) REFERENCES terms (id),
    CONSTRAINT price_tier_amount CHECK (amount_minor > 0),
    CONSTRAINT price_tier_version_named CHECK (version_id <> ''),
    CONSTRAINT price_tier_terms_named CHECK (terms_id <> ''),
    CONSTRAINT price_tier_flag CHECK (requires_signature IN (0, 1)),
    CONSTRAINT price_tier_threshold CHECK (amount_minor <= threshold_minor OR requires_signature = 1),
    CONSTRAINT price_tier_has_terms CHECK ((requires_signature = 1) = (terms_id IS NOT NULL)),
    CONSTRAINT price_tier_kind CHECK ((kind = 'package' AND version_id IS NOT NULL AND maintenance_days IS NULL) OR (kind = 'maintenance' AND version_id IS NULL AND maintenance_days IS NOT NULL AND maintenance_days > 0))
)
--;;
INSERT INTO price_tier (id, product_id, kind, version_id, maintenance_days, name, amount_minor, currency, policy_id, threshold_minor, requires_signature, terms_id, published_at) SELECT id, product_id, kind, version_id, maintenance_days, name, amount_minor, currency, policy_id, threshold_minor, requires_signature, terms_id, published_at FROM past_price_tier
--;;
DROP TABLE past_price_tier
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
    version_key TEXT NOT NULL GENERATED ALWAYS AS (coalesce(version_id, '')) STORED,
    signature_key TEXT NOT NULL GENERATED ALWAYS AS (coalesce(signature_id, '')) STORED,
    terms_key TEXT NOT NULL GENERATED ALWAYS AS (coalesce(terms_id, '')) STORED,
    CONSTRAINT orders_pk PRIMARY KEY (id),
    CONSTRAINT orders_uq_account_idem_key UNIQUE (account_id, idem_key),
    CONSTRAINT orders_uq_signature UNIQUE (signature_id),
    CONSTRAINT orders_uq_id_account_amount_minor_currency UNIQUE (id, account_id, amount_minor, currency),
    CONSTRAINT orders_uq_id_account_product_version_key_requires_signature_sig UNIQUE (id, account_id, product_id, version_key, requires_signature, signature_key, terms_key),
    CONSTRAINT orders_account FOREIGN KEY(account_id) REFERENCES account (id),
    CONSTRAINT orders_tier FOREIGN KEY(tier_id, product_id, kind, requires_signature, amount_minor, currency, version_key, terms_key) REFERENCES price_tier (id, product_id, kind, requires_signature, amount_minor, currency, version_key, terms_key),
    CONSTRAINT orders_signature FOREIGN KEY(signature_id, account_id, terms_id) REFERENCES signature (id, account_id, terms_id),
    CONSTRAINT orders_signed CHECK ((requires_signature = 1) = (signature_id IS NOT NULL)),
    CONSTRAINT orders_signature_named CHECK (signature_id <> ''),
    CONSTRAINT orders_key CHECK (length(idem_key) BETWEEN 1 AND 255)
)
--;;
INSERT INTO orders (id, account_id, idem_key, request_sha256, tier_id, product_id, kind, version_id, requires_signature, amount_minor, currency, signature_id, terms_id, provider, placed_at) SELECT id, account_id, idem_key, request_sha256, tier_id, product_id, kind, version_id, requires_signature, amount_minor, currency, signature_id, terms_id, provider, placed_at FROM past_orders
--;;
DROP TABLE past_orders
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
    CONSTRAINT transfer_uq_reverses_id UNIQUE (reverses_id, id),
    CONSTRAINT transfer_uq_account_id_debit_credit_currency UNIQUE (account_id, id, debit_id, credit_id, currency),
    CONSTRAINT transfer_debit FOREIGN KEY(debit_id, debit_kind, debit_owner, currency) REFERENCES ledger_account (id, kind, owner_id, currency),
    CONSTRAINT transfer_credit FOREIGN KEY(credit_id, credit_kind, credit_owner, currency) REFERENCES ledger_account (id, kind, owner_id, currency),
    CONSTRAINT transfer_order FOREIGN KEY(order_id, account_id, amount_minor, currency) REFERENCES orders (id, account_id, amount_minor, currency),
    CONSTRAINT transfer_reverses FOREIGN KEY(reverses_id, account_id, credit_id, debit_id, currency) REFERENCES transfer (id, account_id, debit_id, credit_id, currency),
    CONSTRAINT transfer_amount CHECK (amount_minor > 0),
    CONSTRAINT transfer_sides CHECK (kind || debit_kind || credit_kind IN ('grantgrantswallet', 'depositclearingwallet', 'salewalletrevenue', 'saleclearingrevenue', 'refundrevenuewallet', 'refundrevenueclearing')),
    CONSTRAINT transfer_debit_owner CHECK (debit_kind <> 'wallet' OR debit_owner = account_id),
    CONSTRAINT transfer_credit_owner CHECK (credit_kind <> 'wallet' OR credit_owner = account_id),
    CONSTRAINT transfer_of_order CHECK ((kind = 'sale') = (order_id IS NOT NULL)),
    CONSTRAINT transfer_of_reversal CHECK ((kind = 'refund') = (reverses_id IS NOT NULL)),
    CONSTRAINT transfer_key CHECK (coalesce(order_id, idem_key) IS NOT NULL)
)
--;;
INSERT INTO transfer (id, kind, account_id, order_id, reverses_id, debit_id, debit_kind, debit_owner, credit_id, credit_kind, credit_owner, amount_minor, currency, idem_key, reason, at) SELECT id, kind, account_id, order_id, reverses_id, debit_id, debit_kind, debit_owner, credit_id, credit_kind, credit_owner, amount_minor, currency, idem_key, reason, at FROM past_transfer
--;;
DROP TABLE past_transfer
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
    signature_key TEXT NOT NULL GENERATED ALWAYS AS (coalesce(signature_id, '')) STORED,
    terms_key TEXT NOT NULL GENERATED ALWAYS AS (coalesce(terms_id, '')) STORED,
    CONSTRAINT entitlement_pk PRIMARY KEY (id),
    CONSTRAINT entitlement_uq_order UNIQUE (order_id),
    CONSTRAINT entitlement_uq_account_product_id_version UNIQUE (account_id, product_id, id, version_id),
    CONSTRAINT entitlement_uq_id_account_transfer UNIQUE (id, account_id, transfer_id),
    CONSTRAINT entitlement_order FOREIGN KEY(order_id, account_id, product_id, version_id, requires_signature, signature_key, terms_key) REFERENCES orders (id, account_id, product_id, version_key, requires_signature, signature_key, terms_key),
    CONSTRAINT entitlement_payment FOREIGN KEY(transfer_id, order_id) REFERENCES transfer (id, order_id),
    CONSTRAINT entitlement_version CHECK (version_id <> '')
)
--;;
INSERT INTO entitlement (id, order_id, account_id, product_id, version_id, requires_signature, signature_id, terms_id, transfer_id, granted_at) SELECT id, order_id, account_id, product_id, version_id, requires_signature, signature_id, terms_id, transfer_id, granted_at FROM past_entitlement
--;;
DROP TABLE past_entitlement
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
    version_key TEXT NOT NULL GENERATED ALWAYS AS (coalesce(NULL, '')) STORED,
    signature_key TEXT NOT NULL GENERATED ALWAYS AS (coalesce(signature_id, '')) STORED,
    terms_key TEXT NOT NULL GENERATED ALWAYS AS (coalesce(terms_id, '')) STORED,
    CONSTRAINT subscription_pk PRIMARY KEY (id),
    CONSTRAINT subscription_uq_order UNIQUE (order_id),
    CONSTRAINT subscription_uq_account_product_id UNIQUE (account_id, product_id, id),
    CONSTRAINT subscription_uq_id_account_transfer UNIQUE (id, account_id, transfer_id),
    CONSTRAINT subscription_order FOREIGN KEY(order_id, account_id, product_id, version_key, requires_signature, signature_key, terms_key) REFERENCES orders (id, account_id, product_id, version_key, requires_signature, signature_key, terms_key),
    CONSTRAINT subscription_payment FOREIGN KEY(transfer_id, order_id) REFERENCES transfer (id, order_id),
    CONSTRAINT subscription_kind CHECK (kind = 'maintenance'),
    CONSTRAINT subscription_window CHECK (ends_at > starts_at)
)
--;;
INSERT INTO subscription (id, order_id, account_id, product_id, kind, requires_signature, signature_id, terms_id, transfer_id, starts_at, ends_at) SELECT id, order_id, account_id, product_id, kind, requires_signature, signature_id, terms_id, transfer_id, starts_at, ends_at FROM past_subscription
--;;
DROP TABLE past_subscription
--;;
CREATE TRIGGER entitlement_not_updated BEFORE UPDATE ON entitlement
BEGIN
    SELECT RAISE(ABORT, 'append-only: entitlement');
END
--;;
CREATE TRIGGER entitlement_not_deleted BEFORE DELETE ON entitlement
BEGIN
    SELECT RAISE(ABORT, 'append-only: entitlement');
END
--;;
CREATE TRIGGER entitlement_not_replaced BEFORE INSERT ON entitlement WHEN EXISTS (SELECT 1 FROM entitlement WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM entitlement WHERE order_id = NEW.order_id)
BEGIN
    SELECT RAISE(ABORT, 'append-only: entitlement');
END
--;;
CREATE TRIGGER journal_not_updated BEFORE UPDATE ON journal
BEGIN
    SELECT RAISE(ABORT, 'append-only: journal');
END
--;;
CREATE TRIGGER journal_not_deleted BEFORE DELETE ON journal
BEGIN
    SELECT RAISE(ABORT, 'append-only: journal');
END
--;;
CREATE TRIGGER journal_not_replaced BEFORE INSERT ON journal WHEN EXISTS (SELECT 1 FROM journal WHERE account_id = NEW.account_id AND seq = NEW.seq)
BEGIN
    SELECT RAISE(ABORT, 'append-only: journal');
END
--;;
CREATE TRIGGER orders_not_updated BEFORE UPDATE ON orders
BEGIN
    SELECT RAISE(ABORT, 'append-only: orders');
END
--;;
CREATE TRIGGER orders_not_deleted BEFORE DELETE ON orders
BEGIN
    SELECT RAISE(ABORT, 'append-only: orders');
END
--;;
CREATE TRIGGER orders_not_replaced BEFORE INSERT ON orders WHEN EXISTS (SELECT 1 FROM orders WHERE account_id = NEW.account_id AND idem_key = NEW.idem_key) OR EXISTS (SELECT 1 FROM orders WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM orders WHERE signature_id = NEW.signature_id)
BEGIN
    SELECT RAISE(ABORT, 'append-only: orders');
END
--;;
CREATE TRIGGER price_tier_not_updated BEFORE UPDATE ON price_tier
BEGIN
    SELECT RAISE(ABORT, 'append-only: price_tier');
END
--;;
CREATE TRIGGER price_tier_not_deleted BEFORE DELETE ON price_tier
BEGIN
    SELECT RAISE(ABORT, 'append-only: price_tier');
END
--;;
CREATE TRIGGER price_tier_not_replaced BEFORE INSERT ON price_tier WHEN EXISTS (SELECT 1 FROM price_tier WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'append-only: price_tier');
END
--;;
CREATE TRIGGER subscription_not_updated BEFORE UPDATE ON subscription
BEGIN
    SELECT RAISE(ABORT, 'append-only: subscription');
END
--;;
CREATE TRIGGER subscription_not_deleted BEFORE DELETE ON subscription
BEGIN
    SELECT RAISE(ABORT, 'append-only: subscription');
END
--;;
CREATE TRIGGER subscription_not_replaced BEFORE INSERT ON subscription WHEN EXISTS (SELECT 1 FROM subscription WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM subscription WHERE order_id = NEW.order_id)
BEGIN
    SELECT RAISE(ABORT, 'append-only: subscription');
END
--;;
CREATE TRIGGER transfer_not_updated BEFORE UPDATE ON transfer
BEGIN
    SELECT RAISE(ABORT, 'append-only: transfer');
END
--;;
CREATE TRIGGER transfer_not_deleted BEFORE DELETE ON transfer
BEGIN
    SELECT RAISE(ABORT, 'append-only: transfer');
END
--;;
CREATE TRIGGER transfer_not_replaced BEFORE INSERT ON transfer WHEN EXISTS (SELECT 1 FROM transfer WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM transfer WHERE idem_key = NEW.idem_key) OR EXISTS (SELECT 1 FROM transfer WHERE order_id = NEW.order_id)
BEGIN
    SELECT RAISE(ABORT, 'append-only: transfer');
END
--;;
CREATE TRIGGER transfer_covered BEFORE INSERT ON transfer WHEN NEW.debit_kind = 'wallet'
    AND NOT EXISTS (SELECT 1 FROM balance WHERE ledger_account_id = NEW.debit_id AND amount_minor >= NEW.amount_minor)
BEGIN
    SELECT RAISE(ABORT, 'balance_not_negative');
END
--;;
CREATE TRIGGER transfer_moves_debit AFTER INSERT ON transfer WHEN NEW.debit_kind = 'wallet'
BEGIN
    UPDATE balance SET amount_minor = amount_minor - NEW.amount_minor WHERE ledger_account_id = NEW.debit_id;
    SELECT RAISE(ABORT, 'transfer_balance')
    WHERE (SELECT amount_minor FROM balance WHERE ledger_account_id = NEW.debit_id) IS NOT (SELECT COALESCE(SUM(CASE WHEN credit_id = NEW.debit_id THEN amount_minor ELSE -amount_minor END), 0) FROM transfer
        WHERE account_id = (SELECT owner_id FROM ledger_account WHERE id = NEW.debit_id) AND NEW.debit_id IN (debit_id, credit_id));
END
--;;
CREATE TRIGGER transfer_moves_credit AFTER INSERT ON transfer WHEN NEW.credit_kind = 'wallet'
BEGIN
    UPDATE balance SET amount_minor = amount_minor + NEW.amount_minor WHERE ledger_account_id = NEW.credit_id;
    SELECT RAISE(ABORT, 'transfer_balance')
    WHERE (SELECT amount_minor FROM balance WHERE ledger_account_id = NEW.credit_id) IS NOT (SELECT COALESCE(SUM(CASE WHEN credit_id = NEW.credit_id THEN amount_minor ELSE -amount_minor END), 0) FROM transfer
        WHERE account_id = (SELECT owner_id FROM ledger_account WHERE id = NEW.credit_id) AND NEW.credit_id IN (debit_id, credit_id));
END
--;;
CREATE TRIGGER transfer_refund_fits AFTER INSERT ON transfer WHEN NEW.kind = 'refund'
BEGIN
    SELECT RAISE(ABORT, 'transfer_refund: more than was paid')
    WHERE COALESCE((SELECT amount_minor FROM transfer WHERE id = NEW.reverses_id AND kind = 'sale'), 0)
        < (SELECT SUM(amount_minor) FROM transfer WHERE reverses_id = NEW.reverses_id);
END
--;;
CREATE TRIGGER journal_recorded_now BEFORE INSERT ON journal WHEN NEW.recorded_at <> strftime('%Y-%m-%dT%H:%M:%SZ', 'now')
BEGIN
    SELECT RAISE(ABORT, 'journal_recorded_at: the database says when');
END
