"""``python -m dayzero``."""

from dayzero.cli.main import main

if __name__ == "__main__":
    main()
