"""Small helpers with no domain in them."""
