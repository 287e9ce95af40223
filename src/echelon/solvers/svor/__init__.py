"""Support vector ordinal regression: the dual problems and the engine that solves them."""
