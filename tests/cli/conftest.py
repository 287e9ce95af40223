"""A model to run commands on."""

import pytest
from support.mixed_tables import ORDER, mixed_frame


@pytest.fixture(scope="session")
def model_file(tmp_path_factory):
    """A saved linear model of `mixed_frame`, with probabilities and intervals."""
    from echelon.tables import labelled_table
    from echelon.trained import train

    table = labelled_table(mixed_frame(), "rating", ORDER)
    path = tmp_path_factory.mktemp("models") / "ratings.echelon"
    train(table, "ProportionalOdds logit").save(path)
    return path
