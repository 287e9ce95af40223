"""Rankers: pairs in the primal and the dual, boosting, perceptrons, linear programs."""
