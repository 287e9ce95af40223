"""Boosting of ordinal learners, and the stumps and trees that it boosts."""
