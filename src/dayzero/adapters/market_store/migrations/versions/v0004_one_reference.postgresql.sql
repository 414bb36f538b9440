ALTER TABLE entitlement
    DROP CONSTRAINT entitlement_order,
    DROP CONSTRAINT entitlement_signature,
    DROP CONSTRAINT entitlement_signed,
    DROP CONSTRAINT entitlement_terms_named
--;;
ALTER TABLE subscription
    DROP CONSTRAINT subscription_order,
    DROP CONSTRAINT subscription_signature,
    DROP CONSTRAINT subscription_signed,
    DROP CONSTRAINT subscription_terms_named
--;;
ALTER TABLE orders
    DROP CONSTRAINT orders_tier,
    DROP CONSTRAINT orders_version,
    DROP CONSTRAINT orders_terms,
    DROP CONSTRAINT orders_terms_named,
    DROP CONSTRAINT orders_version_named,
    DROP CONSTRAINT orders_uq_id_account_product_version_requires_signature,
    DROP CONSTRAINT orders_uq_id_account_product_kind_requires_signature,
    DROP CONSTRAINT orders_uq_id_signature_terms
--;;
ALTER TABLE price_tier
    DROP CONSTRAINT price_tier_uq_id_product_kind_requires_signature_amount_minor_c,
    DROP CONSTRAINT price_tier_uq_id_version,
    DROP CONSTRAINT price_tier_uq_id_terms,
    ADD COLUMN version_key TEXT GENERATED ALWAYS AS (coalesce(version_id, '')) STORED NOT NULL,
    ADD COLUMN terms_key TEXT GENERATED ALWAYS AS (coalesce(terms_id, '')) STORED NOT NULL,
    ADD CONSTRAINT price_tier_uq_id_product_kind_requires_signature_amount_minor_c UNIQUE (id, product_id, kind, requires_signature, amount_minor, currency, version_key, terms_key),
    ADD CONSTRAINT price_tier_version_named CHECK (version_id <> ''),
    ADD CONSTRAINT price_tier_terms_named CHECK (terms_id <> '')
--;;
ALTER TABLE orders
    ADD COLUMN version_key TEXT GENERATED ALWAYS AS (coalesce(version_id, '')) STORED NOT NULL,
    ADD COLUMN signature_key TEXT GENERATED ALWAYS AS (coalesce(signature_id, '')) STORED NOT NULL,
    ADD COLUMN terms_key TEXT GENERATED ALWAYS AS (coalesce(terms_id, '')) STORED NOT NULL,
    ADD CONSTRAINT orders_uq_id_account_product_version_key_requires_signature_sig UNIQUE (id, account_id, product_id, version_key, requires_signature, signature_key, terms_key),
    ADD CONSTRAINT orders_tier FOREIGN KEY(tier_id, product_id, kind, requires_signature, amount_minor, currency, version_key, terms_key) REFERENCES price_tier (id, product_id, kind, requires_signature, amount_minor, currency, version_key, terms_key),
    ADD CONSTRAINT orders_signature_named CHECK (signature_id <> '')
--;;
ALTER TABLE entitlement
    DROP CONSTRAINT entitlement_uq_id_account_product_version CASCADE,
    ADD COLUMN signature_key TEXT GENERATED ALWAYS AS (coalesce(signature_id, '')) STORED NOT NULL,
    ADD COLUMN terms_key TEXT GENERATED ALWAYS AS (coalesce(terms_id, '')) STORED NOT NULL,
    ADD CONSTRAINT entitlement_uq_account_product_id_version UNIQUE (account_id, product_id, id, version_id),
    ADD CONSTRAINT entitlement_order FOREIGN KEY(order_id, account_id, product_id, version_id, requires_signature, signature_key, terms_key) REFERENCES orders (id, account_id, product_id, version_key, requires_signature, signature_key, terms_key),
    ADD CONSTRAINT entitlement_version CHECK (version_id <> '')
--;;
ALTER TABLE subscription
    DROP CONSTRAINT subscription_uq_id_account_product CASCADE,
    ADD COLUMN version_key TEXT GENERATED ALWAYS AS (coalesce(NULL, '')) STORED NOT NULL,
    ADD COLUMN signature_key TEXT GENERATED ALWAYS AS (coalesce(signature_id, '')) STORED NOT NULL,
    ADD COLUMN terms_key TEXT GENERATED ALWAYS AS (coalesce(terms_id, '')) STORED NOT NULL,
    ADD CONSTRAINT subscription_uq_account_product_id UNIQUE (account_id, product_id, id),
    ADD CONSTRAINT subscription_order FOREIGN KEY(order_id, account_id, product_id, version_key, requires_signature, signature_key, terms_key) REFERENCES orders (id, account_id, product_id, version_key, requires_signature, signature_key, terms_key)
--;;
ALTER TABLE download
    ADD CONSTRAINT download_entitlement FOREIGN KEY(entitlement_id, account_id, product_id, entitled_version_id) REFERENCES entitlement (id, account_id, product_id, version_id),
    ADD CONSTRAINT download_subscription FOREIGN KEY(subscription_id, account_id, product_id) REFERENCES subscription (id, account_id, product_id)
--;;
ALTER TABLE transfer
    DROP CONSTRAINT transfer_sides,
    DROP CONSTRAINT transfer_key,
    DROP CONSTRAINT transfer_uq_id_reverses CASCADE,
    DROP CONSTRAINT transfer_uq_id_account_debit_credit_currency CASCADE,
    ADD CONSTRAINT transfer_uq_reverses_id UNIQUE (reverses_id, id),
    ADD CONSTRAINT transfer_uq_account_id_debit_credit_currency UNIQUE (account_id, id, debit_id, credit_id, currency),
    ADD CONSTRAINT transfer_reverses FOREIGN KEY(reverses_id, account_id, credit_id, debit_id, currency) REFERENCES transfer (id, account_id, debit_id, credit_id, currency),
    ADD CONSTRAINT transfer_sides CHECK (kind || debit_kind || credit_kind IN ('grantgrantswallet', 'depositclearingwallet', 'salewalletrevenue', 'saleclearingrevenue', 'refundrevenuewallet', 'refundrevenueclearing')),
    ADD CONSTRAINT transfer_key CHECK (coalesce(order_id, idem_key) IS NOT NULL)
--;;
ALTER TABLE revocation
    ADD CONSTRAINT revocation_refund FOREIGN KEY(refund_id, sale_id) REFERENCES transfer (id, reverses_id)
--;;
ALTER TABLE journal
    DROP CONSTRAINT journal_order,
    ADD CONSTRAINT journal_order CHECK (seq = coalesce(prev_seq, 0) + 1 AND (prev_seq IS NOT NULL OR prev_hash = ''))
--;;
DROP INDEX transfer_of_account
--;;
DROP INDEX entitlement_of_account
--;;
DROP INDEX subscription_of_account
