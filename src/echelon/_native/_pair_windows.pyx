# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Sums over pairs of rows of one query and different levels, by sweeps along their scores.

Rows lie sorted by query and then by ascending score f; query q is rows bounds[q] … bounds[q+1]−1
and its levels are 0 … n_levels[q]−1. A row's partners as the winner of a pair are the rows of lower
levels, as the loser those of higher levels; a pair is in the *window* where
f_winner − f_loser < margin.

Seen along −f with the levels turned round, losers are winners, so one sweep does both (side 1 and
side −1): it walks down the scores and keeps totals by level of the rows that have entered the
window. No row leaves, so nothing is ever subtracted. Of few levels the totals are running sums over
the lower levels, O(n·FEW) without a branch that depends on the data; of many they are a Fenwick
tree, O(n log K).
"""

from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset

from ._checks cimport (
    check_indices, check_numbered, check_room, check_size, check_starts, ints_within, refuse_indices
)

cdef enum:
    FEW = 8
    CHUNK = 256

# Row l, column r: whether level l is below level r.
cdef double BELOW[FEW][FEW]
cdef Py_ssize_t _l, _r
for _l in range(FEW):
    for _r in range(FEW):
        BELOW[_l][_r] = _l < _r


cdef struct Node:
    # Of the tree: Σ w, Σ w·u and Σ w·u² of the shortfalls u = margin − (x − x_partner) that a row
    # at x = place has.
    double mass
    double lack
    double square
    double place


cdef inline Py_ssize_t _nearest(
    Py_ssize_t last, Py_ssize_t first, Py_ssize_t k, double side
) noexcept nogil:
    """Row number k of a query, counted from its highest score, or from its lowest if side is −1."""
    return last - 1 - k if side > 0 else first + k


cdef inline Py_ssize_t _rank(int32_t level, int32_t n_levels, double side) noexcept nogil:
    return level if side > 0 else n_levels - 1 - level


def group_by_query(
    const Py_ssize_t[::1] order,
    const Py_ssize_t[::1] queries,
    Py_ssize_t[::1] cursors,
    Py_ssize_t[::1] grouped,
):
    """Sort row numbers by query, keeping their order within each; cursors: where queries begin."""
    cdef Py_ssize_t k, row, q, n = order.shape[0], place = 0
    check_size("queries", queries.shape[0], n)
    check_size("grouped", grouped.shape[0], n)
    check_indices("order", order, n)
    check_indices("queries", queries, cursors.shape[0])
    with nogil:
        for k in range(n):
            row = order[k]
            q = queries[row]
            place = cursors[q]
            if not 0 <= place < n:
                break
            grouped[place] = row
            cursors[q] = place + 1
    if not 0 <= place < n and n:
        refuse_indices("cursors", n)


cdef int check_levels(
    const Py_ssize_t[::1] bounds, const int32_t[::1] n_levels, const int32_t[::1] levels,
    Py_ssize_t tree,
) except -1:
    """Refuse bounds and levels that are not of these rows, or of more levels than the tree has."""
    cdef Py_ssize_t q
    check_starts("bounds", bounds, levels.shape[0])
    check_size("n_levels", n_levels.shape[0], bounds.shape[0] - 1)
    # Windows are numbers of rows of a query in 32 bits.
    check_numbered("rows", levels.shape[0])
    for q in range(n_levels.shape[0]):
        if not ints_within(<const int *>&levels[bounds[q]], bounds[q + 1] - bounds[q], n_levels[q]):
            refuse_indices(f"levels of query {q}", n_levels[q])
        if n_levels[q] > FEW:
            check_room("tree", tree, <Py_ssize_t>n_levels[q] + 1)
    return 0


def window_moments(
    const Py_ssize_t[::1] bounds,
    const int32_t[::1] n_levels,
    const int32_t[::1] levels,
    const double[::1] scores,
    const double[::1] weights,
    double margin,
    double side,
    double[:, ::1] tree,
    double[:, ::1] moments,
    int32_t[::1] entered,
):
    """Σ w, Σ w·u and Σ w·u² over each row's partners in the window.

    u is the shortfall margin − (f_winner − f_loser). The rows are the winners if side is 1 and the
    losers if it is −1. ``tree`` has four columns and a row more than the most levels; it is scratch.
    ``moments`` of shape (n, 3) gets the sums and ``entered`` the number of rows of the query in the
    row's window, whatever their levels.
    """
    cdef Py_ssize_t q
    check_levels(bounds, n_levels, levels, tree.shape[0])
    check_size("columns of tree", tree.shape[1], 4)
    check_size("scores", scores.shape[0], levels.shape[0])
    check_size("weights", weights.shape[0], levels.shape[0])
    check_size("moments", moments.shape[0], levels.shape[0])
    check_size("columns of moments", moments.shape[1], 3)
    check_size("entered", entered.shape[0], levels.shape[0])
    with nogil:
        for q in range(bounds.shape[0] - 1):
            if bounds[q] == bounds[q + 1]:
                continue
            if n_levels[q] <= FEW:
                _few_moments(
                    bounds[q], bounds[q + 1], n_levels[q], &levels[0], &scores[0], &weights[0],
                    margin, side, &moments[0, 0], &entered[0],
                )
                continue
            memset(&tree[0, 0], 0, (<Py_ssize_t>n_levels[q] + 1) * sizeof(Node))
            _many_moments(
                bounds[q], bounds[q + 1], n_levels[q], &levels[0], &scores[0], &weights[0],
                margin, side, <Node *> &tree[0, 0], &moments[0, 0], &entered[0],
            )


cdef void _few_moments(
    Py_ssize_t first, Py_ssize_t last, int32_t n_levels, const int32_t *levels,
    const double *scores, const double *weights, double margin, double side, double *moments,
    int32_t *entered,
) noexcept nogil:
    cdef Py_ssize_t k, r, row, partner, rank, n = last - first, n_entered = 0
    cdef double x = side * scores[_nearest(last, first, 0, side)], u, w, shift
    cdef double mass[FEW]
    cdef double lack[FEW]
    cdef double square[FEW]
    memset(mass, 0, sizeof(mass))
    memset(lack, 0, sizeof(lack))
    memset(square, 0, sizeof(square))
    for k in range(n):
        row = _nearest(last, first, k, side)
        # Seen from the lower x every shortfall is larger by the shift: all terms are positive.
        shift = x - side * scores[row]
        x = side * scores[row]
        for r in range(FEW):
            square[r] += shift * (2.0 * lack[r] + shift * mass[r])
            lack[r] += shift * mass[r]
        while n_entered < n:
            partner = _nearest(last, first, n_entered, side)
            u = x - side * scores[partner]
            if not u < margin:
                break
            u = margin - u
            rank = _rank(levels[partner], n_levels, side)
            for r in range(FEW):
                w = weights[partner] * BELOW[rank][r]
                mass[r] += w
                lack[r] += w * u
                square[r] += w * u * u
            n_entered += 1
        rank = _rank(levels[row], n_levels, side)
        moments[3 * row] = mass[rank]
        moments[3 * row + 1] = lack[rank]
        moments[3 * row + 2] = square[rank]
        entered[row] = <int32_t>n_entered


cdef void _many_moments(
    Py_ssize_t first, Py_ssize_t last, int32_t n_levels, const int32_t *levels,
    const double *scores, const double *weights, double margin, double side, Node *tree,
    double *moments, int32_t *entered,
) noexcept nogil:
    cdef Py_ssize_t k, row, partner, at, n = last - first, n_entered = 0
    cdef double x, u, w, shift, mass, lack, square
    for k in range(n):
        row = _nearest(last, first, k, side)
        x = side * scores[row]
        while n_entered < n:
            partner = _nearest(last, first, n_entered, side)
            u = x - side * scores[partner]
            if not u < margin:
                break
            u = margin - u
            w = weights[partner]
            at = _rank(levels[partner], n_levels, side) + 1
            while at < n_levels:
                shift = tree[at].place - x
                tree[at].square += shift * (2.0 * tree[at].lack + shift * tree[at].mass) + w * u * u
                tree[at].lack += shift * tree[at].mass + w * u
                tree[at].mass += w
                tree[at].place = x
                at += at & -at
            n_entered += 1
        mass = 0
        lack = 0
        square = 0
        at = _rank(levels[row], n_levels, side)
        while at > 0:
            shift = tree[at].place - x
            mass += tree[at].mass
            lack += tree[at].lack + shift * tree[at].mass
            square += tree[at].square + shift * (2.0 * tree[at].lack + shift * tree[at].mass)
            at &= at - 1
        moments[3 * row] = mass
        moments[3 * row + 1] = lack
        moments[3 * row + 2] = square
        entered[row] = <int32_t>n_entered


def window_sums(
    const Py_ssize_t[::1] bounds,
    const int32_t[::1] n_levels,
    const int32_t[::1] levels,
    const double[::1] charges,
    const int32_t[:, ::1] entered,
    double[::1] tree,
    double[::1] sums,
):
    """Sum of a charge over each row's partners in the window, in both roles.

    ``entered`` of shape (2, n) are the windows of the winners and of the losers. ``tree`` has an
    entry more than the most levels; it is scratch.
    """
    cdef Py_ssize_t q, role
    cdef double side
    check_levels(bounds, n_levels, levels, tree.shape[0])
    check_size("charges", charges.shape[0], levels.shape[0])
    check_size("entered", entered.shape[0], 2)
    check_size("columns of entered", entered.shape[1], levels.shape[0])
    check_size("sums", sums.shape[0], levels.shape[0])
    for q in range(n_levels.shape[0]):
        check_windows(&entered[0, bounds[q]], &entered[1, bounds[q]], bounds[q + 1] - bounds[q])
    with nogil:
        memset(&sums[0], 0, sums.shape[0] * sizeof(double))
        for q in range(bounds.shape[0] - 1):
            for role in range(2):
                side = 1.0 if role == 0 else -1.0
                if n_levels[q] <= FEW:
                    _few_sums(
                        bounds[q], bounds[q + 1], n_levels[q], &levels[0], &charges[0],
                        &entered[role, 0], side, &sums[0],
                    )
                else:
                    _many_sums(
                        bounds[q], bounds[q + 1], n_levels[q], &levels[0], &charges[0],
                        &entered[role, 0], side, &tree[0], &sums[0],
                    )


cdef int check_windows(
    const int32_t *won, const int32_t *lost, Py_ssize_t n
) except -1:
    """Refuse windows of a query that do not grow along the sweep, or hold more rows than it has."""
    cdef Py_ssize_t k
    cdef bint good = (
        ints_within(<const int *>won, n, n + 1) and ints_within(<const int *>lost, n, n + 1)
    )
    for k in range(n - 1):
        good &= won[k] >= won[k + 1]
        good &= lost[k] <= lost[k + 1]
    if not good:
        raise ValueError(
            "entered must fall with the score for winners, rise for losers, and not exceed the "
            "rows of the query."
        )
    return 0


cdef inline void _few_sums(
    Py_ssize_t first, Py_ssize_t last, int32_t n_levels, const int32_t *levels,
    const double *charges, const int32_t *entered, double side, double *sums,
) noexcept nogil:
    """Running sums in chunks: those of all rows that enter, then those that are asked for."""
    cdef Py_ssize_t k = 0, c, r, row, rank, size, n = last - first, base = 0
    cdef double running[FEW]
    cdef double chunk[CHUNK + 1][FEW]
    memset(chunk[0], 0, sizeof(running))
    while k < n:
        size = min(n - base, <Py_ssize_t> CHUNK)
        memcpy(running, chunk[0], sizeof(running))
        for c in range(size):
            row = _nearest(last, first, base + c, side)
            rank = _rank(levels[row], n_levels, side)
            for r in range(FEW):
                running[r] += charges[row] * BELOW[rank][r]
                chunk[c + 1][r] = running[r]
        while k < n:
            row = _nearest(last, first, k, side)
            if entered[row] > base + size:
                break
            sums[row] += chunk[entered[row] - base][_rank(levels[row], n_levels, side)]
            k += 1
        memcpy(chunk[0], running, sizeof(running))
        base += size


cdef inline void _many_sums(
    Py_ssize_t first, Py_ssize_t last, int32_t n_levels, const int32_t *levels,
    const double *charges, const int32_t *entered, double side, double *tree, double *sums,
) noexcept nogil:
    cdef Py_ssize_t k, row, partner, n_entered = 0
    memset(tree, 0, (<Py_ssize_t>n_levels + 1) * sizeof(double))
    for k in range(last - first):
        row = _nearest(last, first, k, side)
        while n_entered < entered[row]:
            partner = _nearest(last, first, n_entered, side)
            _add(tree, _rank(levels[partner], n_levels, side), n_levels, charges[partner])
            n_entered += 1
        sums[row] += _below(tree, _rank(levels[row], n_levels, side))


cdef inline void _add(double *tree, Py_ssize_t rank, Py_ssize_t n, double amount) noexcept nogil:
    """Add to one rank; the highest one is below none and is left out."""
    rank += 1
    while rank < n:
        tree[rank] += amount
        rank += rank & -rank


cdef inline double _below(double *tree, Py_ssize_t rank) noexcept nogil:
    """Sum over the lower ranks."""
    cdef double total = 0
    while rank > 0:
        total += tree[rank]
        rank &= rank - 1
    return total


def mixed_levels(
    const Py_ssize_t[::1] queries,
    const double[::1] kept,
    const double[::1] joined,
    const double[::1] values,
    double[::1] means,
):
    """Mean of a value per segment over the segments before it in its query, as a running mixture.

    After segment s the mean is kept[s] times the mean before it plus joined[s] times its value;
    segments of query q are queries[q] … queries[q+1]−1, and the first mean of each is 0.
    """
    cdef Py_ssize_t q, s
    cdef double mean
    check_starts("queries", queries, values.shape[0])
    check_size("kept", kept.shape[0], values.shape[0])
    check_size("joined", joined.shape[0], values.shape[0])
    check_size("means", means.shape[0], values.shape[0])
    with nogil:
        for q in range(queries.shape[0] - 1):
            mean = 0
            for s in range(queries[q], queries[q + 1]):
                means[s] = mean
                mean = kept[s] * mean + joined[s] * values[s]
