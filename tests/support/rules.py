"""Rules from their definitions: every pair, every condition, every conjunction, one at a time."""

import itertools
import math

import numpy as np
from hypothesis import strategies as st

from echelon.solvers.rules.bodies import Interval, Membership, covers

TECHNIQUES = ("simultaneous", "gradient", "gradient_boosting", "constant_step")
COUNTS = ("once", "per_threshold")


@st.composite
def rule_problems(
    draw, most_rows=8, most_features=2, most_classes=4, most_values=4, missing=False, nominal=False
):
    """Inputs, which of them are nominal, codes, weights and scores; ties in all of them.

    Two classes at least have rows of positive weight.
    """
    n = draw(st.integers(2, most_rows))
    d = draw(st.integers(1, most_features))
    K = draw(st.integers(2, most_classes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.integers(0, draw(st.integers(2, most_values)), size=(n, d)).astype(float)
    if missing and draw(st.booleans()):
        X[rng.random((n, d)) < 0.25] = np.nan
    y = rng.integers(0, K, size=n)
    y[:2] = sorted(rng.choice(K, size=2, replace=False))
    s = rng.choice([0.0, 0.5, 1.0, 1.0, 3.0], size=n)
    s[:2] = rng.choice([0.5, 1.0, 2.0], size=2)
    f = rng.choice([0.25, 1.0]) * rng.integers(-2, 3, size=n)
    columns = tuple(j for j in range(d) if nominal and rng.random() < 0.5)
    return X, columns, y, K, s, f


# ------------------------------------------------------------------------------------------ sums


def pair_sums(f, y, s, covered, count):
    """(W_>, W_<, W_0, split): weights of pairs by which side the rule covers, [DK09] section 3.1.

    `split` is what the pairs with one side covered would weigh with equal scores.
    """
    right = wrong = rest = split = 0.0
    for i, j in itertools.product(range(len(y)), repeat=2):
        if not y[i] > y[j]:
            continue
        mass = (1 if count == "once" else int(y[i] - y[j])) * s[i] * s[j]
        weight = mass * math.exp(-(f[i] - f[j]))
        if covered[i] and not covered[j]:
            right += weight
            split += mass
        elif covered[j] and not covered[i]:
            wrong += weight
            split += mass
        else:
            rest += weight
    return right, wrong, rest, split


def threshold_sums(f, theta, y, s, covered):
    """(P, Q, rest): terms of Σ s·exp(−z(f − θ)) that fall, that rise, and that stay.

    The split measure is the weight of the rows covered.
    """
    falls = rises = rest = 0.0
    for i in range(len(y)):
        for k in range(len(theta)):
            z = 1.0 if k < y[i] else -1.0
            term = s[i] * math.exp(-z * (f[i] - theta[k]))
            if not covered[i]:
                rest += term
            elif z > 0.0:
                falls += term
            else:
                rises += term
    return falls, rises, rest


def gain(technique, right, wrong, split, beta):
    """What the best rule has most of: [DK09] (10), (12), (19) and (20) with the right signs."""
    if technique == "simultaneous":
        return abs(math.sqrt(right) - math.sqrt(wrong))
    if technique == "gradient":
        return abs(right - wrong)
    if technique == "gradient_boosting":
        return abs(right - wrong) / math.sqrt(split) if split > 0.0 else 0.0
    if technique == "constant_step":
        up, down = 1.0 - math.exp(-beta), math.exp(beta) - 1.0
        return max(up * right - down * wrong, up * wrong - down * right)
    raise ValueError(f"technique must be one of {TECHNIQUES}; found {technique!r}.")


# ---------------------------------------------------------------------------------------- bodies


def all_conditions(X, nominal=()):
    """Every elementary condition on single inputs."""
    conditions = []
    for j in range(X.shape[1]):
        values = sorted({float(value) for value in X[:, j] if not math.isnan(value)})
        if j in nominal:
            for value in values:
                conditions += [Membership(j, (int(value),), negated) for negated in (False, True)]
            continue
        for below, above in itertools.pairwise(values):
            cut = 0.5 * (below + above)
            conditions += [Interval(j, upper=cut), Interval(j, lower=cut)]
    return conditions


def with_condition(body, condition):
    """The conjunction of a body and one more condition, with each feature once."""
    kept = [other for other in body if other.feature != condition.feature]
    same = [other for other in body if other.feature == condition.feature]
    merged = _both(same[0], condition) if same else condition
    return tuple(sorted([*kept, merged], key=lambda one: one.feature))


def _both(first, second):
    if isinstance(first, Interval):
        lower, upper = max(first.lower, second.lower), min(first.upper, second.upper)
        return Interval(first.feature, lower, upper)
    if first.negated and second.negated:
        return Membership(first.feature, tuple(sorted({*first.members, *second.members})), True)
    if first.negated or second.negated:
        inside, outside = (second, first) if first.negated else (first, second)
        return Membership(first.feature, tuple(sorted({*inside.members} - {*outside.members})))
    return Membership(first.feature, tuple(sorted({*first.members} & {*second.members})))


def grow_slowly(X, gain_of, nominal=(), max_conditions=None):
    """Add the best condition as long as the gain improves; a body and its gain.

    `gain_of` takes the rows covered, a mask.
    """
    body, best = (), max(0.0, gain_of(np.ones(len(X), dtype=bool)))
    steps = itertools.count() if max_conditions is None else range(max_conditions)
    for _ in steps:
        tried = [with_condition(body, condition) for condition in all_conditions(X, nominal)]
        if not tried:
            break
        gains = [gain_of(covers(other, X)) for other in tried]
        first = int(np.argmax(gains))
        if not gains[first] > best + 1e-10 * abs(best):
            break
        body, best = tried[first], gains[first]
    return body, best


def all_bodies(X, max_conditions, nominal=()):
    """Every conjunction of at most so many elementary conditions, the empty one among them."""
    bodies = layer = {()}
    for _ in range(max_conditions):
        layer = {
            with_condition(body, condition)
            for body in layer
            for condition in all_conditions(X, nominal)
        }
        bodies = bodies | layer
    return sorted(bodies, key=repr)
