"""The catalog as a live site and API: routes, what an error looks like, which headers every answer carries."""
