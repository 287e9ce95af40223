"""The one error of this package that the command line turns into a sentence."""


class ReproductionError(ValueError):
    """A request that cannot be carried out, said in one sentence."""
