# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Passes over all rows for a rule that was found: whom it covers, what they weigh, their new factors.

A condition is a table of the codes of a feature that satisfy it.
"""

from libc.math cimport exp
from libc.string cimport memset

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
    cdef const code_t *code = &codes[feature, 0]
    with nogil:
        for i in range(codes.shape[1]):
            inside[i] &= allowed[code[i]]


def weigh_classes(
    const unsigned char[::1] inside, const int[::1] classes, const double[::1] weights,
    double[::1] sums,
):
    """Weight of the rows inside, by class."""
    cdef Py_ssize_t i
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
    with nogil:
        for i in range(f.shape[0]):
            u[i] = weights[i] * exp(least[levels[i]] - f[i])
            v[i] = weights[i] * exp(f[i] - most[levels[i]])


def extremes(
    const double[::1] f, const int[::1] levels, double[::1] least, double[::1] most
):
    """Least and greatest score of every level."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(f.shape[0]):
            least[levels[i]] = min(least[levels[i]], f[i])
            most[levels[i]] = max(most[levels[i]], f[i])


def add_responses(
    const code_t[:, ::1] codes, const Py_ssize_t[::1] starts, const Py_ssize_t[::1] features,
    const Py_ssize_t[::1] offsets, const unsigned char[::1] allowed, const double[::1] responses,
    double[::1] scores,
):
    """Add to the scores of the rows the responses of all rules that cover them.

    Rule m has the conditions starts[m] … starts[m + 1] − 1, at least one; the table of condition t
    begins at offsets[t].
    """
    cdef Py_ssize_t n = codes.shape[1], block = 0, size, left, kept, m, t, i
    cdef int rows[BLOCK]
    cdef const code_t *code
    cdef const unsigned char *table
    with nogil:
        while block < n:
            size = min(<Py_ssize_t>BLOCK, n - block)
            for m in range(responses.shape[0]):
                t = starts[m]
                code = &codes[features[t], block]
                table = &allowed[offsets[t]]
                left = 0
                for i in range(size):
                    rows[left] = <int>i
                    left += table[code[i]]
                for t in range(starts[m] + 1, starts[m + 1]):
                    code = &codes[features[t], block]
                    table = &allowed[offsets[t]]
                    kept = 0
                    for i in range(left):
                        rows[kept] = rows[i]
                        kept += table[code[rows[i]]]
                    left = kept
                for i in range(left):
                    scores[block + rows[i]] += responses[m]
            block += size
