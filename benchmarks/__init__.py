"""Speed and memory of Echelon beside its peers; run as ``python -m benchmarks``."""
