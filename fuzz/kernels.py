"""Native loops with valid and with spoilt arguments, and small fits, under sanitizers.

A spoilt call must be refused by a ValueError or an IndexError, or be answered. `FUNCTIONS` has all
that Python can call; a test sees to that.
"""

from __future__ import annotations

from fuzz import sanitized

sanitized.use()

import warnings  # noqa: E402

import numpy as np  # noqa: E402

from fuzz import kernel_fits, pair_kernels, rule_kernels, stump_kernels  # noqa: E402
from fuzz.campaign import ANSWERED, REFUSED, Case  # noqa: E402

FUNCTIONS = {**rule_kernels.CALLS, **stump_kernels.CALLS, **pair_kernels.CALLS}
# Calls in one case, so that most of the time is spent in them.
CALLS = 20
# One case in so many fits an estimator.
FITS_EVERY = 12


def environment() -> dict[str, str]:
    """See `sanitized.environment`."""
    return sanitized.environment()


def case(seed: int) -> Case:
    """Twenty calls of one function, or a fit and its answers."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if seed % FITS_EVERY == 0:
            return kernel_fits.case(rng)
        name = list(FUNCTIONS)[int(rng.integers(len(FUNCTIONS)))]
        spoil = bool(rng.random() < 0.6)
        return calls_of(name, spoil, rng)


def calls_of(name: str, spoil: bool, rng: np.random.Generator) -> Case:
    """So many calls of one function, all valid or all spoilt."""
    refused = 0
    for number in range(CALLS):
        call = FUNCTIONS[name](rng)
        try:
            if spoil:
                call = call.spoilt(rng)
                call.run(*call.arguments.values())
                continue
            complaint = call.complaint()
        except (ValueError, IndexError) as error:
            if not spoil:
                return Case(name, "foreign", f"a valid call, {number}: {error!r}")
            refused += 1
            continue
        except MemoryError:
            # Of a size that was asked for; nothing else is short of memory here.
            refused += 1
            continue
        except Exception as error:
            return Case(name, "foreign", f"call {number}: {error!r}")
        if complaint:
            outcome = "not finite" if complaint.startswith("not finite") else "different"
            return Case(name, outcome, f"call {number}: {complaint}")
    return Case(name, REFUSED if refused > CALLS // 2 else ANSWERED, count=CALLS)
