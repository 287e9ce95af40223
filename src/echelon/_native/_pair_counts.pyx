# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Weighted counts over all pairs of rows of two columns, in O(n log m)."""

from libc.stdint cimport int32_t
from libc.string cimport memset

from ._checks cimport check_room, check_size, check_starts, ints_within, refuse_indices


def count_sorted_pairs(
    const Py_ssize_t[::1] bounds,
    const int32_t[::1] n_levels,
    const double[::1] a,
    const int32_t[::1] b,
    const double[::1] weights,
    double[::1] tree,
    double[:, ::1] counts,
):
    """Add up w_i·w_j by the kind of each pair i < j of one query.

    Query q is rows bounds[q] … bounds[q+1]−1, which ascend by ``a`` and then by ``b``, and its
    entries of ``b`` are in 0 … n_levels[q]−1. ``tree`` has 2s entries with s a power of two no less
    than any n_levels; it is scratch. ``counts`` of shape (Q, 5) gets the sums: concordant,
    discordant, tied in a only, tied in b only, tied in both.

    Node p of the tree holds the weight of the earlier groups of ``a`` below its children 2p and
    2p+1, and leaf s+r that of rank r. A climb from a leaf meets the weight of the lower ranks in
    left siblings and of the higher ranks in right siblings, so every count is a sum of terms that
    are not negative: integers stay exact up to 2^53 and a count that is zero comes out as zero.
    """
    cdef Py_ssize_t q, leaves, most = 1
    check_starts("bounds", bounds, a.shape[0])
    check_size("n_levels", n_levels.shape[0], bounds.shape[0] - 1)
    check_size("b", b.shape[0], a.shape[0])
    check_size("weights", weights.shape[0], a.shape[0])
    check_size("counts", counts.shape[0], n_levels.shape[0])
    check_size("columns of counts", counts.shape[1], 5)
    for q in range(n_levels.shape[0]):
        most = max(most, <Py_ssize_t>n_levels[q])
        if not ints_within(<const int *>&b[bounds[q]], bounds[q + 1] - bounds[q], n_levels[q]):
            refuse_indices(f"b of query {q}", n_levels[q])
    leaves = 1
    while leaves < most:
        leaves *= 2
    check_room("tree", tree.shape[0], 2 * leaves)
    with nogil:
        for q in range(bounds.shape[0] - 1):
            leaves = 1
            while leaves < n_levels[q]:
                leaves *= 2
            memset(&tree[0], 0, 2 * leaves * sizeof(double))
            _count(bounds[q], bounds[q + 1], leaves, a, b, weights, tree, &counts[q, 0])


cdef void _count(
    Py_ssize_t first, Py_ssize_t n, Py_ssize_t leaves, const double[::1] a, const int32_t[::1] b,
    const double[::1] weights, double[::1] tree, double *counts,
) noexcept nogil:
    cdef Py_ssize_t last, row, node
    cdef double w, lower, higher, same_group, same_cell
    cdef double concordant = 0, discordant = 0, tied_a = 0, tied_b = 0, tied_both = 0
    while first < n:
        last = first
        same_group = 0
        same_cell = 0
        while last < n and a[last] == a[first]:
            w = weights[last]
            if last > first and b[last] != b[last - 1]:
                same_group += same_cell
                same_cell = 0
            tied_a += w * same_group
            tied_both += w * same_cell
            same_cell += w
            node = leaves + b[last]
            tied_b += w * tree[node]
            lower = 0
            higher = 0
            while node > 1:
                if node & 1:
                    lower += tree[node - 1]
                else:
                    higher += tree[node + 1]
                node >>= 1
            concordant += w * lower
            discordant += w * higher
            last += 1
        # The group enters the tree only now, so that rows tied in a never meet there.
        for row in range(first, last):
            w = weights[row]
            node = leaves + b[row]
            while node > 0:
                tree[node] += w
                node >>= 1
        # A row whose entry is no number is in no group, not even in its own.
        first = max(last, first + 1)
    counts[0] = concordant
    counts[1] = discordant
    counts[2] = tied_a
    counts[3] = tied_b
    counts[4] = tied_both
