"""The one error of this package that the command line turns into a sentence."""

from echelon.cli.failures import UsageError


class ReproductionError(UsageError):
    """A request that cannot be carried out, said in one sentence."""
