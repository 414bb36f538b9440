"""What raw line stands under this number? Raw files, claims, what was not measured, retractions; one hash-chained ledger."""
