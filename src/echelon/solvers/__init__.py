"""Solvers: arrays in, a result with an optimality certificate out. They know no estimator."""
