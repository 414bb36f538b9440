CREATE FUNCTION market_money_came() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF NOT (CASE NEW.kind
        WHEN 'sale' THEN EXISTS (SELECT 1 FROM ledger_account a JOIN provider_event e ON e.provider = a.provider WHERE a.id = NEW.debit_id
            AND e.kind = 'paid' AND e.amount_minor = NEW.amount_minor AND e.currency = NEW.currency AND e.order_id = NEW.order_id)
        ELSE EXISTS (SELECT 1 FROM ledger_account a JOIN provider_event e ON e.provider = a.provider WHERE a.id = NEW.debit_id
            AND e.kind = 'paid' AND e.amount_minor = NEW.amount_minor AND e.currency = NEW.currency AND e.event_id = substr(NEW.idem_key, length(a.provider) + 10)
            AND NEW.idem_key = 'deposit:' || e.provider || ':' || e.event_id
            AND EXISTS (SELECT 1 FROM orders o WHERE o.id = e.order_id AND o.account_id = NEW.account_id))
    END) THEN
        RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = 'transfer_delivered: no delivery says that it was paid';
    END IF;
    RETURN NULL;
END $$
--;;
CREATE TRIGGER transfer_delivered AFTER INSERT ON transfer
    FOR EACH ROW WHEN (NEW.debit_kind = 'clearing') EXECUTE FUNCTION market_money_came()
--;;
REVOKE EXECUTE ON FUNCTION market_append_only(), market_balance_is_kept(), market_open_balance(), market_move_balance(),
    market_refund_fits(), market_money_came() FROM PUBLIC
