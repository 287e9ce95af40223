# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Weighted counts over all pairs of rows of two columns, in O(n log m)."""


def count_sorted_pairs(
    const Py_ssize_t[::1] a,
    const Py_ssize_t[::1] b,
    const double[::1] weights,
    double[::1] tree,
    double[::1] counts,
):
    """Add up w_i·w_j by the kind of each pair i < j.

    ``a`` and ``b`` hold ranks, the rows ascend by ``a`` and then by ``b``, and every entry of ``b``
    is in 0 … m−1. ``tree`` holds 2s zeros with s a power of two ≥ m; it is scratch. ``counts`` gets
    five sums: concordant, discordant, tied in a only, tied in b only, tied in both.

    Node p of the tree holds the weight of the earlier groups of ``a`` below its children 2p and
    2p+1, and leaf s+r that of rank r. A climb from a leaf meets the weight of the lower ranks in
    left siblings and of the higher ranks in right siblings, so every count is a sum of terms that
    are not negative: integers stay exact up to 2^53 and a count that is zero comes out as zero.
    """
    with nogil:
        _count(a, b, weights, tree, counts)


cdef void _count(
    const Py_ssize_t[::1] a,
    const Py_ssize_t[::1] b,
    const double[::1] weights,
    double[::1] tree,
    double[::1] counts,
) noexcept nogil:
    cdef Py_ssize_t n = a.shape[0], leaves = tree.shape[0] // 2
    cdef Py_ssize_t first = 0, last, row, node
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
        first = last
    counts[0] = concordant
    counts[1] = discordant
    counts[2] = tied_a
    counts[3] = tied_b
    counts[4] = tied_both
