"""Native loops: contiguous arrays in, caller-allocated output, no Python objects."""
