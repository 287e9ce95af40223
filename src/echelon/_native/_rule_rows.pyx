# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Passes over all rows for a rule that was found: whom it covers, what they weigh, their new factors.

A condition is a table of the codes of a feature that satisfy it.
"""

import numpy as np

cdef extern from *:
    const Py_ssize_t PY_SSIZE_T_MAX

from libc.math cimport exp
from libc.string cimport memset

from ._checks cimport check_index, check_indices, check_size, check_starts, within

ctypedef fused code_t:
    unsigned char
    int

cdef enum:
    BLOCK = 4096


def cover(
    const code_t[:, ::1] codes, Py_ssize_t feature, const unsigned char[::1] allowed,
    unsigned char[::1] inside,
):
    """Leave inside the rows whose code of a feature is allowed."""
    cdef Py_ssize_t i
    cdef const code_t *code
    check_index("feature", feature, codes.shape[0])
    check_size("inside", inside.shape[0], codes.shape[1])
    check_indices("codes", codes[feature], allowed.shape[0])
    code = &codes[feature, 0]
    with nogil:
        for i in range(codes.shape[1]):
            inside[i] &= allowed[code[i]]


def weigh_classes(
    const unsigned char[::1] inside, const int[::1] classes, const double[::1] weights,
    double[::1] sums,
):
    """Weight of the rows inside, by class."""
    cdef Py_ssize_t i
    check_size("inside", inside.shape[0], classes.shape[0])
    check_size("weights", weights.shape[0], classes.shape[0])
    check_indices("classes", classes, sums.shape[0])
    with nogil:
        memset(&sums[0], 0, sums.shape[0] * sizeof(double))
        for i in range(classes.shape[0]):
            if inside[i]:
                sums[classes[i]] += weights[i]


def sum_sides(
    const unsigned char[::1] inside, const int[::1] levels, const double[::1] u,
    const double[::1] v, double[:, ::1] sums,
):
    """Sums of u and v by level over the rows outside, then over those inside: four rows."""
    cdef Py_ssize_t i, K = sums.shape[1]
    cdef double *place
    check_size("sums", sums.shape[0], 4)
    check_size("u", u.shape[0], levels.shape[0])
    check_size("v", v.shape[0], levels.shape[0])
    check_size("inside", inside.shape[0], levels.shape[0])
    check_indices("inside", inside, 2)
    check_indices("levels", levels, K)
    with nogil:
        memset(&sums[0, 0], 0, 4 * K * sizeof(double))
        for i in range(levels.shape[0]):
            place = &sums[2 * inside[i], levels[i]]
            place[0] += u[i]
            place[K] += v[i]


def raise_scores(
    const unsigned char[::1] inside, double step, double[::1] f, double[::1] u, double[::1] v
):
    """Add the step to the scores of the rows inside, and multiply their factors accordingly."""
    cdef Py_ssize_t i
    cdef double fall = exp(-step), rise = exp(step)
    check_size("inside", inside.shape[0], f.shape[0])
    check_size("u", u.shape[0], f.shape[0])
    check_size("v", v.shape[0], f.shape[0])
    with nogil:
        for i in range(f.shape[0]):
            if inside[i]:
                f[i] += step
                u[i] *= fall
                v[i] *= rise


def factors(
    const double[::1] f, const double[::1] weights, const int[::1] levels,
    const double[::1] least, const double[::1] most, double[::1] u, double[::1] v,
):
    """u = weight·exp(least − f) and v = weight·exp(f − most), with the extremes of each level."""
    cdef Py_ssize_t i
    check_size("weights", weights.shape[0], f.shape[0])
    check_size("u", u.shape[0], f.shape[0])
    check_size("v", v.shape[0], f.shape[0])
    check_levels(f, levels, least, most)
    with nogil:
        for i in range(f.shape[0]):
            u[i] = weights[i] * exp(least[levels[i]] - f[i])
            v[i] = weights[i] * exp(f[i] - most[levels[i]])


def extremes(
    const double[::1] f, const int[::1] levels, double[::1] least, double[::1] most
):
    """Least and greatest score of every level."""
    cdef Py_ssize_t i
    check_levels(f, levels, least, most)
    with nogil:
        for i in range(f.shape[0]):
            least[levels[i]] = min(least[levels[i]], f[i])
            most[levels[i]] = max(most[levels[i]], f[i])


cdef int check_levels(
    const double[::1] f, const int[::1] levels, const double[::1] least, const double[::1] most
) except -1:
    check_size("levels", levels.shape[0], f.shape[0])
    check_size("most", most.shape[0], least.shape[0])
    return check_indices("levels", levels, least.shape[0])


def add_responses(
    const code_t[:, ::1] codes, const Py_ssize_t[::1] starts, const Py_ssize_t[::1] features,
    const Py_ssize_t[::1] offsets, const unsigned char[::1] allowed, const double[::1] responses,
    double[::1] scores,
):
    """Add to the scores of the rows the responses of all rules that cover them.

    Rule m has the conditions starts[m] … starts[m + 1] − 1, at least one; the table of condition t,
    of zeros and ones, begins at offsets[t] and ends at offsets[t + 1].
    """
    cdef Py_ssize_t n = codes.shape[1], block = 0, size, left, m, t, i
    # Places within a block, which has few rows.
    cdef int rows[BLOCK]
    cdef Py_ssize_t[::1] shortest = check_rules(
        codes.shape[0], starts, features, offsets, allowed, responses.shape[0]
    )
    cdef bint outside = False
    check_size("scores", scores.shape[0], n)
    with nogil:
        while block < n:
            size = min(<Py_ssize_t>BLOCK, n - block)
            # Codes are checked a block at a time, so that they come from memory once.
            for i in range(codes.shape[0]):
                outside |= not within(&codes[i, block], size, shortest[i])
            if outside:
                break
            for m in range(responses.shape[0]):
                t = starts[m]
                left = _first(&codes[features[t], block], &allowed[offsets[t]], rows, size)
                for t in range(starts[m] + 1, starts[m + 1]):
                    left = _keep(&codes[features[t], block], &allowed[offsets[t]], rows, left)
                for i in range(left):
                    scores[block + rows[i]] += responses[m]
            block += size
    if outside:
        raise IndexError("codes must have a place in the tables of all conditions; found others.")


cdef Py_ssize_t _first(
    const code_t *codes, const unsigned char *table, int *rows, Py_ssize_t n
) noexcept nogil:
    """Put the places whose codes the table allows into rows; how many."""
    cdef Py_ssize_t i, left = 0
    for i in range(n):
        rows[left] = <int>i
        left += table[codes[i]]
    return left


cdef Py_ssize_t _keep(
    const code_t *codes, const unsigned char *table, int *rows, Py_ssize_t n
) noexcept nogil:
    """Of the first n places in rows keep those whose codes the table allows; how many."""
    cdef Py_ssize_t i, left = 0
    cdef int row
    for i in range(n):
        row = rows[i]
        rows[left] = row
        left += table[codes[row]]
    return left


cdef Py_ssize_t[::1] check_rules(
    Py_ssize_t n_features, const Py_ssize_t[::1] starts, const Py_ssize_t[::1] features,
    const Py_ssize_t[::1] offsets, const unsigned char[::1] allowed, Py_ssize_t n_rules,
):
    """Refuse rules that name what is not there, or whose tables would count a row twice.

    Returns the length of the shortest table on each feature.
    """
    cdef Py_ssize_t m, t
    cdef Py_ssize_t[::1] shortest = np.full(n_features, PY_SSIZE_T_MAX, dtype=np.intp)
    check_size("starts", starts.shape[0], n_rules + 1)
    check_starts("starts", starts, features.shape[0])
    check_size("offsets", offsets.shape[0], features.shape[0] + 1)
    check_starts("offsets", offsets, allowed.shape[0])
    check_indices("features", features, n_features)
    check_indices("allowed", allowed, 2)
    for m in range(n_rules):
        if starts[m] == starts[m + 1]:
            raise ValueError(f"starts must give each rule a condition; rule {m} has none.")
    for t in range(features.shape[0]):
        shortest[features[t]] = min(shortest[features[t]], offsets[t + 1] - offsets[t])
    return shortest
