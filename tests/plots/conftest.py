import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")


@pytest.fixture(autouse=True)
def closed():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")
