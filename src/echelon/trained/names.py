"""Names of the columns of predictions."""

PREDICTED, PROBABILITY, LOW, HIGH = "predicted", "p_", "interval_low", "interval_high"
SCORE = "score"
