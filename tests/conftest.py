"""Settings and strategies shared by all tests."""

import gc
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "echelon",
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    derandomize=True,
)
settings.load_profile("echelon")


def pytest_collection_finish():
    """Thousands of collected tests stay until the end; no collection of garbage looks at them."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def rng():
    return np.random.default_rng(20260901)


@pytest.fixture
def run(monkeypatch):
    """Run a command as from a shell; its exit code."""
    from echelon import cli

    def run_command(*arguments):
        monkeypatch.setattr(sys, "argv", ["echelon", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return stop.value.code or 0

    return run_command
