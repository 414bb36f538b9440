"""Run the verifier: ``python -m dayzero_verify KIT.zip --key KEY.pub.pem``."""

from dayzero_verify.cli import main

if __name__ == "__main__":
    main()
