"""Concepts of ordered labels: scales, costs, reduction, thresholds, losses, likelihoods.

Everything here is NumPy and SciPy on plain arrays. Ranks are *codes* 0 … K−1, and
threshold k separates the codes ≤ k from the codes > k, so there are K−1 of them.
"""
