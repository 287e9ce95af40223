"""``python -m echelon.cli``."""

from . import main

main()
