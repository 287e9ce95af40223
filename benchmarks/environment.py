"""Facts about the machine and the versions that a figure belongs to."""

from __future__ import annotations

import os
import platform
from typing import Any

from echelon._utils.packages import package_version

PACKAGES = (
    "echelon",
    "numpy",
    "scipy",
    "scikit-learn",
    "statsmodels",
    "mord",
    "skordinal",
    "lightgbm",
    "scikit-survival",
)


def environment() -> dict[str, Any]:
    """Versions, processors and BLAS libraries, as JSON can hold them."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "usable_processors": _usable_processors(),
        "packages": {name: package_version(name) for name in PACKAGES},
        "thread_pools": thread_pools(),
    }


def thread_pools() -> list[dict[str, Any]]:
    """BLAS and OpenMP libraries in this process, without the paths of this machine."""
    import numpy.linalg  # noqa: F401 - loads the BLAS that is asked about
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    kept = ("user_api", "internal_api", "version", "num_threads", "threading_layer", "architecture")
    return [{key: pool[key] for key in kept if key in pool} for pool in threadpool_info()]


def _usable_processors() -> int | None:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count()
