"""Read ``packages/<name>/package.toml`` once into the :class:`~dayzero.core.package.Package`."""

from dayzero.adapters.package_files.load import CONFIG, LOCK, load_collected, load_package, parse_package

__all__ = ["CONFIG", "LOCK", "load_collected", "load_package", "parse_package"]
