ALTER TABLE terms DISABLE TRIGGER terms_append_only
--;;
ALTER TABLE terms_affirmation DISABLE TRIGGER terms_affirmation_append_only
--;;
ALTER TABLE signature DISABLE TRIGGER signature_append_only
--;;
ALTER TABLE terms ADD COLUMN affirmations TEXT
--;;
ALTER TABLE terms_affirmation ADD COLUMN affirmations TEXT
--;;
ALTER TABLE signature ADD COLUMN affirmations TEXT
--;;
UPDATE terms t SET affirmations = (SELECT string_agg(sha256, ' ' ORDER BY ord) FROM terms_affirmation WHERE terms_id = t.id)
--;;
UPDATE terms_affirmation a SET affirmations = (SELECT affirmations FROM terms WHERE id = a.terms_id)
--;;
UPDATE signature s SET affirmations = (SELECT string_agg(sha256, ' ' ORDER BY ord) FROM signature_affirmation WHERE signature_id = s.id)
WHERE EXISTS (SELECT 1 FROM signature_seal WHERE signature_id = s.id)
--;;
ALTER TABLE terms ENABLE TRIGGER terms_append_only
--;;
ALTER TABLE terms_affirmation ENABLE TRIGGER terms_affirmation_append_only
--;;
ALTER TABLE signature ENABLE TRIGGER signature_append_only
--;;
ALTER TABLE entitlement DROP CONSTRAINT entitlement_seal, DROP CONSTRAINT entitlement_signature
--;;
ALTER TABLE subscription DROP CONSTRAINT subscription_seal, DROP CONSTRAINT subscription_signature
--;;
ALTER TABLE orders DROP CONSTRAINT orders_seal, DROP CONSTRAINT orders_uq_id_signature
--;;
DROP TABLE signature_seal
--;;
DROP TABLE signature_affirmation
--;;
ALTER TABLE signature DROP CONSTRAINT signature_terms
--;;
ALTER TABLE terms_affirmation DROP CONSTRAINT terms_affirmation_terms, DROP CONSTRAINT terms_affirmation_uq_terms_ord_sha256
--;;
ALTER TABLE terms DROP CONSTRAINT terms_uq_id_sha256, DROP CONSTRAINT terms_uq_id_n_affirmations
--;;
ALTER TABLE terms
    ALTER COLUMN affirmations SET NOT NULL,
    ADD CONSTRAINT terms_uq_id_sha256_affirmations UNIQUE (id, sha256, affirmations),
    ADD CONSTRAINT terms_uq_id_n_affirmations_affirmations UNIQUE (id, n_affirmations, affirmations),
    ADD CONSTRAINT terms_listed CHECK (length(affirmations) = 65 * n_affirmations - 1)
--;;
ALTER TABLE terms_affirmation
    ALTER COLUMN affirmations SET NOT NULL,
    ADD CONSTRAINT terms_affirmation_terms FOREIGN KEY(terms_id, n_affirmations, affirmations) REFERENCES terms (id, n_affirmations, affirmations),
    ADD CONSTRAINT terms_affirmation_listed CHECK (substr(affirmations, 65 * ord - 64, 64) = sha256)
--;;
ALTER TABLE signature
    ALTER COLUMN affirmations SET NOT NULL,
    ADD CONSTRAINT signature_terms FOREIGN KEY(terms_id, terms_sha256, affirmations) REFERENCES terms (id, sha256, affirmations)
--;;
ALTER TABLE orders
    ADD CONSTRAINT orders_uq_id_signature_terms UNIQUE (id, signature_id, terms_id),
    ADD CONSTRAINT orders_signature FOREIGN KEY(signature_id, account_id, terms_id) REFERENCES signature (id, account_id, terms_id)
--;;
ALTER TABLE entitlement
    ADD CONSTRAINT entitlement_signature FOREIGN KEY(order_id, signature_id, terms_id) REFERENCES orders (id, signature_id, terms_id)
--;;
ALTER TABLE subscription
    ADD CONSTRAINT subscription_signature FOREIGN KEY(order_id, signature_id, terms_id) REFERENCES orders (id, signature_id, terms_id)
--;;
CREATE OR REPLACE FUNCTION market_balance_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = 'append-only: balance follows the transfers';
END $$
--;;
CREATE OR REPLACE FUNCTION market_move_balance() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    wallet text := CASE WHEN NEW.debit_kind = 'wallet' THEN NEW.debit_id ELSE NEW.credit_id END;
    change bigint := CASE WHEN NEW.debit_kind = 'wallet' THEN -NEW.amount_minor ELSE NEW.amount_minor END;
BEGIN
    UPDATE balance SET amount_minor = amount_minor + change WHERE ledger_account_id = wallet;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = 'transfer_balance: no balance is kept of ' || wallet;
    END IF;
    RETURN NULL;
END $$
--;;
DROP TRIGGER balance_kept ON balance
--;;
CREATE TRIGGER balance_kept BEFORE DELETE OR TRUNCATE ON balance
    FOR EACH STATEMENT EXECUTE FUNCTION market_balance_is_kept()
--;;
CREATE TRIGGER balance_follows BEFORE INSERT OR UPDATE ON balance
    FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION market_balance_is_kept()
