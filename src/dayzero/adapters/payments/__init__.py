"""Where money comes from: the buyer's credit, Stripe, and a provider that behaves as badly as one can."""
