# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Growing a binary tree on coded inputs for signed weights, and finding the leaves of rows.

A row has *statistics*: its signed weights V_0 … V_{T−1} and then either one size w, where
|V_k| = w for all k (*uniform*), or the sizes |V_0| … |V_{T−1}|. S and W are their sums over rows.
Two figures, both to be maximised, value the parting of a node's rows:

    gini   Σ_sides Σ_k S_k² / W_k        = ΣW − 4·impurity
    cost   Σ_sides max_r Σ_{k<r} S_k     = Σ_k A_k − least cost

A node is parted at ``code <= cut``; rows of the code ``n_bins`` are missing and go to the side that
is better. Of two partings the one met first stays, unless the other is better by more than rounding.
"""

import numpy as np

from ._checks cimport (
    MOST_NUMBERED, check_indices, check_numbered, check_room, check_size, refuse_indices, within
)

cdef extern from *:
    """
    #include <stdint.h>
    #include <stddef.h>
    #include <string.h>
    /* Partings that differ by less than this share of the node's weight are equally good. */
    #define ROUNDING 1e-10
    #define SMALL 24

    static inline void add_to(double *restrict to, const double *restrict from, ptrdiff_t size) {
        ptrdiff_t i;
        for (i = 0; i < size; i++) to[i] += from[i];
    }

    static inline double quotient(double square, double size) {
        return size > 0.0 ? square / size : 0.0;
    }

    /* Sums of squares per size on both sides, where left and the rest make up total. */
    static double gini(const double *restrict left, const double *restrict total, ptrdiff_t T,
                       int uniform) {
        double a = 0.0, b = 0.0, c = 0.0, d = 0.0, l, r;
        ptrdiff_t k = 0;
        if (!uniform) {
            for (; k < T; k++) {
                l = left[k];
                r = total[k] - l;
                a += quotient(l * l, left[T + k]) + quotient(r * r, total[T + k] - left[T + k]);
            }
            return a;
        }
        for (; k + 1 < T; k += 2) {
            l = left[k];
            r = total[k] - l;
            a += l * l;
            b += r * r;
            l = left[k + 1];
            r = total[k + 1] - l;
            c += l * l;
            d += r * r;
        }
        if (k < T) {
            l = left[k];
            r = total[k] - l;
            a += l * l;
            b += r * r;
        }
        return quotient(a + c, left[T]) + quotient(b + d, total[T] - left[T]);
    }

    /* Greatest sums of the first thresholds on both sides. */
    static double saved_cost(const double *restrict left, const double *restrict total,
                             ptrdiff_t T) {
        double l = 0.0, r = 0.0, most_left = 0.0, most_right = 0.0;
        ptrdiff_t k;
        for (k = 0; k < T; k++) {
            l += left[k];
            r += total[k] - left[k];
            if (l > most_left) most_left = l;
            if (r > most_right) most_right = r;
        }
        return most_left + most_right;
    }

    /* Ascending order of keys whose upper 32 bits matter and are below 2^bits. */
    static void sort_keys(uint64_t *keys, uint64_t *other, ptrdiff_t m, int bits) {
        ptrdiff_t i, j, places[256], place, count;
        uint64_t key, *from = keys, *to = other, *swap;
        int shift, digit;
        if (m <= SMALL) {
            for (i = 1; i < m; i++) {
                key = keys[i];
                for (j = i; j > 0 && keys[j - 1] > key; j--) keys[j] = keys[j - 1];
                keys[j] = key;
            }
            return;
        }
        for (shift = 32; shift < 32 + bits; shift += 8) {
            memset(places, 0, sizeof places);
            for (i = 0; i < m; i++) places[(from[i] >> shift) & 255]++;
            for (place = 0, digit = 0; digit < 256; digit++) {
                count = places[digit];
                places[digit] = place;
                place += count;
            }
            for (i = 0; i < m; i++) to[places[(from[i] >> shift) & 255]++] = from[i];
            swap = from;
            from = to;
            to = swap;
        }
        if (from != keys) memcpy(keys, from, (size_t)m * sizeof *keys);
    }

    static inline uint64_t next_random(uint64_t *state) {
        uint64_t z = (*state += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    """
    ctypedef unsigned long long uint64_t
    const double ROUNDING
    void add_to(double *to, const double *source, Py_ssize_t size) noexcept nogil
    double gini(
        const double *left, const double *total, Py_ssize_t T, int uniform
    ) noexcept nogil
    double saved_cost(const double *left, const double *total, Py_ssize_t T) noexcept nogil
    void sort_keys(uint64_t *keys, uint64_t *other, Py_ssize_t m, int bits) noexcept nogil
    uint64_t next_random(uint64_t *state) noexcept nogil
    void *memset(void *place, int value, size_t size) noexcept nogil
    void *memcpy(void *to, const void *source, size_t size) noexcept nogil

ctypedef fused Code:
    unsigned char
    int

cdef struct Parting:
    # Features, codes and numbers of rows and nodes fit 32 bits; no arithmetic of places is done
    # with them as they are.
    int feature
    int cut
    int missing_left
    int has_missing
    double figure
    double second


cdef class Grower:
    """A tree that grows depth first, lower side first, a part at a time.

    Parameters
    ----------
    stats : float64 (n, q)
        q is T + 1 where uniform, else 2·T.
    rows : int32
        The rows to learn from; put into another order.
    features, n_bins : int32
        The features that may be used, and the number of bins of all.
    by_cost : bool
        Whether the cost is what partings are chosen by; the gini then decides between equals.
    max_depth, min_split, min_leaf, max_features : int
    min_share : float
        Least share of all sizes that each side of a parting has.
    seed : int
        Without effect where max_features is that of all.
    """

    cdef readonly object feature, cut, children, missing_left, gain, leaf_stats, leaf_of_row
    cdef readonly Py_ssize_t n_splits, n_leaves, depth
    cdef const double[:, ::1] stats
    cdef int[::1] rows, features, n_bins, feature_, cut_, leaf_of_row_, spare, counts
    cdef int[:, ::1] children_
    cdef unsigned char[::1] missing_left_
    cdef double[::1] gain_, bins, sums
    cdef double[:, ::1] leaf_stats_, totals
    cdef Py_ssize_t[:, ::1] stack
    cdef uint64_t[::1] keys, other
    cdef uint64_t random
    cdef Py_ssize_t waiting, max_depth, min_split, min_leaf, max_features, T, q
    cdef int uniform, by_cost
    # The codes that were looked through for those that no bin has.
    cdef object checked
    cdef double scale, min_size

    def __cinit__(self, const double[:, ::1] stats, Py_ssize_t T, int[::1] rows, int[::1] features,
                  int[::1] n_bins, *, bint by_cost, Py_ssize_t max_depth, Py_ssize_t min_split,
                  Py_ssize_t min_leaf, double min_share, Py_ssize_t max_features, uint64_t seed):
        cdef Py_ssize_t m = rows.shape[0], i
        check_room("n_bins", n_bins.shape[0], 1)
        check_room("rows", m, 1)
        check_numbered("rows", max(m, stats.shape[0]))
        check_numbered("features", features.shape[0])
        check_indices("rows", rows, stats.shape[0])
        check_indices("features", features, n_bins.shape[0])
        # Two more bins than there are, for missing values and for the end, are numbered too.
        check_indices("n_bins", n_bins, MOST_NUMBERED - 2)
        if not 1 <= T < stats.shape[1] or stats.shape[1] not in (T + 1, 2 * T):
            raise ValueError(
                f"stats must have T + 1 or 2·T columns for T = {T} thresholds, one or more; "
                f"found {stats.shape[1]}."
            )
        # Sums by bin are kept only where a node has as many rows as the feature has bins.
        cdef Py_ssize_t most = min(m, np.max(n_bins)) + 2
        self.stats, self.T, self.q = stats, T, stats.shape[1]
        self.uniform, self.by_cost = self.q == T + 1, by_cost
        self.rows, self.features, self.n_bins = rows, np.array(features), n_bins
        self.max_depth, self.min_split = max_depth, min_split
        self.min_leaf = max(0, min(min_leaf, m + 1))
        self.max_features, self.random = max_features, seed
        self.feature_ = self.feature = np.empty(m, dtype=np.int32)
        self.cut_ = self.cut = np.empty(m, dtype=np.int32)
        self.children_ = self.children = np.empty((m, 2), dtype=np.int32)
        self.missing_left_ = self.missing_left = np.empty(m, dtype=np.uint8)
        self.gain_ = self.gain = np.empty(m)
        self.leaf_stats_ = self.leaf_stats = np.empty((m, self.q))
        self.leaf_of_row_ = self.leaf_of_row = np.full(stats.shape[0], -1, dtype=np.int32)
        self.spare = np.empty(m, dtype=np.int32)
        self.bins, self.counts = np.empty(most * self.q), np.empty(most, dtype=np.int32)
        self.keys, self.other = np.empty(m, dtype=np.uint64), np.empty(m, dtype=np.uint64)
        self.sums = np.empty(3 * self.q)
        self.stack, self.totals = np.empty((m + 1, 5), dtype=np.intp), np.empty((m + 1, self.q))
        self.n_splits = self.n_leaves = self.depth = 0
        self.waiting = 1
        self.stack[0, 0], self.stack[0, 1], self.stack[0, 2] = 0, m, 0
        self.stack[0, 3], self.stack[0, 4] = -1, 0
        for i in range(self.q):
            self.totals[0, i] = 0.0
        for i in range(m):
            add_to(&self.totals[0, 0], &stats[rows[i], 0], self.q)
        self.min_size = (min_share - 1e-12) * self.size(&self.totals[0, 0])

    def advance(self, const Code[:, ::1] codes, Py_ssize_t work):
        """Settle nodes until about so many rows and features were looked at; False at the end."""
        cdef Py_ssize_t done = 0
        if codes.base is not self.checked:
            self.check(codes)
            self.checked = codes.base
        with nogil:
            while self.waiting > 0 and done < work:
                done += self.settle(codes)
        return self.waiting > 0

    cdef int check(self, const Code[:, ::1] codes) except -1:
        """Refuse codes that are not of these rows and bins."""
        cdef Py_ssize_t j
        check_size("codes", codes.shape[0], self.n_bins.shape[0])
        check_size("codes of a feature", codes.shape[1], self.stats.shape[0])
        for j in range(codes.shape[0]):
            if not within(&codes[j, 0], codes.shape[1], <Py_ssize_t>self.n_bins[j] + 1):
                refuse_indices(f"codes of feature {j}", <Py_ssize_t>self.n_bins[j] + 1)
        return 0

    cdef Py_ssize_t settle(self, const Code[:, ::1] codes) noexcept nogil:
        """Part the node on top of the stack, or make it a leaf."""
        cdef Py_ssize_t top = self.waiting - 1
        cdef Py_ssize_t start = self.stack[top, 0], end = self.stack[top, 1]
        cdef Py_ssize_t depth = self.stack[top, 2], parent = self.stack[top, 3], node, m
        cdef double *total = &self.totals[top, 0]
        cdef Parting best
        cdef double weight = 0.0, unparted = 0.0
        cdef Py_ssize_t k, seen = 0
        cdef int by_cost = 0
        m = end - start
        best.feature = -1
        if m >= self.min_split and m >= 2 * self.min_leaf and depth < self.max_depth:
            for k in range(self.T):
                weight += total[self.T] if self.uniform else total[self.T + k]
            self.scale = ROUNDING * weight
            if self.least_cost(total, weight) > self.scale:
                # Where no threshold sees two sides the gini is blind, though ranks may differ.
                unparted = gini(total, total, self.T, self.uniform)
                by_cost = self.by_cost or weight - unparted <= self.scale
                seen = self.search(codes, start, end, total, by_cost, &best)
        if best.feature < 0:
            self.make_leaf(start, end, total, parent, self.stack[top, 4])
            self.waiting -= 1
            self.depth = max(self.depth, depth)
            return m * (1 + seen)
        node = self.n_splits
        self.n_splits += 1
        if parent >= 0:
            self.children_[parent, self.stack[top, 4]] = <int>node
        self.feature_[node], self.cut_[node] = best.feature, best.cut
        if self.by_cost:
            self.gain_[node] = best.figure - saved_cost(total, total, self.T)
        else:
            self.gain_[node] = 0.0 if by_cost else 0.25 * (best.figure - unparted)
        self.part(codes, top, &best, node)
        return m * (1 + seen)

    cdef double least_cost(self, const double *total, double weight) noexcept nogil:
        cdef double signed = 0.0
        cdef Py_ssize_t k
        for k in range(self.T):
            signed += total[k]
        return 0.5 * (weight + signed) - saved_cost(total, total, self.T)

    cdef void make_leaf(self, Py_ssize_t start, Py_ssize_t end, const double *total,
                        Py_ssize_t parent, Py_ssize_t side) noexcept nogil:
        cdef int leaf = <int>self.n_leaves
        cdef Py_ssize_t i
        if parent >= 0:
            self.children_[parent, side] = ~leaf
        for i in range(start, end):
            self.leaf_of_row_[self.rows[i]] = leaf
        memcpy(&self.leaf_stats_[leaf, 0], total, self.q * sizeof(double))
        self.n_leaves += 1

    cdef void part(self, const Code[:, ::1] codes, Py_ssize_t top, Parting *best,
                   Py_ssize_t node) noexcept nogil:
        """Move the rows to their sides, in their order, and put both sides on the stack."""
        cdef Py_ssize_t start = self.stack[top, 0], end = self.stack[top, 1], depth
        cdef Py_ssize_t i, lower = start, upper = 0
        cdef const Code *code = &codes[best.feature, 0]
        cdef const double *stats = &self.stats[0, 0]
        cdef int *rows = &self.rows[0]
        cdef int *spare = &self.spare[0]
        cdef Py_ssize_t row, size = self.q
        cdef int missing = self.n_bins[best.feature]
        cdef double *high = &self.totals[top, 0]
        cdef double *low = &self.totals[top + 1, 0]
        cdef bint is_low
        depth = self.stack[top, 2] + 1
        memset(high, 0, size * sizeof(double))
        memset(low, 0, size * sizeof(double))
        for i in range(start, end):
            row = rows[i]
            is_low = best.missing_left if code[row] == missing else code[row] <= best.cut
            if is_low:
                rows[lower] = <int>row
                lower += 1
                add_to(low, stats + row * size, size)
            else:
                spare[upper] = <int>row
                upper += 1
                add_to(high, stats + row * size, size)
        memcpy(rows + lower, spare, upper * sizeof(int))
        if not best.has_missing:
            best.missing_left = self.size(low) >= self.size(high)
        self.missing_left_[node] = <unsigned char>best.missing_left
        for i in range(2):
            self.stack[top + i, 0] = lower if i == 0 else start
            self.stack[top + i, 1] = end if i == 0 else lower
            self.stack[top + i, 2] = depth
            self.stack[top + i, 3] = node
            self.stack[top + i, 4] = 1 - i
        self.waiting = top + 2

    cdef double size(self, const double *total) noexcept nogil:
        cdef double size = 0.0
        cdef Py_ssize_t k
        for k in range(self.T, self.q):
            size += total[k]
        return size

    cdef int search(self, const Code[:, ::1] codes, Py_ssize_t start, Py_ssize_t end,
                    const double *total, int by_cost, Parting *best) noexcept nogil:
        """Look for the best parting among all or some features; gives how many were looked at."""
        cdef int d = <int>self.features.shape[0], seen = 0, counted = 0, j, swap
        best.figure = best.second = -1e300
        for seen in range(d):
            if counted >= self.max_features and best.feature >= 0:
                return seen
            if self.max_features < d:
                j = seen + <int>(next_random(&self.random) % <uint64_t>(d - seen))
                swap = self.features[seen]
                self.features[seen] = self.features[j]
                self.features[j] = swap
            j = self.features[seen]
            counted += self.look_at(codes, j, start, end, total, by_cost, best)
        return d

    cdef int look_at(self, const Code[:, ::1] codes, int j, Py_ssize_t start, Py_ssize_t end,
                     const double *total, int by_cost, Parting *best) noexcept nogil:
        """Try all cuts of a feature; 0 if it is constant in the node."""
        if self.n_bins[j] <= end - start:
            return self.look_by_bins(codes, j, start, end, total, by_cost, best)
        return self.look_by_rows(codes, j, start, end, total, by_cost, best)

    cdef int look_by_bins(self, const Code[:, ::1] codes, int j, Py_ssize_t start, Py_ssize_t end,
                          const double *total, int by_cost, Parting *best) noexcept nogil:
        cdef const Code *code = &codes[j, 0]
        cdef const double *stats = &self.stats[0, 0]
        cdef const int *rows = &self.rows[0]
        cdef Py_ssize_t bins = self.n_bins[j], size = self.q, row, b, last = -1
        cdef double *sums = &self.bins[0]
        cdef double *left = &self.sums[0]
        cdef int *count = &self.counts[0]
        cdef Py_ssize_t i, below = 0, absent, m = end - start
        memset(sums, 0, (bins + 1) * size * sizeof(double))
        memset(count, 0, (bins + 1) * sizeof(int))
        for i in range(start, end):
            row = rows[i]
            b = code[row]
            count[b] += 1
            add_to(sums + b * size, stats + row * size, size)
        absent = count[bins]
        memset(left, 0, size * sizeof(double))
        for b in range(bins):
            if count[b] == 0:
                continue
            if last >= 0:
                self.try_cut(
                    j, <int>last, <int>b, below, m, absent, total, sums + bins * size, by_cost, best
                )
            add_to(left, sums + b * size, size)
            below += count[b]
            last = b
            if below + absent == m:
                break
        if absent > 0 and last >= 0:
            self.try_missing(j, below, m, total, by_cost, best)
            return 1
        return below > count[last] if last >= 0 else 0

    cdef int look_by_rows(self, const Code[:, ::1] codes, int j, Py_ssize_t start, Py_ssize_t end,
                          const double *total, int by_cost, Parting *best) noexcept nogil:
        cdef const Code *code = &codes[j, 0]
        cdef const double *stats = &self.stats[0, 0]
        cdef const int *rows = &self.rows[0]
        cdef int bins = self.n_bins[j], b, last = -1, bits = 0
        cdef Py_ssize_t row, size = self.q
        cdef double *left = &self.sums[0]
        cdef double *missing = &self.sums[size]
        cdef uint64_t *keys = &self.keys[0]
        cdef Py_ssize_t i, present = 0, m = end - start
        memset(left, 0, size * sizeof(double))
        memset(missing, 0, size * sizeof(double))
        for i in range(start, end):
            row = rows[i]
            b = code[row]
            if b == bins:
                add_to(missing, stats + row * size, size)
            else:
                keys[present] = (<uint64_t>b << 32) | <uint64_t>row
                present += 1
        while bins >> bits:
            bits += 1
        sort_keys(keys, &self.other[0], present, bits)
        if present == 0 or (present == m and keys[0] >> 32 == keys[m - 1] >> 32):
            return 0
        for i in range(present):
            b = <int>(keys[i] >> 32)
            if b != last and last >= 0:
                self.try_cut(j, last, b, i, m, m - present, total, missing, by_cost, best)
            # The lower half of a key is the row.
            add_to(left, stats + <Py_ssize_t>(<unsigned int>keys[i]) * size, size)
            last = b
        if present < m:
            self.try_missing(j, present, m, total, by_cost, best)
        return 1

    cdef void try_cut(self, int j, int low, int high, Py_ssize_t below, Py_ssize_t m,
                      Py_ssize_t absent, const double *total, const double *missing, int by_cost,
                      Parting *best) noexcept nogil:
        """Try the cut in the middle of two neighbouring codes, missing rows above, then below."""
        cdef int cut = low + ((high - low - 1) >> 1)
        cdef Py_ssize_t size = self.q
        cdef double *with_missing = &self.sums[2 * size]
        if below >= self.min_leaf and m - below >= self.min_leaf:
            self.weigh(j, cut, 0, absent > 0, &self.sums[0], total, by_cost, best)
        if absent > 0 and below + absent >= self.min_leaf and m - below - absent >= self.min_leaf:
            memcpy(with_missing, &self.sums[0], size * sizeof(double))
            add_to(with_missing, missing, size)
            self.weigh(j, cut, 1, 1, with_missing, total, by_cost, best)

    cdef void try_missing(self, int j, Py_ssize_t present, Py_ssize_t m, const double *total,
                          int by_cost, Parting *best) noexcept nogil:
        """Try to part what is present from what is missing."""
        if present >= self.min_leaf and m - present >= self.min_leaf:
            self.weigh(j, self.n_bins[j] - 1, 0, 1, &self.sums[0], total, by_cost, best)

    cdef inline void weigh(self, int j, int cut, int missing_left, int has_missing,
                           const double *left, const double *total, int by_cost,
                           Parting *best) noexcept nogil:
        cdef double figure, second = 0.0, part
        if self.min_size > 0.0:
            part = self.size(left)
            if part < self.min_size or self.size(total) - part < self.min_size:
                return
        if by_cost:
            figure = saved_cost(left, total, self.T)
            if figure < best.figure - self.scale:
                return
            second = gini(left, total, self.T, self.uniform)
            if figure <= best.figure + self.scale and second <= best.second + self.scale:
                return
        else:
            figure = gini(left, total, self.T, self.uniform)
            if figure <= best.figure + self.scale:
                return
        best.feature, best.cut = j, cut
        best.missing_left, best.has_missing = missing_left, has_missing
        best.figure, best.second = figure, second


cdef int check_tree(Py_ssize_t n, Py_ssize_t n_cuts, const int[:, ::1] children,
                    const unsigned char[::1] missing_left) except -1:
    check_numbered("nodes", n)
    check_size("cuts", n_cuts, n)
    check_size("children", children.shape[0], n)
    check_size("sides of a node", children.shape[1], 2)
    return check_size("missing_left", missing_left.shape[0], n)


cdef int refuse_tree(Py_ssize_t n, Py_ssize_t d) except -1:
    raise ValueError(
        f"A tree of {n} nodes must look at features 0 … {d - 1} and lead from each node to later "
        f"ones or to leaves ~0 … ~{n}; found one that does not."
    )


def find_leaves(const double[:, ::1] X, const int[::1] feature, const double[::1] edge,
                const int[:, ::1] children, const unsigned char[::1] missing_left, int[::1] leaves):
    """Leaf of every row of inputs."""
    cdef Py_ssize_t i
    cdef int node, j, child
    cdef unsigned int n = <unsigned int>feature.shape[0], d = <unsigned int>X.shape[1]
    cdef double x
    cdef bint upper, refused = False
    check_tree(feature.shape[0], edge.shape[0], children, missing_left)
    check_numbered("features", X.shape[1])
    check_size("leaves", leaves.shape[0], X.shape[0])
    # A way from the root is checked as it is walked: beside the loads from memory that takes little
    # time and, unlike a pass over all nodes, none where few rows are asked about.
    with nogil:
        for i in range(X.shape[0]):
            node = 0 if n > 0 else -1
            while <unsigned int>node < n:
                j = feature[node]
                if <unsigned int>j >= d:
                    break
                x = X[i, j]
                upper = not missing_left[node] if x != x else x > edge[node]
                child = children[node, upper]
                # True for no leaf, which is a large number as an unsigned one.
                if <unsigned int>child <= <unsigned int>node:
                    break
                node = child
            # There is a leaf more than nodes; a walk that broke off is at none.
            if node >= 0 or ~node > <int>n:
                refused = True
                break
            leaves[i] = ~node
    if refused:
        refuse_tree(n, d)


def find_leaves_by_code(const Code[:, ::1] codes, const int[::1] n_bins, const int[::1] feature,
                        const int[::1] cut, const int[:, ::1] children,
                        const unsigned char[::1] missing_left, int[::1] leaves):
    """Leaf of every column of codes."""
    cdef Py_ssize_t i
    cdef int node, j, code, child
    cdef unsigned int n = <unsigned int>feature.shape[0], d = <unsigned int>codes.shape[0]
    cdef bint upper, refused = False
    check_tree(feature.shape[0], cut.shape[0], children, missing_left)
    check_size("n_bins", n_bins.shape[0], codes.shape[0])
    check_numbered("features", codes.shape[0])
    check_size("leaves", leaves.shape[0], codes.shape[1])
    with nogil:
        for i in range(codes.shape[1]):
            node = 0 if n > 0 else -1
            while <unsigned int>node < n:
                j = feature[node]
                if <unsigned int>j >= d:
                    break
                code = codes[j, i]
                upper = not missing_left[node] if code == n_bins[j] else code > cut[node]
                child = children[node, upper]
                # True for no leaf, which is a large number as an unsigned one.
                if <unsigned int>child <= <unsigned int>node:
                    break
                node = child
            # There is a leaf more than nodes; a walk that broke off is at none.
            if node >= 0 or ~node > <int>n:
                refused = True
                break
            leaves[i] = ~node
    if refused:
        refuse_tree(n, d)
