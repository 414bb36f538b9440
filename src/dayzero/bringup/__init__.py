"""The whole job in one sequence: the wall shown, then audit, fit, start, measure, claim, pack, sign, verify, list."""
