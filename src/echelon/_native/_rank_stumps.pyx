# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""RankBoost's passes: the best cut of every feature, and weights of pairs kept as factors of rows.

Rows are sorted by query and level; a *segment* is a run of rows of one query and one level. The
weight of a pair is exp(log_scale)·U·e^{−low}·V·e^{high}, with U a factor of the winner, V one of
the loser, and ``low`` and ``high`` the offsets of their segments, so that no factor leaves the
range of floats however far scores are apart.
"""

from libc.math cimport INFINITY, exp, fabs
from libc.string cimport memset

from ._checks cimport check_indices, check_room, check_size, check_starts

ctypedef fused code_t:
    unsigned char
    int

# Values that a base ranker with few values can take.
cdef enum:
    MOST = 3


def best_edges(
    const double[:, ::1] sums, const Py_ssize_t[::1] first, bint two_sided, double[::1] edges
):
    """The largest edge of a threshold on every feature, whichever its direction.

    ``sums`` has the weights of winners less those of losers by bin, the last bin of a feature
    being that of missing values. These stand with one of the two sides if ``two_sided``, and a cut
    before all bins then tells them from the others; else they stand halfway.
    """
    cdef Py_ssize_t m, g, last
    cdef double below, missing, best
    check_starts("first", first, sums.shape[0])
    check_room("columns of sums", sums.shape[1], 1)
    check_size("edges", edges.shape[0], first.shape[0] - 1)
    for m in range(first.shape[0] - 1):
        check_room("bins of a feature", first[m + 1] - first[m], 1)
    with nogil:
        for m in range(first.shape[0] - 1):
            last = first[m + 1] - 1
            missing = sums[last, 0]
            below = 0.0
            best = fabs(missing) if two_sided else 0.0
            for g in range(first[m], last - 1):
                below += sums[g, 0]
                if two_sided:
                    best = max(best, max(fabs(below), fabs(below + missing)))
                else:
                    best = max(best, fabs(below + 0.5 * missing))
            edges[m] = best


def sum_classes(
    const code_t[::1] codes, const unsigned char[::1] classes, const Py_ssize_t[::1] starts,
    const unsigned char[::1] wins, const unsigned char[::1] loses,
    const double[::1] u, const double[::1] v, double[:, ::1] U, double[:, ::1] V,
):
    """Sums of u and v by segment over the rows of each class, which follows from a row's code.

    u is summed where the segment ``wins`` over another, v where it ``loses``.
    """
    cdef Py_ssize_t s
    check_segments(starts, wins, loses, u, v)
    check_size("codes", codes.shape[0], u.shape[0])
    check_indices("codes", codes, classes.shape[0])
    check_indices("classes", classes, min(<Py_ssize_t>MOST, min(U.shape[1], V.shape[1])))
    check_size("U", U.shape[0], wins.shape[0])
    check_size("V", V.shape[0], wins.shape[0])
    with nogil:
        memset(&U[0, 0], 0, U.shape[0] * U.shape[1] * sizeof(double))
        memset(&V[0, 0], 0, V.shape[0] * V.shape[1] * sizeof(double))
        for s in range(starts.shape[0] - 1):
            if wins[s]:
                _sum(&codes[0], &classes[0], starts[s], starts[s + 1], &u[0], &U[s, 0])
            if loses[s]:
                _sum(&codes[0], &classes[0], starts[s], starts[s + 1], &v[0], &V[s, 0])


cdef int check_segments(
    const Py_ssize_t[::1] starts, const unsigned char[::1] wins, const unsigned char[::1] loses,
    const double[::1] u, const double[::1] v,
) except -1:
    check_size("v", v.shape[0], u.shape[0])
    check_starts("starts", starts, u.shape[0])
    check_size("wins", wins.shape[0], starts.shape[0] - 1)
    return check_size("loses", loses.shape[0], starts.shape[0] - 1)


cdef inline void _sum(
    const code_t *codes, const unsigned char *classes, Py_ssize_t start, Py_ssize_t stop,
    const double *factors, double *sums,
) noexcept nogil:
    # Two sets of sums, so that one addition need not wait for the other.
    cdef double even[MOST]
    cdef double odd[MOST]
    cdef Py_ssize_t i = start, a
    for a in range(MOST):
        even[a] = 0.0
        odd[a] = 0.0
    while i + 1 < stop:
        even[classes[codes[i]]] += factors[i]
        odd[classes[codes[i + 1]]] += factors[i + 1]
        i += 2
    if i < stop:
        even[classes[codes[i]]] += factors[i]
    for a in range(MOST):
        # Only classes that exist have a place.
        if even[a] != 0.0 or odd[a] != 0.0:
            sums[a] = even[a] + odd[a]


def pair_masses(
    const double[:, ::1] U, const double[:, ::1] V, const Py_ssize_t[::1] queries,
    const double[::1] log_scales, const double[::1] low, const double[::1] high,
    double log_total, double[:, ::1] masses,
):
    """Sums of U[winner, a]·V[loser, b] over pairs of segments of a query, over e^log_total."""
    cdef Py_ssize_t A = U.shape[1], q, s, a, b
    cdef double below[MOST]
    cdef double unit, top
    check_queries(U, V, queries, log_scales, low, high)
    check_size("columns of V", V.shape[1], A)
    if A > MOST:
        raise ValueError(f"U must have {MOST} columns at most; found {A}.")
    check_size("masses", masses.shape[0], A)
    check_size("columns of masses", masses.shape[1], A)
    with nogil:
        memset(&masses[0, 0], 0, A * A * sizeof(double))
        for q in range(queries.shape[0] - 1):
            top = -INFINITY
            for s in range(queries[q], queries[q + 1]):
                if s > queries[q]:
                    unit = exp(log_scales[q] + top - low[s] - log_total)
                    for a in range(A):
                        for b in range(A):
                            masses[a, b] += U[s, a] * below[b] * unit
                top = _gather(&V[s, 0], high[s], s == queries[q], top, below, A)


cdef int check_queries(
    const double[:, ::1] U, const double[:, ::1] V, const Py_ssize_t[::1] queries,
    const double[::1] log_scales, const double[::1] low, const double[::1] high,
) except -1:
    check_size("V", V.shape[0], U.shape[0])
    check_starts("queries", queries, U.shape[0])
    check_size("log_scales", log_scales.shape[0], queries.shape[0] - 1)
    check_size("low", low.shape[0], U.shape[0])
    return check_size("high", high.shape[0], U.shape[0])


def segment_factors(
    const double[:, ::1] U, const double[:, ::1] V, const Py_ssize_t[::1] queries,
    const double[::1] log_scales, const double[::1] low, const double[::1] high,
    double log_total, double[::1] upper, double[::1] lower,
):
    """What u is multiplied by to give the weight of a row's pairs as winner, and v as loser."""
    cdef Py_ssize_t q, s
    cdef double held = 0.0, top
    check_queries(U, V, queries, log_scales, low, high)
    check_room("columns of U", U.shape[1], 1)
    check_room("columns of V", V.shape[1], 1)
    check_size("upper", upper.shape[0], U.shape[0])
    check_size("lower", lower.shape[0], U.shape[0])
    with nogil:
        for q in range(queries.shape[0] - 1):
            top = -INFINITY
            for s in range(queries[q], queries[q + 1]):
                upper[s] = 0.0
                if s > queries[q]:
                    upper[s] = held * exp(log_scales[q] + top - low[s] - log_total)
                top = _gather(&V[s, 0], high[s], s == queries[q], top, &held, 1)
            top = -INFINITY
            for s in range(queries[q + 1] - 1, queries[q] - 1, -1):
                lower[s] = 0.0
                if s < queries[q + 1] - 1:
                    lower[s] = held * exp(log_scales[q] + top + high[s] - log_total)
                top = _gather(&U[s, 0], -low[s], s == queries[q + 1] - 1, top, &held, 1)


cdef inline double _gather(
    const double *sums, double offset, bint is_first, double top, double *held, Py_ssize_t A
) noexcept nogil:
    """Add sums·e^offset to held·e^top; the larger exponent is the new one."""
    cdef Py_ssize_t a
    cdef double shrink
    if is_first:
        for a in range(A):
            held[a] = sums[a]
        return offset
    if offset > top:
        shrink = exp(top - offset)
        for a in range(A):
            held[a] = held[a] * shrink + sums[a]
        return offset
    shrink = exp(offset - top)
    for a in range(A):
        held[a] += sums[a] * shrink
    return top


def step_rows(
    const code_t[::1] codes, const unsigned char[::1] classes, const double[::1] steps,
    const Py_ssize_t[::1] starts, const unsigned char[::1] wins, const unsigned char[::1] loses,
    const double[::1] upper, const double[::1] lower,
    double[::1] scores, double[::1] u, double[::1] v, double[::1] weights,
):
    """Add each class's step to the scores; factors and weights of the rows follow."""
    cdef Py_ssize_t s, i, a
    cdef double falls[MOST]
    cdef double rises[MOST]
    cdef unsigned char k
    check_segments(starts, wins, loses, u, v)
    check_size("codes", codes.shape[0], u.shape[0])
    check_indices("codes", codes, classes.shape[0])
    if steps.shape[0] > MOST:
        raise ValueError(f"steps must number {MOST} at most; found {steps.shape[0]}.")
    check_indices("classes", classes, steps.shape[0])
    check_size("upper", upper.shape[0], wins.shape[0])
    check_size("lower", lower.shape[0], wins.shape[0])
    check_size("scores", scores.shape[0], u.shape[0])
    check_size("weights", weights.shape[0], u.shape[0])
    with nogil:
        for a in range(steps.shape[0]):
            falls[a] = exp(-steps[a])
            rises[a] = exp(steps[a])
        for s in range(starts.shape[0] - 1):
            for i in range(starts[s], starts[s + 1]):
                k = classes[codes[i]]
                scores[i] += steps[k]
                weights[i] = 0.0
                if wins[s]:
                    u[i] *= falls[k]
                    weights[i] = u[i] * upper[s]
                if loses[s]:
                    v[i] *= rises[k]
                    weights[i] -= v[i] * lower[s]
