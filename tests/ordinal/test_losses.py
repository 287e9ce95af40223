import numpy as np
import pytest

from echelon.ordinal.losses import LOSSES, get_loss


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives_by_differences(name):
    loss = get_loss(name)
    m = np.array([-3.0, -1.1, -0.2, 0.3, 0.9, 1.4, 2.5])
    h = 1e-6
    slope = (loss.value(m + h) - loss.value(m - h)) / (2 * h)
    np.testing.assert_allclose(loss.gradient(m), slope, rtol=1e-6, atol=1e-8)
    bend = (loss.gradient(m + h) - loss.gradient(m - h)) / (2 * h)
    np.testing.assert_allclose(loss.curvature(m), bend, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_fall_are_convex_and_bound_the_error(name):
    loss = get_loss(name)
    m = np.linspace(-4, 4, 161)
    value = loss.value(m)
    scale = loss.value(np.zeros(1))[0]
    assert (np.diff(value) <= 0).all()
    assert (np.diff(value, 2) >= -1e-12).all()
    assert (value >= scale * (m <= 0) - 1e-12).all()
    assert np.isfinite(LOSSES["logistic"].value(np.array([-1e3, 1e3]))).all()


@pytest.mark.parametrize("name", [name for name, loss in LOSSES.items() if loss.ramp])
def test_the_ramp_is_the_loss(name):
    loss = get_loss(name)
    t = np.array([-2.0, -0.3, 0.4, 1.7])
    width = loss.ramp.width or 1e-9
    a = np.clip(t / width, 0.0, loss.ramp.cap)
    np.testing.assert_allclose(-loss.gradient(1.0 - t), a)
    np.testing.assert_allclose(loss.value(1.0 - t), a * t - 0.5 * width * a**2, atol=1e-8)


def test_unknown_loss():
    with pytest.raises(ValueError, match="loss must be 'squared_hinge', 'hinge'"):
        get_loss("ramp")
