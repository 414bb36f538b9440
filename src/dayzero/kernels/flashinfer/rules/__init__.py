"""Rules that are true of FlashInfer only. Each module is one entry point of ``dayzero.audit_rules``."""
