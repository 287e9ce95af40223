"""Sets of item pairs and what can be counted over them without listing them."""
