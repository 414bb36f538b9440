"""What a buyer does, as pages that need no script and as an API; every answer of it is made now and kept nowhere."""
