"""Campaigns of random cases against everything that takes what others give."""
