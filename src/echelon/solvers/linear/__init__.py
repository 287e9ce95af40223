"""Linear models: cumulative links, linear support vectors, the perceptron with thresholds."""
