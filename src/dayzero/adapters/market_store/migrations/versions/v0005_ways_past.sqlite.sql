DROP TRIGGER account_not_replaced
--;;
CREATE TRIGGER account_not_replaced BEFORE INSERT ON account WHEN EXISTS (SELECT 1 FROM account WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM account WHERE name = NEW.name) OR EXISTS (SELECT 1 FROM account WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: account');
END
--;;
DROP TRIGGER block_not_replaced
--;;
CREATE TRIGGER block_not_replaced BEFORE INSERT ON block WHEN EXISTS (SELECT 1 FROM block WHERE seq = NEW.seq) OR EXISTS (SELECT 1 FROM block WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: block');
END
--;;
DROP TRIGGER download_not_replaced
--;;
CREATE TRIGGER download_not_replaced BEFORE INSERT ON download WHEN EXISTS (SELECT 1 FROM download WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM download WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: download');
END
--;;
DROP TRIGGER entitlement_not_replaced
--;;
CREATE TRIGGER entitlement_not_replaced BEFORE INSERT ON entitlement WHEN EXISTS (SELECT 1 FROM entitlement WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM entitlement WHERE order_id = NEW.order_id) OR EXISTS (SELECT 1 FROM entitlement WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: entitlement');
END
--;;
DROP TRIGGER journal_not_replaced
--;;
CREATE TRIGGER journal_not_replaced BEFORE INSERT ON journal WHEN EXISTS (SELECT 1 FROM journal WHERE account_id = NEW.account_id AND seq = NEW.seq) OR EXISTS (SELECT 1 FROM journal WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: journal');
END
--;;
DROP TRIGGER ledger_account_not_replaced
--;;
CREATE TRIGGER ledger_account_not_replaced BEFORE INSERT ON ledger_account WHEN EXISTS (SELECT 1 FROM ledger_account WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM ledger_account WHERE owner_id = NEW.owner_id AND kind = NEW.kind AND provider = NEW.provider AND currency = NEW.currency) OR EXISTS (SELECT 1 FROM ledger_account WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: ledger_account');
END
--;;
DROP TRIGGER orders_not_replaced
--;;
CREATE TRIGGER orders_not_replaced BEFORE INSERT ON orders WHEN EXISTS (SELECT 1 FROM orders WHERE account_id = NEW.account_id AND idem_key = NEW.idem_key) OR EXISTS (SELECT 1 FROM orders WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM orders WHERE signature_id = NEW.signature_id) OR EXISTS (SELECT 1 FROM orders WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: orders');
END
--;;
DROP TRIGGER package_version_not_replaced
--;;
CREATE TRIGGER package_version_not_replaced BEFORE INSERT ON package_version WHEN EXISTS (SELECT 1 FROM package_version WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM package_version WHERE product_id = NEW.product_id AND version = NEW.version) OR EXISTS (SELECT 1 FROM package_version WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: package_version');
END
--;;
DROP TRIGGER payment_not_replaced
--;;
CREATE TRIGGER payment_not_replaced BEFORE INSERT ON payment WHEN EXISTS (SELECT 1 FROM payment WHERE order_id = NEW.order_id) OR EXISTS (SELECT 1 FROM payment WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: payment');
END
--;;
DROP TRIGGER payment_session_not_replaced
--;;
CREATE TRIGGER payment_session_not_replaced BEFORE INSERT ON payment_session WHEN EXISTS (SELECT 1 FROM payment_session WHERE order_id = NEW.order_id) OR EXISTS (SELECT 1 FROM payment_session WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: payment_session');
END
--;;
DROP TRIGGER price_tier_not_replaced
--;;
CREATE TRIGGER price_tier_not_replaced BEFORE INSERT ON price_tier WHEN EXISTS (SELECT 1 FROM price_tier WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM price_tier WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: price_tier');
END
--;;
DROP TRIGGER product_not_replaced
--;;
CREATE TRIGGER product_not_replaced BEFORE INSERT ON product WHEN EXISTS (SELECT 1 FROM product WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM product WHERE name = NEW.name) OR EXISTS (SELECT 1 FROM product WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: product');
END
--;;
DROP TRIGGER provider_event_not_replaced
--;;
CREATE TRIGGER provider_event_not_replaced BEFORE INSERT ON provider_event WHEN EXISTS (SELECT 1 FROM provider_event WHERE provider = NEW.provider AND event_id = NEW.event_id) OR EXISTS (SELECT 1 FROM provider_event WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: provider_event');
END
--;;
DROP TRIGGER revocation_not_replaced
--;;
CREATE TRIGGER revocation_not_replaced BEFORE INSERT ON revocation WHEN EXISTS (SELECT 1 FROM revocation WHERE entitlement_id = NEW.entitlement_id) OR EXISTS (SELECT 1 FROM revocation WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM revocation WHERE refund_id = NEW.refund_id) OR EXISTS (SELECT 1 FROM revocation WHERE subscription_id = NEW.subscription_id) OR EXISTS (SELECT 1 FROM revocation WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: revocation');
END
--;;
DROP TRIGGER settlement_not_replaced
--;;
CREATE TRIGGER settlement_not_replaced BEFORE INSERT ON settlement WHEN EXISTS (SELECT 1 FROM settlement WHERE order_id = NEW.order_id AND outcome = NEW.outcome) OR EXISTS (SELECT 1 FROM settlement WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: settlement');
END
--;;
DROP TRIGGER signature_not_replaced
--;;
CREATE TRIGGER signature_not_replaced BEFORE INSERT ON signature WHEN EXISTS (SELECT 1 FROM signature WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM signature WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: signature');
END
--;;
DROP TRIGGER signature_policy_not_replaced
--;;
CREATE TRIGGER signature_policy_not_replaced BEFORE INSERT ON signature_policy WHEN EXISTS (SELECT 1 FROM signature_policy WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM signature_policy WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: signature_policy');
END
--;;
DROP TRIGGER subscription_not_replaced
--;;
CREATE TRIGGER subscription_not_replaced BEFORE INSERT ON subscription WHEN EXISTS (SELECT 1 FROM subscription WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM subscription WHERE order_id = NEW.order_id) OR EXISTS (SELECT 1 FROM subscription WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: subscription');
END
--;;
DROP TRIGGER terms_not_replaced
--;;
CREATE TRIGGER terms_not_replaced BEFORE INSERT ON terms WHEN EXISTS (SELECT 1 FROM terms WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM terms WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: terms');
END
--;;
DROP TRIGGER terms_affirmation_not_replaced
--;;
CREATE TRIGGER terms_affirmation_not_replaced BEFORE INSERT ON terms_affirmation WHEN EXISTS (SELECT 1 FROM terms_affirmation WHERE terms_id = NEW.terms_id AND ord = NEW.ord) OR EXISTS (SELECT 1 FROM terms_affirmation WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: terms_affirmation');
END
--;;
DROP TRIGGER tier_withdrawal_not_replaced
--;;
CREATE TRIGGER tier_withdrawal_not_replaced BEFORE INSERT ON tier_withdrawal WHEN EXISTS (SELECT 1 FROM tier_withdrawal WHERE tier_id = NEW.tier_id) OR EXISTS (SELECT 1 FROM tier_withdrawal WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: tier_withdrawal');
END
--;;
DROP TRIGGER transfer_not_replaced
--;;
CREATE TRIGGER transfer_not_replaced BEFORE INSERT ON transfer WHEN EXISTS (SELECT 1 FROM transfer WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM transfer WHERE idem_key = NEW.idem_key) OR EXISTS (SELECT 1 FROM transfer WHERE order_id = NEW.order_id) OR EXISTS (SELECT 1 FROM transfer WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: transfer');
END
--;;
DROP TRIGGER version_notice_not_replaced
--;;
CREATE TRIGGER version_notice_not_replaced BEFORE INSERT ON version_notice WHEN EXISTS (SELECT 1 FROM version_notice WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM version_notice WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: version_notice');
END
--;;
DROP TRIGGER balance_not_invented
--;;
CREATE TRIGGER balance_not_invented BEFORE INSERT ON balance
WHEN NEW.amount_minor IS NOT (SELECT COALESCE(SUM(CASE WHEN credit_id = NEW.ledger_account_id THEN amount_minor ELSE -amount_minor END), 0) FROM transfer
        WHERE account_id = (SELECT owner_id FROM ledger_account WHERE id = NEW.ledger_account_id) AND NEW.ledger_account_id IN (debit_id, credit_id))
    OR EXISTS (SELECT 1 FROM balance WHERE ledger_account_id = NEW.ledger_account_id) OR EXISTS (SELECT 1 FROM balance WHERE rowid = NEW.rowid AND rowid <> -1)
BEGIN
    SELECT RAISE(ABORT, 'append-only: balance follows the transfers');
END
--;;
CREATE TRIGGER account_typed BEFORE INSERT ON account WHEN typeof(NEW.id) NOT IN ('text', 'null') OR typeof(NEW.name) NOT IN ('text', 'null') OR typeof(NEW.created_at) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'account_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER balance_typed BEFORE INSERT ON balance WHEN typeof(NEW.ledger_account_id) NOT IN ('text', 'null') OR typeof(NEW.amount_minor) NOT IN ('integer', 'null')
BEGIN
    SELECT RAISE(ABORT, 'balance_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER block_typed BEFORE INSERT ON block WHEN typeof(NEW.seq) NOT IN ('integer', 'null') OR typeof(NEW.prev_seq) NOT IN ('integer', 'null') OR typeof(NEW.body) NOT IN ('text', 'null') OR typeof(NEW.prev_hash) NOT IN ('text', 'null') OR typeof(NEW.hash) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'block_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER download_typed BEFORE INSERT ON download WHEN typeof(NEW.id) NOT IN ('text', 'null') OR typeof(NEW.account_id) NOT IN ('text', 'null') OR typeof(NEW.product_id) NOT IN ('text', 'null') OR typeof(NEW.version_id) NOT IN ('text', 'null') OR typeof(NEW.kit_sha256) NOT IN ('text', 'null') OR typeof(NEW.entitlement_id) NOT IN ('text', 'null') OR typeof(NEW.entitled_version_id) NOT IN ('text', 'null') OR typeof(NEW.subscription_id) NOT IN ('text', 'null') OR typeof(NEW.at) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'download_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER entitlement_typed BEFORE INSERT ON entitlement WHEN typeof(NEW.id) NOT IN ('text', 'null') OR typeof(NEW.order_id) NOT IN ('text', 'null') OR typeof(NEW.account_id) NOT IN ('text', 'null') OR typeof(NEW.product_id) NOT IN ('text', 'null') OR typeof(NEW.version_id) NOT IN ('text', 'null') OR typeof(NEW.requires_signature) NOT IN ('integer', 'null') OR typeof(NEW.signature_id) NOT IN ('text', 'null') OR typeof(NEW.terms_id) NOT IN ('text', 'null') OR typeof(NEW.transfer_id) NOT IN ('text', 'null') OR typeof(NEW.granted_at) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'entitlement_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER journal_typed BEFORE INSERT ON journal WHEN typeof(NEW.account_id) NOT IN ('text', 'null') OR typeof(NEW.seq) NOT IN ('integer', 'null') OR typeof(NEW.prev_seq) NOT IN ('integer', 'null') OR typeof(NEW.kind) NOT IN ('text', 'null') OR typeof(NEW.body) NOT IN ('text', 'null') OR typeof(NEW.prev_hash) NOT IN ('text', 'null') OR typeof(NEW.hash) NOT IN ('text', 'null') OR typeof(NEW.recorded_at) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'journal_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER ledger_account_typed BEFORE INSERT ON ledger_account WHEN typeof(NEW.id) NOT IN ('text', 'null') OR typeof(NEW.owner_id) NOT IN ('text', 'null') OR typeof(NEW.kind) NOT IN ('text', 'null') OR typeof(NEW.provider) NOT IN ('text', 'null') OR typeof(NEW.currency) NOT IN ('text', 'null') OR typeof(NEW.opened_at) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'ledger_account_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER orders_typed BEFORE INSERT ON orders WHEN typeof(NEW.id) NOT IN ('text', 'null') OR typeof(NEW.account_id) NOT IN ('text', 'null') OR typeof(NEW.idem_key) NOT IN ('text', 'null') OR typeof(NEW.request_sha256) NOT IN ('text', 'null') OR typeof(NEW.tier_id) NOT IN ('text', 'null') OR typeof(NEW.product_id) NOT IN ('text', 'null') OR typeof(NEW.kind) NOT IN ('text', 'null') OR typeof(NEW.version_id) NOT IN ('text', 'null') OR typeof(NEW.requires_signature) NOT IN ('integer', 'null') OR typeof(NEW.amount_minor) NOT IN ('integer', 'null') OR typeof(NEW.currency) NOT IN ('text', 'null') OR typeof(NEW.signature_id) NOT IN ('text', 'null') OR typeof(NEW.terms_id) NOT IN ('text', 'null') OR typeof(NEW.provider) NOT IN ('text', 'null') OR typeof(NEW.placed_at) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'orders_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER package_version_typed BEFORE INSERT ON package_version WHEN typeof(NEW.id) NOT IN ('text', 'null') OR typeof(NEW.product_id) NOT IN ('text', 'null') OR typeof(NEW.version) NOT IN ('text', 'null') OR typeof(NEW.definition_sha256) NOT IN ('text', 'null') OR typeof(NEW.kit_sha256) NOT IN ('text', 'null') OR typeof(NEW.published_at) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'package_version_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER payment_typed BEFORE INSERT ON payment WHEN typeof(NEW.order_id) NOT IN ('text', 'null') OR typeof(NEW.account_id) NOT IN ('text', 'null') OR typeof(NEW.provider) NOT IN ('text', 'null') OR typeof(NEW.amount_minor) NOT IN ('integer', 'null') OR typeof(NEW.currency) NOT IN ('text', 'null') OR typeof(NEW.at) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'payment_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER payment_session_typed BEFORE INSERT ON payment_session WHEN typeof(NEW.order_id) NOT IN ('text', 'null') OR typeof(NEW.reference) NOT IN ('text', 'null') OR typeof(NEW.url) NOT IN ('text', 'null') OR typeof(NEW.at) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'payment_session_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER price_tier_typed BEFORE INSERT ON price_tier WHEN typeof(NEW.id) NOT IN ('text', 'null') OR typeof(NEW.product_id) NOT IN ('text', 'null') OR typeof(NEW.kind) NOT IN ('text', 'null') OR typeof(NEW.version_id) NOT IN ('text', 'null') OR typeof(NEW.maintenance_days) NOT IN ('integer', 'null') OR typeof(NEW.name) NOT IN ('text', 'null') OR typeof(NEW.amount_minor) NOT IN ('integer', 'null') OR typeof(NEW.currency) NOT IN ('text', 'null') OR typeof(NEW.policy_id) NOT IN ('text', 'null') OR typeof(NEW.threshold_minor) NOT IN ('integer', 'null') OR typeof(NEW.requires_signature) NOT IN ('integer', 'null') OR typeof(NEW.terms_id) NOT IN ('text', 'null') OR typeof(NEW.published_at) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'price_tier_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER product_typed BEFORE INSERT ON product WHEN typeof(NEW.id) NOT IN ('text', 'null') OR typeof(NEW.name) NOT IN ('text', 'null') OR typeof(NEW.title) NOT IN ('text', 'null') OR typeof(NEW.created_at) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'product_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER provider_event_typed BEFORE INSERT ON provider_event WHEN typeof(NEW.provider) NOT IN ('text', 'null') OR typeof(NEW.event_id) NOT IN ('text', 'null') OR typeof(NEW.kind) NOT IN ('text', 'null') OR typeof(NEW.order_id) NOT IN ('text', 'null') OR typeof(NEW.payment_ref) NOT IN ('text', 'null') OR typeof(NEW.amount_minor) NOT IN ('integer', 'null') OR typeof(NEW.currency) NOT IN ('text', 'null') OR typeof(NEW.body) NOT IN ('text', 'null') OR typeof(NEW.received_at) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'provider_event_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER revocation_typed BEFORE INSERT ON revocation WHEN typeof(NEW.id) NOT IN ('text', 'null') OR typeof(NEW.account_id) NOT IN ('text', 'null') OR typeof(NEW.entitlement_id) NOT IN ('text', 'null') OR typeof(NEW.subscription_id) NOT IN ('text', 'null') OR typeof(NEW.reason) NOT IN ('text', 'null') OR typeof(NEW.note) NOT IN ('text', 'null') OR typeof(NEW.sale_id) NOT IN ('text', 'null') OR typeof(NEW.refund_id) NOT IN ('text', 'null') OR typeof(NEW.at) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'revocation_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER settlement_typed BEFORE INSERT ON settlement WHEN typeof(NEW.order_id) NOT IN ('text', 'null') OR typeof(NEW.outcome) NOT IN ('text', 'null') OR typeof(NEW.provider) NOT IN ('text', 'null') OR typeof(NEW.event_id) NOT IN ('text', 'null') OR typeof(NEW.transfer_id) NOT IN ('text', 'null') OR typeof(NEW.at) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'settlement_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER signature_typed BEFORE INSERT ON signature WHEN typeof(NEW.id) NOT IN ('text', 'null') OR typeof(NEW.account_id) NOT IN ('text', 'null') OR typeof(NEW.terms_id) NOT IN ('text', 'null') OR typeof(NEW.terms_sha256) NOT IN ('text', 'null') OR typeof(NEW.entity) NOT IN ('text', 'null') OR typeof(NEW.signer) NOT IN ('text', 'null') OR typeof(NEW.authority) NOT IN ('text', 'null') OR typeof(NEW.signed_at) NOT IN ('text', 'null') OR typeof(NEW.affirmations) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'signature_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER signature_policy_typed BEFORE INSERT ON signature_policy WHEN typeof(NEW.id) NOT IN ('text', 'null') OR typeof(NEW.currency) NOT IN ('text', 'null') OR typeof(NEW.threshold_minor) NOT IN ('integer', 'null') OR typeof(NEW.at) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'signature_policy_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER subscription_typed BEFORE INSERT ON subscription WHEN typeof(NEW.id) NOT IN ('text', 'null') OR typeof(NEW.order_id) NOT IN ('text', 'null') OR typeof(NEW.account_id) NOT IN ('text', 'null') OR typeof(NEW.product_id) NOT IN ('text', 'null') OR typeof(NEW.kind) NOT IN ('text', 'null') OR typeof(NEW.requires_signature) NOT IN ('integer', 'null') OR typeof(NEW.signature_id) NOT IN ('text', 'null') OR typeof(NEW.terms_id) NOT IN ('text', 'null') OR typeof(NEW.transfer_id) NOT IN ('text', 'null') OR typeof(NEW.starts_at) NOT IN ('text', 'null') OR typeof(NEW.ends_at) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'subscription_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER terms_typed BEFORE INSERT ON terms WHEN typeof(NEW.id) NOT IN ('text', 'null') OR typeof(NEW.title) NOT IN ('text', 'null') OR typeof(NEW.body) NOT IN ('text', 'null') OR typeof(NEW.sha256) NOT IN ('text', 'null') OR typeof(NEW.n_affirmations) NOT IN ('integer', 'null') OR typeof(NEW.published_at) NOT IN ('text', 'null') OR typeof(NEW.affirmations) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'terms_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER terms_affirmation_typed BEFORE INSERT ON terms_affirmation WHEN typeof(NEW.terms_id) NOT IN ('text', 'null') OR typeof(NEW.ord) NOT IN ('integer', 'null') OR typeof(NEW.n_affirmations) NOT IN ('integer', 'null') OR typeof(NEW.kind) NOT IN ('text', 'null') OR typeof(NEW.body) NOT IN ('text', 'null') OR typeof(NEW.sha256) NOT IN ('text', 'null') OR typeof(NEW.affirmations) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'terms_affirmation_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER tier_withdrawal_typed BEFORE INSERT ON tier_withdrawal WHEN typeof(NEW.tier_id) NOT IN ('text', 'null') OR typeof(NEW.reason) NOT IN ('text', 'null') OR typeof(NEW.at) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'tier_withdrawal_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER transfer_typed BEFORE INSERT ON transfer WHEN typeof(NEW.id) NOT IN ('text', 'null') OR typeof(NEW.kind) NOT IN ('text', 'null') OR typeof(NEW.account_id) NOT IN ('text', 'null') OR typeof(NEW.order_id) NOT IN ('text', 'null') OR typeof(NEW.reverses_id) NOT IN ('text', 'null') OR typeof(NEW.debit_id) NOT IN ('text', 'null') OR typeof(NEW.debit_kind) NOT IN ('text', 'null') OR typeof(NEW.debit_owner) NOT IN ('text', 'null') OR typeof(NEW.credit_id) NOT IN ('text', 'null') OR typeof(NEW.credit_kind) NOT IN ('text', 'null') OR typeof(NEW.credit_owner) NOT IN ('text', 'null') OR typeof(NEW.amount_minor) NOT IN ('integer', 'null') OR typeof(NEW.currency) NOT IN ('text', 'null') OR typeof(NEW.idem_key) NOT IN ('text', 'null') OR typeof(NEW.reason) NOT IN ('text', 'null') OR typeof(NEW.at) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'transfer_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER version_notice_typed BEFORE INSERT ON version_notice WHEN typeof(NEW.id) NOT IN ('text', 'null') OR typeof(NEW.version_id) NOT IN ('text', 'null') OR typeof(NEW.kind) NOT IN ('text', 'null') OR typeof(NEW.body) NOT IN ('text', 'null') OR typeof(NEW.at) NOT IN ('text', 'null')
BEGIN
    SELECT RAISE(ABORT, 'version_notice_typed: a column holds what it is not for');
END
--;;
CREATE TRIGGER transfer_delivered BEFORE INSERT ON transfer WHEN NEW.debit_kind = 'clearing' AND NOT (CASE NEW.kind
        WHEN 'sale' THEN EXISTS (SELECT 1 FROM ledger_account a JOIN provider_event e ON e.provider = a.provider WHERE a.id = NEW.debit_id
            AND e.kind = 'paid' AND e.amount_minor = NEW.amount_minor AND e.currency = NEW.currency AND e.order_id = NEW.order_id)
        ELSE EXISTS (SELECT 1 FROM ledger_account a JOIN provider_event e ON e.provider = a.provider WHERE a.id = NEW.debit_id
            AND e.kind = 'paid' AND e.amount_minor = NEW.amount_minor AND e.currency = NEW.currency AND e.event_id = substr(NEW.idem_key, length(a.provider) + 10)
            AND NEW.idem_key = 'deposit:' || e.provider || ':' || e.event_id
            AND EXISTS (SELECT 1 FROM orders o WHERE o.id = e.order_id AND o.account_id = NEW.account_id))
    END)
BEGIN
    SELECT RAISE(ABORT, 'transfer_delivered: no delivery says that it was paid');
END
