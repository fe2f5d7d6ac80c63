"""The rules: one file = one rule, said twice, to the solver and in plain Python."""
