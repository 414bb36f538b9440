"""Settings: where things are kept, where models are asked for, and which Python runs pip and the embedded engine."""

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """Say where engines, wheels and weights are kept: ``$DAYZERO_CACHE``, else ``dayzero`` in the user's cache folder."""
    chosen = os.environ.get("DAYZERO_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "dayzero"


def python_executable() -> str:
    """Give the interpreter that runs pip and the embedded engine."""
    return sys.executable


def hub_endpoint() -> str:
    """Say where models are asked for: ``$HF_ENDPOINT``, else the public hub."""
    return os.environ.get("HF_ENDPOINT") or "https://huggingface.co"


def hub_token() -> str:
    """Give what the hub asks for gated models, ``""`` where none is set."""
    return os.environ.get("HF_TOKEN", "")


def hub_offline() -> bool:
    """Say whether the hub must not be asked: ``$HF_HUB_OFFLINE``."""
    return os.environ.get("HF_HUB_OFFLINE", "").lower() in {"1", "on", "true", "yes"}


def stripe_key() -> str:
    """Give Stripe's secret key, ``""`` where none is set: ``$STRIPE_API_KEY``."""
    return os.environ.get("STRIPE_API_KEY", "")


def stripe_api() -> str:
    """Give the address of Stripe's API, ``""`` for its own: ``$STRIPE_API_BASE``."""
    return os.environ.get("STRIPE_API_BASE", "")


def stripe_webhook_secret() -> str:
    """Give the secret that Stripe signs its deliveries with, ``""`` where none is set: ``$STRIPE_WEBHOOK_SECRET``."""
    return os.environ.get("STRIPE_WEBHOOK_SECRET", "")
