"""What measures are called where they are written out, in the order in which they are told."""

MEASURE_NAMES = {
    "cost": "mean cost",
    "mae": "mean absolute rank error",
    "zero_one": "zero-one error",
    "within_one": "right or one rank off",
    "qwk": "quadratic weighted kappa",
    "rps": "ranked probability score",
    "log_loss": "log loss",
    "interval_coverage": "share of labels in their interval",
    "interval_width": "labels in an interval",
    "pairwise_accuracy": "pairs in order",
    "ndcg@10": "NDCG@10",
}
