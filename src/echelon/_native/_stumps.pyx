# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Search for the ordinal stump of least cost, and the new weights after it has voted.

Row i has signed weights V[i, k] at the thresholds k; a ranker that holds the row to be above k
pays |V[i, k]| where V is negative, one that does not pays it where V is positive. With P_k[g] the sum of
V over the rows in the first g bins of a feature, cutting threshold k at g costs P_k[g] more than
holding all rows to be above. A rising stump has cuts g_0 ≤ g_1 ≤ …, a falling one the opposite, and
the least sum over such cuts is a running minimum: M_k[g] = P_k[g] + min_{h ≤ g} M_{k−1}[h].
"""

from libc.string cimport memset

from ._checks cimport (
    MOST_NUMBERED, check_indices, check_numbered, check_room, check_size, check_starts,
    refuse_indices, within
)

cdef extern from *:
    """
    #include <stddef.h>
    #include <math.h>
    #if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
    #define WIDE __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
    #else
    #define WIDE
    #endif

    #if defined(__GNUC__) || defined(__clang__)
    #define ALWAYS_INLINE inline __attribute__((always_inline))
    #else
    #define ALWAYS_INLINE inline
    #endif

    /* A weight this small is as good as nothing, but grows again if its side stays wrong. */
    #define LEAST 1e-290
    /* Running sums and minima of so few thresholds stay in registers if their number is known when
       the code is compiled; MOST is the greatest such number. */
    #define MOST 12
    #define FOR_SIZES(CALL) \
        switch (size) { \
            case 1: CALL(1); case 2: CALL(2); case 3: CALL(3); case 4: CALL(4); \
            case 5: CALL(5); case 6: CALL(6); case 7: CALL(7); case 8: CALL(8); \
            case 9: CALL(9); case 10: CALL(10); case 11: CALL(11); default: CALL(MOST); \
        }

    static ALWAYS_INLINE void add_to(double *restrict to, const double *restrict from,
                                     ptrdiff_t size) {
        ptrdiff_t k;
        for (k = 0; k < size; k++) to[k] += from[k];
    }

    static ALWAYS_INLINE double unordered(const double *restrict sums, ptrdiff_t n_bins,
                                          const ptrdiff_t size, double *restrict prefix,
                                          double *restrict low, double *restrict high) {
        double rising = 0.0, falling = 0.0;
        ptrdiff_t g, k;
        for (k = 0; k < size; k++)
            prefix[k] = low[k] = high[k] = 0.0;
        for (g = 0; g < n_bins; g++, sums += size)
            for (k = 0; k < size; k++) {
                double p = prefix[k] + sums[k];
                prefix[k] = p;
                low[k] = low[k] < p ? low[k] : p;
                high[k] = high[k] > p ? high[k] : p;
            }
        for (k = 0; k < size; k++) {
            rising += low[k];
            falling += prefix[k] - high[k];
        }
        return rising < falling ? rising : falling;
    }

    static ALWAYS_INLINE void ordered(const double *restrict sums, ptrdiff_t n_bins,
                                      const ptrdiff_t size, double *restrict prefix,
                                      double *restrict up, double *restrict down,
                                      double *restrict costs) {
        double rising, falling, total = 0.0;
        ptrdiff_t g, k;
        for (k = 0; k < size; k++)
            prefix[k] = up[k] = down[k] = 0.0;
        for (g = 0; g < n_bins; g++, sums += size) {
            for (k = 0; k < size; k++)
                prefix[k] += sums[k];
            rising = falling = 0.0;
            for (k = 0; k < size; k++) {
                rising += prefix[k];
                up[k] = rising = up[k] < rising ? up[k] : rising;
                falling -= prefix[size - 1 - k];
                down[k] = falling = down[k] < falling ? down[k] : falling;
            }
        }
        for (k = 0; k < size; k++)
            total += prefix[k];
        costs[0] = up[size - 1];
        costs[1] = total + down[size - 1];
    }

    /* Least sum of cuts that need not be in order, the better of the two directions. */
    WIDE static double unordered_cost(const double *sums, ptrdiff_t n_bins, ptrdiff_t size,
                                      double *work) {
        double a[MOST], b[MOST], c[MOST];
        if (size > MOST)
            return unordered(sums, n_bins, size, work, work + size, work + 2 * size);
    #define CALL(SIZE) return unordered(sums, n_bins, SIZE, a, b, c)
        FOR_SIZES(CALL)
    #undef CALL
    }

    /* Least sum of ascending and of descending cuts. */
    WIDE static void ordered_costs(const double *sums, ptrdiff_t n_bins, ptrdiff_t size,
                                   double *work, double *costs) {
        double a[MOST], b[MOST], c[MOST];
        if (size > MOST) {
            ordered(sums, n_bins, size, work, work + size, work + 2 * size, costs);
            return;
        }
    #define CALL(SIZE) ordered(sums, n_bins, SIZE, a, b, c, costs); return
        FOR_SIZES(CALL)
    #undef CALL
    }

    /* Weight of wrong sides and of all; sides[r] has +1 for the thresholds below rank r, else -1. */
    WIDE static void weigh(const double *restrict v, const ptrdiff_t *restrict votes, ptrdiff_t n,
                           ptrdiff_t size, const double *restrict sides, double *restrict weighed) {
        double wrong = 0.0, total = 0.0;
        ptrdiff_t i, k;
        for (i = 0; i < n; i++, v += size) {
            const double *side = sides + votes[i] * size;
            double off = 0.0, all = 0.0;
            for (k = 0; k < size; k++) {
                double agree = v[k] * side[k], weight = fabs(agree);
                all += weight;
                off += weight - agree;
            }
            total += all;
            wrong += off;
        }
        weighed[0] = 0.5 * wrong;
        weighed[1] = total;
    }

    /* Multiply the weights of wrong and of right sides, none of which vanishes by underflow. */
    WIDE static void scale(double *restrict v, const ptrdiff_t *restrict votes, ptrdiff_t n,
                           ptrdiff_t size, const double *restrict sides, double wrong,
                           double right) {
        ptrdiff_t i, k;
        for (i = 0; i < n; i++, v += size) {
            const double *side = sides + votes[i] * size;
            for (k = 0; k < size; k++) {
                double scaled = v[k] * (v[k] * side[k] < 0.0 ? wrong : right);
                double least = v[k] > 0.0 ? LEAST : (v[k] < 0.0 ? -LEAST : 0.0);
                v[k] = fabs(scaled) < LEAST ? least : scaled;
            }
        }
    }
    """
    void add_to(double *to, const double *source, Py_ssize_t size) noexcept nogil
    double unordered_cost(
        const double *sums, Py_ssize_t n_bins, Py_ssize_t size, double *work
    ) noexcept nogil
    void ordered_costs(
        const double *sums, Py_ssize_t n_bins, Py_ssize_t size, double *work, double *costs
    ) noexcept nogil

    void weigh(
        const double *v, const Py_ssize_t *votes, Py_ssize_t n, Py_ssize_t size,
        const double *sides, double *weighed,
    ) noexcept nogil
    void scale(
        double *v, const Py_ssize_t *votes, Py_ssize_t n, Py_ssize_t size, const double *sides,
        double wrong, double right,
    ) noexcept nogil

ctypedef fused code_t:
    unsigned char
    int

# Rows whose weights stay in the cache while all features of a group count them.
cdef Py_ssize_t BLOCK = 512
cdef double NOTHING = 1e300


def code_column(const double[:] column, const double[::1] cuts, code_t[::1] codes):
    """Number of cuts below each value, and one more than the bins have where it is missing."""
    cdef Py_ssize_t i, place, width, half, m = cuts.shape[0]
    cdef const double *cut = &cuts[0] if m else NULL
    cdef double x
    check_size("codes", codes.shape[0], column.shape[0])
    if m + 1 > (255 if sizeof(code_t) == 1 else MOST_NUMBERED):
        raise ValueError(f"codes of {sizeof(code_t)} bytes cannot number {m + 1} bins.")
    with nogil:
        for i in range(codes.shape[0]):
            x = column[i]
            place, width = 0, m
            # The step is a product, because a branch would be guessed wrongly half of the time.
            while width > 0:
                half = (width + 1) >> 1
                place += half * (cut[place + half - 1] < x)
                width -= half
            codes[i] = <code_t>(place if x == x else m + 1)


def sum_by_bin(
    const code_t[:, ::1] codes,
    const double[:, ::1] V,
    const Py_ssize_t[::1] first,
    double[:, ::1] sums,
    Py_ssize_t start,
    Py_ssize_t stop,
):
    """Sums of V over the rows of every bin; the bins of feature start + m begin at first[m]."""
    cdef Py_ssize_t n = codes.shape[1], thresholds = V.shape[1]
    cdef Py_ssize_t block = 0, end, j, outside = -1
    if not 0 <= start <= stop <= codes.shape[0]:
        raise IndexError(
            f"start and stop must be in 0 … {codes.shape[0]} and ascend; found {start} and {stop}."
        )
    check_size("V", V.shape[0], n)
    check_size("columns of sums", sums.shape[1], thresholds)
    check_size("first", first.shape[0], stop - start + 1)
    check_starts("first", first, sums.shape[0])
    with nogil:
        memset(&sums[0, 0], 0, first[stop - start] * thresholds * sizeof(double))
        while block < n and outside < 0:
            end = min(block + BLOCK, n)
            for j in range(start, stop):
                # Codes are checked a block at a time, so that they come from memory once.
                if not within(
                    &codes[j, block], end - block, first[j - start + 1] - first[j - start]
                ):
                    outside = j
                    break
                _sum_block(
                    &codes[j, block], &V[block, 0], end - block, thresholds,
                    &sums[first[j - start], 0],
                )
            block = end
    if outside >= 0:
        refuse_indices(
            f"codes of feature {outside}", first[outside - start + 1] - first[outside - start]
        )


cdef inline void _sum_block(
    const code_t *codes, const double *v, Py_ssize_t n, Py_ssize_t thresholds, double *sums
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        add_to(sums + codes[i] * thresholds, v + i * thresholds, thresholds)


def least_costs(
    const double[:, ::1] sums,
    const Py_ssize_t[::1] first,
    double[::1] limit,
    double slack,
    double[:, ::1] costs,
    double[::1] work,
):
    """Cost of the best rising and falling cuts of every feature, above that of all ranks highest.

    A feature whose cost must exceed limit[0] + slack, even if its thresholds could be cut in any
    order, is given up at once and gets a cost beyond all others. limit[0] falls to the least cost.
    The last bin of a feature holds the rows with a missing value, which take the rank of least
    cost among them.
    """
    cdef Py_ssize_t thresholds = sums.shape[1], m, n_bins
    cdef double missing, bound
    check_starts("first", first, sums.shape[0])
    check_room("thresholds", thresholds, 1)
    check_room("limit", limit.shape[0], 1)
    check_room("costs", costs.shape[0], first.shape[0] - 1)
    check_size("columns of costs", costs.shape[1], 2)
    check_room("work", work.shape[0], 3 * thresholds)
    for m in range(first.shape[0] - 1):
        check_room("bins of a feature", first[m + 1] - first[m], 1)
    with nogil:
        for m in range(first.shape[0] - 1):
            missing = _least_suffix(&sums[first[m + 1] - 1, 0], thresholds)
            n_bins = first[m + 1] - 1 - first[m]
            bound = unordered_cost(&sums[first[m], 0], n_bins, thresholds, &work[0])
            if bound + missing > limit[0] + slack:
                costs[m, 0] = costs[m, 1] = NOTHING
                continue
            ordered_costs(&sums[first[m], 0], n_bins, thresholds, &work[0], &costs[m, 0])
            costs[m, 0] += missing
            costs[m, 1] += missing
            limit[0] = min(limit[0], min(costs[m, 0], costs[m, 1]))


cdef double _least_suffix(const double *sums, Py_ssize_t size) noexcept nogil:
    cdef double total = 0.0, least = 0.0
    cdef Py_ssize_t k
    for k in range(size - 1, -1, -1):
        total += sums[k]
        least = min(least, total)
    return least


def trace_cuts(
    const double[:, ::1] sums,
    Py_ssize_t start,
    Py_ssize_t stop,
    bint rising,
    double slack,
    int[:, ::1] at,
    double[::1] work,
    Py_ssize_t[::1] cuts,
):
    """Number of bins before each cut of the best rising or falling stump.

    Among costs that are equal up to the slack of rounding the least cut wins. ``at`` has a row for each threshold and room for a number per bin and one more.
    """
    cdef Py_ssize_t thresholds = sums.shape[1], n_bins, g, k, m
    cdef double *prefix
    cdef double *best
    cdef double value, sign = 1.0 if rising else -1.0
    if not 0 <= start <= stop <= sums.shape[0]:
        raise IndexError(
            f"start and stop must be in 0 … {sums.shape[0]} and ascend; found {start} and {stop}."
        )
    n_bins = stop - start
    # Numbers of bins are kept in 32 bits.
    check_numbered("bins", n_bins)
    check_room("at", at.shape[0], thresholds)
    check_room("columns of at", at.shape[1], n_bins + 1)
    check_room("work", work.shape[0], 2 * thresholds)
    check_size("cuts", cuts.shape[0], thresholds)
    prefix = &work[0]
    best = &work[thresholds]
    with nogil:
        memset(prefix, 0, 2 * thresholds * sizeof(double))
        for m in range(thresholds):
            at[m, 0] = 0
        for g in range(n_bins):
            value = 0.0
            for m in range(thresholds):
                k = m if rising else thresholds - 1 - m
                prefix[k] += sums[start + g, k]
                value += sign * prefix[k]
                at[m, g + 1] = at[m, g]
                if value < best[m] - slack:
                    best[m] = value
                    at[m, g + 1] = <int>(g + 1)
                value = best[m]
        g = n_bins
        for m in range(thresholds - 1, -1, -1):
            g = at[m, g]
            cuts[m if rising else thresholds - 1 - m] = g


def sum_sides(const double[:, ::1] V, double[:, ::1] sums):
    """Weight of the rows above each threshold, and of those not above."""
    cdef Py_ssize_t thresholds = V.shape[1], i, k
    cdef double v
    check_size("sums", sums.shape[0], 2)
    check_size("columns of sums", sums.shape[1], thresholds)
    with nogil:
        memset(&sums[0, 0], 0, 2 * thresholds * sizeof(double))
        for i in range(V.shape[0]):
            for k in range(thresholds):
                v = V[i, k]
                sums[0, k] += v if v > 0.0 else 0.0
                sums[1, k] -= v if v < 0.0 else 0.0


def weigh_votes(
    const double[:, ::1] V,
    const Py_ssize_t[::1] votes,
    const double[:, ::1] sides,
    double[::1] weighed,
):
    """Weight of the sides that the votes get wrong, and of all sides.

    Row r of ``sides`` has +1 at the thresholds below rank r and −1 at the others.
    """
    check_votes(V, votes, sides)
    check_size("weighed", weighed.shape[0], 2)
    with nogil:
        weigh(&V[0, 0], &votes[0], V.shape[0], V.shape[1], &sides[0, 0], &weighed[0])


def scale_sides(
    double[:, ::1] V,
    const Py_ssize_t[::1] votes,
    const double[:, ::1] sides,
    double wrong,
    double right,
):
    """Multiply the weights of the sides that the votes get wrong, and of the others.

    A weight does not vanish by underflow, so that no side is forgotten for good.
    """
    check_votes(V, votes, sides)
    with nogil:
        scale(&V[0, 0], &votes[0], V.shape[0], V.shape[1], &sides[0, 0], wrong, right)


cdef int check_votes(
    const double[:, ::1] V, const Py_ssize_t[::1] votes, const double[:, ::1] sides
) except -1:
    check_size("votes", votes.shape[0], V.shape[0])
    check_size("columns of sides", sides.shape[1], V.shape[1])
    return check_indices("votes", votes, sides.shape[0])
