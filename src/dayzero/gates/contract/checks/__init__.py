"""The checks of the contract, one a file; :mod:`dayzero.gates.contract.registry` puts them in order."""
