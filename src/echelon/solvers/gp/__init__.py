"""Gaussian processes for ordered labels: priors, likelihoods, evidence, predictions."""
