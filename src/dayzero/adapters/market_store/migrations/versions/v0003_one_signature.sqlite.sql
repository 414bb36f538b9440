CREATE TEMP TABLE past_terms AS SELECT t.*, (SELECT group_concat(sha256, ' ') FROM (SELECT sha256 FROM terms_affirmation WHERE terms_id = t.id ORDER BY ord)) AS affirmations FROM terms t
--;;
CREATE TEMP TABLE past_terms_affirmation AS SELECT a.*, (SELECT group_concat(sha256, ' ') FROM (SELECT sha256 FROM terms_affirmation WHERE terms_id = a.terms_id ORDER BY ord)) AS affirmations FROM terms_affirmation a
--;;
CREATE TEMP TABLE past_signature AS SELECT s.*, CASE WHEN EXISTS (SELECT 1 FROM signature_seal WHERE signature_id = s.id)
THEN (SELECT group_concat(sha256, ' ') FROM (SELECT sha256 FROM signature_affirmation WHERE signature_id = s.id ORDER BY ord)) END AS affirmations FROM signature s
--;;
CREATE TEMP TABLE past_orders AS SELECT * FROM orders
--;;
CREATE TEMP TABLE past_entitlement AS SELECT * FROM entitlement
--;;
CREATE TEMP TABLE past_subscription AS SELECT * FROM subscription
--;;
DROP TABLE signature_seal
--;;
DROP TABLE signature_affirmation
--;;
DROP TABLE subscription
--;;
DROP TABLE entitlement
--;;
DROP TABLE orders
--;;
DROP TABLE signature
--;;
DROP TABLE terms_affirmation
--;;
DROP TABLE terms
--;;
CREATE TABLE terms (
    id TEXT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    n_affirmations INTEGER NOT NULL,
    published_at TEXT NOT NULL,
    affirmations TEXT NOT NULL,
    CONSTRAINT terms_pk PRIMARY KEY (id),
    CONSTRAINT terms_uq_id_sha256_affirmations UNIQUE (id, sha256, affirmations),
    CONSTRAINT terms_uq_id_n_affirmations_affirmations UNIQUE (id, n_affirmations, affirmations),
    CONSTRAINT terms_hash CHECK (length(sha256) = 64),
    CONSTRAINT terms_affirmed CHECK (n_affirmations >= 1),
    CONSTRAINT terms_listed CHECK (length(affirmations) = 65 * n_affirmations - 1),
    CONSTRAINT terms_said CHECK (length(trim(body)) > 0)
)
--;;
INSERT INTO terms SELECT * FROM past_terms
--;;
DROP TABLE past_terms
--;;
CREATE TABLE terms_affirmation (
    terms_id TEXT NOT NULL,
    ord INTEGER NOT NULL,
    n_affirmations INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    affirmations TEXT NOT NULL,
    CONSTRAINT terms_affirmation_pk PRIMARY KEY (terms_id, ord),
    CONSTRAINT terms_affirmation_terms FOREIGN KEY(terms_id, n_affirmations, affirmations) REFERENCES terms (id, n_affirmations, affirmations),
    CONSTRAINT terms_affirmation_ord CHECK (ord >= 1 AND ord <= n_affirmations),
    CONSTRAINT terms_affirmation_listed CHECK (substr(affirmations, 65 * ord - 64, 64) = sha256),
    CONSTRAINT terms_affirmation_hash CHECK (length(sha256) = 64)
)
--;;
INSERT INTO terms_affirmation SELECT * FROM past_terms_affirmation
--;;
DROP TABLE past_terms_affirmation
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
    affirmations TEXT NOT NULL,
    CONSTRAINT signature_pk PRIMARY KEY (id),
    CONSTRAINT signature_uq_id_account_terms UNIQUE (id, account_id, terms_id),
    CONSTRAINT signature_account FOREIGN KEY(account_id) REFERENCES account (id),
    CONSTRAINT signature_terms FOREIGN KEY(terms_id, terms_sha256, affirmations) REFERENCES terms (id, sha256, affirmations),
    CONSTRAINT signature_entity CHECK (length(trim(entity)) > 0),
    CONSTRAINT signature_signer CHECK (length(trim(signer)) > 0),
    CONSTRAINT signature_authority CHECK (length(trim(authority)) > 0)
)
--;;
INSERT INTO signature SELECT * FROM past_signature
--;;
DROP TABLE past_signature
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
    CONSTRAINT orders_uq_id_signature_terms UNIQUE (id, signature_id, terms_id),
    CONSTRAINT orders_account FOREIGN KEY(account_id) REFERENCES account (id),
    CONSTRAINT orders_tier FOREIGN KEY(tier_id, product_id, kind, requires_signature, amount_minor, currency) REFERENCES price_tier (id, product_id, kind, requires_signature, amount_minor, currency),
    CONSTRAINT orders_version FOREIGN KEY(tier_id, version_id) REFERENCES price_tier (id, version_id),
    CONSTRAINT orders_terms FOREIGN KEY(tier_id, terms_id) REFERENCES price_tier (id, terms_id),
    CONSTRAINT orders_signature FOREIGN KEY(signature_id, account_id, terms_id) REFERENCES signature (id, account_id, terms_id),
    CONSTRAINT orders_signed CHECK ((requires_signature = 1) = (signature_id IS NOT NULL)),
    CONSTRAINT orders_terms_named CHECK ((requires_signature = 1) = (terms_id IS NOT NULL)),
    CONSTRAINT orders_version_named CHECK ((kind = 'package') = (version_id IS NOT NULL)),
    CONSTRAINT orders_key CHECK (length(idem_key) BETWEEN 1 AND 255)
)
--;;
INSERT INTO orders SELECT * FROM past_orders
--;;
DROP TABLE past_orders
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
    CONSTRAINT entitlement_signature FOREIGN KEY(order_id, signature_id, terms_id) REFERENCES orders (id, signature_id, terms_id),
    CONSTRAINT entitlement_payment FOREIGN KEY(transfer_id, order_id) REFERENCES transfer (id, order_id),
    CONSTRAINT entitlement_signed CHECK ((requires_signature = 1) = (signature_id IS NOT NULL)),
    CONSTRAINT entitlement_terms_named CHECK ((requires_signature = 1) = (terms_id IS NOT NULL))
)
--;;
INSERT INTO entitlement SELECT * FROM past_entitlement
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
    CONSTRAINT subscription_pk PRIMARY KEY (id),
    CONSTRAINT subscription_uq_order UNIQUE (order_id),
    CONSTRAINT subscription_uq_id_account_product UNIQUE (id, account_id, product_id),
    CONSTRAINT subscription_uq_id_account_transfer UNIQUE (id, account_id, transfer_id),
    CONSTRAINT subscription_order FOREIGN KEY(order_id, account_id, product_id, kind, requires_signature) REFERENCES orders (id, account_id, product_id, kind, requires_signature),
    CONSTRAINT subscription_signature FOREIGN KEY(order_id, signature_id, terms_id) REFERENCES orders (id, signature_id, terms_id),
    CONSTRAINT subscription_payment FOREIGN KEY(transfer_id, order_id) REFERENCES transfer (id, order_id),
    CONSTRAINT subscription_kind CHECK (kind = 'maintenance'),
    CONSTRAINT subscription_signed CHECK ((requires_signature = 1) = (signature_id IS NOT NULL)),
    CONSTRAINT subscription_terms_named CHECK ((requires_signature = 1) = (terms_id IS NOT NULL)),
    CONSTRAINT subscription_window CHECK (ends_at > starts_at)
)
--;;
INSERT INTO subscription SELECT * FROM past_subscription
--;;
DROP TABLE past_subscription
--;;
CREATE INDEX entitlement_of_account ON entitlement (account_id, product_id)
--;;
CREATE INDEX subscription_of_account ON subscription (account_id, product_id)
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
CREATE TRIGGER signature_not_updated BEFORE UPDATE ON signature
BEGIN
    SELECT RAISE(ABORT, 'append-only: signature');
END
--;;
CREATE TRIGGER signature_not_deleted BEFORE DELETE ON signature
BEGIN
    SELECT RAISE(ABORT, 'append-only: signature');
END
--;;
CREATE TRIGGER signature_not_replaced BEFORE INSERT ON signature WHEN EXISTS (SELECT 1 FROM signature WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'append-only: signature');
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
CREATE TRIGGER terms_not_updated BEFORE UPDATE ON terms
BEGIN
    SELECT RAISE(ABORT, 'append-only: terms');
END
--;;
CREATE TRIGGER terms_not_deleted BEFORE DELETE ON terms
BEGIN
    SELECT RAISE(ABORT, 'append-only: terms');
END
--;;
CREATE TRIGGER terms_not_replaced BEFORE INSERT ON terms WHEN EXISTS (SELECT 1 FROM terms WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'append-only: terms');
END
--;;
CREATE TRIGGER terms_affirmation_not_updated BEFORE UPDATE ON terms_affirmation
BEGIN
    SELECT RAISE(ABORT, 'append-only: terms_affirmation');
END
--;;
CREATE TRIGGER terms_affirmation_not_deleted BEFORE DELETE ON terms_affirmation
BEGIN
    SELECT RAISE(ABORT, 'append-only: terms_affirmation');
END
--;;
CREATE TRIGGER terms_affirmation_not_replaced BEFORE INSERT ON terms_affirmation WHEN EXISTS (SELECT 1 FROM terms_affirmation WHERE terms_id = NEW.terms_id AND ord = NEW.ord)
BEGIN
    SELECT RAISE(ABORT, 'append-only: terms_affirmation');
END
