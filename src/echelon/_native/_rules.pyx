# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Search for the condition that improves a rule most.

A rule splits the rows into those inside and those outside. Row i has a level c, the factor u_i with
which it enters pairs as the higher row, and v_i as the lower one. With U_c, V_c the sums over the
inside rows of level c and D_c(V) = Σ_{c' < c} m(c, c')·V_c' the weight below level c,

    q = Σ_c U_c·D_c(V)                  weighs the pairs with both rows inside,
    a = Σ_c U_c·D_c(V of all rows)      those with the higher row inside,
    b = Σ_c (U of all rows)_c·D_c(V)    those with the lower row inside,

so a − q weighs the pairs that the rule orders rightly (W_>), b − q those that it orders wrongly
(W_<). a and b are sums over rows, q costs O(K), and the sums of the rows that a cut leaves follow
from those of the rows that it takes: with C for all rows before the cut, q of the rest is
q_C − Σ_c (U_c·D_c(V_C) + V_c·E_c(U_C)) + q, where E is the adjoint of D. m is 1, or c − c'. Moving
a sum from a level to the next multiplies it by the level's decay, which keeps the factors of levels
far apart in range.

A loss that is a sum over rows has one level, with W_> = U and W_< = V.
"""

cdef extern from *:
    """
    #include <stddef.h>
    /* Sums by level may be taken in any order, so that several levels go at once. */
    #if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
    #define WIDE __attribute__((target_clones("avx2", "default"), \\
        optimize("O3", "no-signed-zeros", "no-trapping-math", "associative-math")))
    #else
    #define WIDE
    #endif

    /* Add the sums u, v by level of some rows to U, V; parts: a, b and cross, see Parts. */
    WIDE static void add_levels(const double *restrict u, const double *restrict v,
                                double *restrict U, double *restrict V,
                                const double *restrict D, const double *restrict E,
                                const double *restrict DC, const double *restrict EC,
                                ptrdiff_t K, double *restrict parts) {
        double a = 0.0, b = 0.0, cross = 0.0;
        ptrdiff_t c;
        for (c = 0; c < K; c++) {
            U[c] += u[c];
            V[c] += v[c];
            a += u[c] * D[c];
            b += v[c] * E[c];
            cross += u[c] * DC[c] + v[c] * EC[c];
        }
        parts[0] += a;
        parts[1] += b;
        parts[2] += cross;
    }
    """
    void add_levels(
        const double *u, const double *v, double *U, double *V, const double *D, const double *E,
        const double *DC, const double *EC, Py_ssize_t K, double *parts
    ) noexcept nogil

from libc.math cimport HUGE_VAL, fabs, sqrt
from libc.stdlib cimport free, malloc, qsort
from libc.string cimport memcpy, memset

from ._checks cimport (
    MOST_NUMBERED, check_index, check_indices, check_numbered, check_room, check_size,
    refuse_indices, within
)

ctypedef fused code_t:
    unsigned char
    int

cdef enum:
    SIMULTANEOUS = 0
    GRADIENT = 1
    GRADIENT_BOOSTING = 2
    CONSTANT_STEP = 3

cdef enum:
    AT_MOST = 0
    ABOVE = 1
    AMONG = 2
    NOT_AMONG = 3

# A difference of sums below this share of them is rounding.
cdef double ROUNDING = 1e-12
# Gains within this factor are equal, and the first found wins.
cdef double TIE = 1.0 + 1e-9


# Rows, codes and levels are kept in 32 bits, as many as are checked to be enough; places in memory
# are computed from them in Py_ssize_t.
cdef struct Cell:
    double u
    double v
    int level
    int inside


cdef struct Tilt:
    double value
    int code


cdef struct Best:
    double gain
    Py_ssize_t feature
    int kind
    int cut
    int n_members


cdef struct Parts:
    # a, b and q of some rows, and their share of the cross terms of q with the rows before the cut;
    # then the same of plain weights. q of a candidate is that of the last one it was computed for,
    # which had the cross terms last_cross.
    double a, b, cross, q
    double wa, wb, wcross, wq
    double last_cross


cdef int _by_tilt(const void *first, const void *second) noexcept nogil:
    cdef const Tilt *p = <const Tilt *>first
    cdef const Tilt *q = <const Tilt *>second
    if p.value != q.value:
        return -1 if p.value < q.value else 1
    return p.code - q.code


cdef inline double _inside_pairs(
    const double *U, const double *V, const double *decay, Py_ssize_t K, bint per_threshold
) noexcept nogil:
    """q of sums by level; decay is NULL where it is one for all levels."""
    cdef double under = 0.0, below = 0.0, q = 0.0
    cdef Py_ssize_t c
    if decay == NULL and per_threshold:
        for c in range(K):
            q += U[c] * below
            under += V[c]
            below += under
    elif decay == NULL:
        for c in range(K):
            q += U[c] * under
            under += V[c]
    elif per_threshold:
        for c in range(K):
            q += U[c] * below
            under = under * decay[c] + V[c]
            below = below * decay[c] + under
    else:
        for c in range(K):
            q += U[c] * under
            under = under * decay[c] + V[c]
    return q


cdef void _weigh_levels(
    const double *U, const double *V, const double *decay, Py_ssize_t K, bint per_threshold,
    double *D, double *E,
) noexcept nogil:
    """D of V and E of U."""
    cdef double near = 0.0, far = 0.0
    cdef Py_ssize_t c
    for c in range(K):
        D[c] = far if per_threshold else near
        near = near * (decay[c] if decay else 1.0) + V[c]
        far = far * (decay[c] if decay else 1.0) + near
    near = far = 0.0
    for c in range(K - 1, -1, -1):
        E[c] = far if per_threshold else near
        near = near * (decay[c] if decay else 1.0) + U[c]
        far = far * (decay[c] if decay else 1.0) + near


cdef class Scratch:
    """Memory of one thread: sums by bin, the sums of a candidate, and the best one found."""

    cdef double *hist
    cdef unsigned char *touched     # bins that hold a covered row
    cdef double *sums       # U, V and weights (twice) of the candidate
    cdef double *whole      # the same of the rows before the cut
    cdef double *weighed    # D and E of the rows before the cut, then of their plain weights
    cdef Tilt *tilts
    cdef int *members
    cdef Best best
    cdef Py_ssize_t n_levels, most_bins

    def __cinit__(self, Py_ssize_t n_levels, Py_ssize_t most_bins):
        # So that no size below overflows; what there is no memory for is refused after it.
        check_index("n_levels", n_levels - 1, MOST_NUMBERED)
        check_index("most_bins", most_bins - 1, MOST_NUMBERED // 8)
        self.n_levels, self.most_bins = n_levels, most_bins
        self.sums = <double *>malloc((11 + 3 * most_bins) * n_levels * sizeof(double))
        self.touched = <unsigned char *>malloc(most_bins)
        self.tilts = <Tilt *>malloc(most_bins * sizeof(Tilt))
        self.members = <int *>malloc(most_bins * sizeof(int))
        if not (self.sums and self.touched and self.tilts and self.members):
            raise MemoryError
        self.whole = self.sums + 4 * n_levels
        self.weighed = self.whole + 3 * n_levels
        self.hist = self.weighed + 4 * n_levels

    def __dealloc__(self):
        free(self.sums)
        free(self.touched)
        free(self.tilts)
        free(self.members)

    def found(self):
        """Gain, feature, kind, cut and members of the best condition."""
        members = [self.members[m] for m in range(self.best.n_members)]
        return self.best.gain, self.best.feature, self.best.kind, self.best.cut, members


cdef class RuleGrower:
    """The rows that a growing rule covers, and what a further condition would do.

    ``codes`` (d, n) has the bin of each value, n_bins[j] for a missing one. ``orders`` (d, n) has
    the rows by ascending code, or is None to sum by bin instead. ``up`` and ``down`` are what a
    constant step gains on a pair that it orders rightly and loses on the others.
    """

    cdef object _codes, _orders
    cdef const unsigned char *narrow
    cdef const int *wide
    cdef const int *orders
    cdef int *kept
    cdef Py_ssize_t *lengths
    cdef const Py_ssize_t[::1] n_bins
    cdef const unsigned char[::1] nominal, has_missing
    cdef Cell *cells
    cdef int *rows
    cdef const double[::1] kept_weights
    cdef const double *weights
    cdef Py_ssize_t n_rows, n_features, n_inside, n_levels, room
    cdef Py_ssize_t technique
    cdef bint per_threshold, by_order, additive
    cdef double up, down
    cdef double *decay      # NULL where it is one for all levels
    cdef double *decays
    cdef double *total      # U, V and weights of all rows
    cdef double *covered    # the same of the rows inside
    cdef double *weighed    # D and E of all rows, then of their plain weights

    def __cinit__(
        self, codes, const Py_ssize_t[::1] n_bins, const unsigned char[::1] nominal,
        const unsigned char[::1] has_missing, orders, Py_ssize_t n_levels,
        Py_ssize_t technique, double up, double down,
    ):
        cdef const unsigned char[:, ::1] narrow
        cdef const int[:, ::1] wide
        self._codes, self._orders = codes, orders
        self.n_features, self.n_rows = codes.shape
        check_room("codes", self.n_features, 1)
        check_room("rows", self.n_rows, 1)
        check_numbered("rows", self.n_rows)
        check_size("n_bins", n_bins.shape[0], self.n_features)
        check_size("nominal", nominal.shape[0], self.n_features)
        check_size("has_missing", has_missing.shape[0], self.n_features)
        # So that the sum of two codes, halved for the cut between them, fits 32 bits.
        check_indices("n_bins", n_bins, MOST_NUMBERED // 2)
        check_index("n_levels", n_levels - 1, MOST_NUMBERED)
        check_index("technique", technique, CONSTANT_STEP + 1)
        if codes.itemsize == 1:
            narrow = codes
            self.narrow = &narrow[0, 0]
            check_codes(self.narrow, self.n_rows, n_bins)
        else:
            wide = codes
            self.wide = &wide[0, 0]
            check_codes(self.wide, self.n_rows, n_bins)
        self.by_order = orders is not None
        if self.by_order:
            wide = orders
            check_size("orders", wide.shape[0], self.n_features)
            check_size("columns of orders", wide.shape[1], self.n_rows)
            self.orders = &wide[0, 0]
            if not within(self.orders, self.n_features * self.n_rows, self.n_rows):
                refuse_indices("orders", self.n_rows)
            self.kept = <int *>malloc(self.n_features * self.n_rows * sizeof(int))
        self.lengths = <Py_ssize_t *>malloc(self.n_features * sizeof(Py_ssize_t))
        self.n_bins, self.nominal, self.has_missing = n_bins, nominal, has_missing
        self.room = n_levels
        self.technique, self.up, self.down = technique, up, down
        self.cells = <Cell *>malloc(self.n_rows * sizeof(Cell))
        self.rows = <int *>malloc(self.n_rows * sizeof(int))
        self.total = <double *>malloc(11 * n_levels * sizeof(double))
        if not (
            self.lengths and self.cells and self.rows and self.total
            and (self.kept or not self.by_order)
        ):
            raise MemoryError
        self.covered = self.total + 3 * n_levels
        self.weighed = self.covered + 3 * n_levels
        self.decays = self.weighed + 4 * n_levels

    def __dealloc__(self):
        free(self.kept)
        free(self.lengths)
        free(self.cells)
        free(self.rows)
        free(self.total)

    def begin(
        self, const unsigned char[::1] drawn, const int[::1] levels, const double[::1] u,
        const double[::1] v, const double[::1] weights, const double[:, ::1] factors,
        const double[::1] decay, bint per_threshold, bint additive,
    ):
        """Start from the rule that covers all drawn rows; returns its gain.

        ``factors`` (2, K) multiply u and v by level. With ``additive``, every row is a term by
        itself.
        """
        cdef Py_ssize_t i, m = 0, c, K = 1 if additive else decay.shape[0]
        cdef Cell *cell
        for size in (drawn.shape[0], levels.shape[0], u.shape[0], v.shape[0], weights.shape[0]):
            check_size("numbers by row", size, self.n_rows)
        check_size("factors", factors.shape[0], 2)
        check_indices("levels", levels, factors.shape[1] if additive else min(K, factors.shape[1]))
        check_room("decay", decay.shape[0], 1)
        check_index("number of levels", K - 1, self.room)
        self.additive, self.per_threshold = additive, per_threshold
        self.n_levels = K
        # Scans read them after this call, when the caller may have dropped them.
        self.kept_weights = weights
        self.weights = &weights[0]
        self.decay = NULL
        for c in range(K):
            self.decays[c] = decay[c]
            # The decay of the ends multiplies nothing.
            if 0 < c < K - 1 and decay[c] != 1.0:
                self.decay = self.decays
        with nogil:
            for i in range(self.n_rows):
                if self.by_order:
                    self.cells[i].inside = drawn[i] != 0
                if not drawn[i]:
                    continue
                cell = self.cells + (i if self.by_order else m)
                self.rows[m] = <int>i
                m += 1
                cell.inside = 1
                cell.u = u[i] * factors[0, levels[i]]
                cell.v = v[i] * factors[1, levels[i]]
                cell.level = 0 if additive else levels[i]
            self.n_inside = m
            for c in range(self.n_features):
                self.lengths[c] = -1
            self._sum_covered()
            memcpy(self.total, self.covered, 3 * self.room * sizeof(double))
            self._weigh(self.total, self.weighed)
        if not additive:
            return 0.0
        return self._measure(self.total[0], self.total[self.room], self.total[2 * self.room])

    cdef void _sum_covered(self) noexcept nogil:
        cdef double *U = self.covered
        cdef double *V = U + self.room
        cdef double *S = V + self.room
        cdef Py_ssize_t t
        cdef const Cell *cell
        memset(U, 0, 3 * self.room * sizeof(double))
        for t in range(self.n_inside):
            cell = self.cells + (self.rows[t] if self.by_order else t)
            U[cell.level] += cell.u
            V[cell.level] += cell.v
            S[cell.level] += self.weights[self.rows[t]]

    cdef void _weigh(self, const double *sums, double *weighed) noexcept nogil:
        cdef Py_ssize_t R = self.room, K = self.n_levels
        if self.additive:
            return
        _weigh_levels(sums, sums + R, self.decay, K, self.per_threshold, weighed, weighed + R)
        if self.technique == GRADIENT_BOOSTING:
            _weigh_levels(
                sums + 2 * R, sums + 2 * R, NULL, K, self.per_threshold,
                weighed + 2 * R, weighed + 3 * R,
            )

    def scan(self, Scratch scratch, const Py_ssize_t[::1] features, double least):
        """Look for the best condition on some features; one with no more gain than ``least`` is
        none."""
        cdef Py_ssize_t m, j
        check_indices("features", features, self.n_features)
        self.check_begun()
        check_room("levels of the scratch", scratch.n_levels, self.room)
        for m in range(features.shape[0]):
            j = features[m]
            if self.nominal[j] or not self.by_order:
                check_room("bins of the scratch", scratch.most_bins, self.n_bins[j] + 1)
        scratch.best.gain = least
        scratch.best.feature = -1
        scratch.best.n_members = 0
        with nogil:
            for m in range(features.shape[0]):
                j = features[m]
                if self.narrow:
                    self._scan_feature(scratch, j, self.narrow + j * self.n_rows)
                else:
                    self._scan_feature(scratch, j, self.wide + j * self.n_rows)

    cdef int check_begun(self) except -1:
        if self.n_levels == 0:
            raise ValueError("A rule must be begun before it grows.")
        return 0

    cdef void _scan_feature(
        self, Scratch scratch, Py_ssize_t j, const code_t *codes
    ) noexcept nogil:
        if self.nominal[j]:
            self._fill_bins(scratch, j, codes)
            self._scan_categories(scratch, j)
        elif self.by_order:
            self._scan_order(scratch, j, codes)
        else:
            self._fill_bins(scratch, j, codes)
            self._scan_bins(scratch, j)

    cdef void _fill_bins(self, Scratch scratch, Py_ssize_t j, const code_t *codes) noexcept nogil:
        """Sums of the covered rows by bin and level; bins without such rows are left alone."""
        cdef Py_ssize_t K = self.n_levels, t, code
        cdef bint weighted = self.technique == GRADIENT_BOOSTING
        cdef Py_ssize_t width = 3 if weighted else 2
        cdef Py_ssize_t size = K * width
        cdef double *hist = scratch.hist
        cdef double *place
        cdef unsigned char *touched = scratch.touched
        cdef const Cell *cell
        cdef const int *rows = self.rows
        memset(touched, 0, self.n_bins[j] + 1)
        for t in range(self.n_inside):
            code = codes[rows[t]]
            cell = self.cells + (rows[t] if self.by_order else t)
            if not touched[code]:
                touched[code] = 1
                memset(hist + code * size, 0, size * sizeof(double))
            place = hist + code * size + cell.level
            place[0] += cell.u
            place[K] += cell.v
            if weighted:
                place[2 * K] += self.weights[rows[t]]

    cdef Parts _parts_of_whole(self, Scratch scratch) noexcept nogil:
        """a, b, q of the rows before the cut, which stand in scratch.whole."""
        cdef Parts parts
        cdef Py_ssize_t R = self.room, K = self.n_levels, c
        cdef const double *U = scratch.whole
        cdef const double *V = U + R
        cdef const double *S = V + R
        memset(&parts, 0, sizeof(Parts))
        if self.additive:
            parts.a, parts.b, parts.wa = U[0], V[0], S[0]
            return parts
        self._weigh(scratch.whole, scratch.weighed)
        for c in range(K):
            parts.a += U[c] * self.weighed[c]
            parts.b += V[c] * self.weighed[R + c]
        parts.q = _inside_pairs(U, V, self.decay, K, self.per_threshold)
        if self.technique == GRADIENT_BOOSTING:
            for c in range(K):
                parts.wa += S[c] * self.weighed[2 * R + c]
                parts.wb += S[c] * self.weighed[3 * R + c]
            parts.wq = _inside_pairs(S, S, NULL, K, self.per_threshold)
        return parts

    cdef inline void _take(
        self, Scratch scratch, Parts *parts, Py_ssize_t c, double u, double v, double s
    ) noexcept nogil:
        """Move rows of level c into the candidate."""
        cdef Py_ssize_t R = self.room
        cdef double *U = scratch.sums
        cdef const double *all_rows = self.weighed
        cdef const double *before = scratch.weighed
        if self.additive:
            parts.a += u
            parts.b += v
            parts.wa += s
            return
        U[c] += u
        U[R + c] += v
        parts.a += u * all_rows[c]
        parts.b += v * all_rows[R + c]
        parts.cross += u * before[c] + v * before[R + c]
        if self.technique == GRADIENT_BOOSTING:
            U[2 * R + c] += s
            parts.wa += s * all_rows[2 * R + c]
            parts.wb += s * all_rows[3 * R + c]
            parts.wcross += s * (before[2 * R + c] + before[3 * R + c])

    cdef void _judge(
        self, Scratch scratch, Py_ssize_t j, Parts *parts, const Parts *whole, int taken,
        int left, int cut,
    ) noexcept nogil:
        """Compare the candidate, and the rows that it leaves, with the best so far."""
        cdef double first, second
        if self.additive:
            first = self._measure(parts.a, parts.b, parts.wa)
            second = self._measure(
                _rest(whole.a - parts.a, whole.a), _rest(whole.b - parts.b, whole.b),
                _rest(whole.wa - parts.wa, whole.wa),
            )
        elif self.technique == GRADIENT:
            # q is in both and falls out of the difference.
            first = fabs(parts.a - parts.b)
            second = fabs(whole.a - parts.a - (whole.b - parts.b))
        elif self.technique == GRADIENT_BOOSTING:
            self._measure_fits(scratch, parts, whole, &first, &second)
        elif self._may_win(scratch.best.gain, parts, whole):
            self._measure_pairs(scratch, parts, whole, &first, &second)
        else:
            return
        self._note(scratch, first, j, taken, cut)
        self._note(scratch, second, j, left, cut)

    cdef inline bint _may_win(
        self, double best, const Parts *parts, const Parts *whole
    ) noexcept nogil:
        """Whether a side may beat the best, by what is known before q is computed.

        q has grown since it was last computed, by no more than the cross terms. W_> − W_< does not
        depend on it, and for given W_> − W_< both measures fall as W_> + W_< = a + b − 2q rises.
        """
        cdef double q = parts.q + parts.cross - parts.last_cross
        cdef double a = whole.a - parts.a, b = whole.b - parts.b
        if self._beyond(best, fabs(parts.a - parts.b), parts.a + parts.b - 2.0 * q):
            return True
        q = whole.q - parts.last_cross + parts.q
        return self._beyond(best, fabs(a - b), a + b - 2.0 * q)

    cdef inline bint _beyond(self, double best, double lead, double least_sum) noexcept nogil:
        cdef double square = best * best
        least_sum = max(least_sum, lead)
        if self.technique == SIMULTANEOUS:
            # (√W_> − √W_<)² = s − √(s² − lead²) > best², solved for s = W_> + W_<.
            return lead > square and lead * lead + square * square > 2.0 * square * least_sum
        return (self.up + self.down) * lead - (self.down - self.up) * least_sum > 2.0 * best

    cdef void _measure_pairs(
        self, Scratch scratch, Parts *parts, const Parts *whole, double *first, double *second
    ) noexcept nogil:
        cdef Py_ssize_t R = self.room
        cdef const double *U = scratch.sums
        cdef double q = _inside_pairs(U, U + R, self.decay, self.n_levels, self.per_threshold)
        cdef double rest = whole.q - parts.cross + q
        parts.q, parts.last_cross = q, parts.cross
        first[0] = self._measure(
            _rest(parts.a - q, parts.a), _rest(parts.b - q, parts.b), 0.0
        )
        second[0] = self._measure(
            _rest(whole.a - parts.a - rest, whole.a), _rest(whole.b - parts.b - rest, whole.b),
            0.0,
        )

    cdef void _measure_fits(
        self, Scratch scratch, const Parts *parts, const Parts *whole, double *first,
        double *second,
    ) noexcept nogil:
        """Gradient boosting needs the number of pairs that are split, and W_> − W_< alone."""
        cdef const double *S = scratch.sums + 2 * self.room
        cdef double q = _inside_pairs(S, S, NULL, self.n_levels, self.per_threshold)
        cdef double split = parts.wa + parts.wb - 2.0 * q
        first[0] = self._measure(parts.a, parts.b, _rest(split, parts.wa + parts.wb))
        split = whole.wa - parts.wa + whole.wb - parts.wb - 2.0 * (whole.wq - parts.wcross + q)
        second[0] = self._measure(
            whole.a - parts.a, whole.b - parts.b, _rest(split, whole.wa + whole.wb)
        )

    cdef inline void _note(
        self, Scratch scratch, double gain, Py_ssize_t j, int kind, int cut
    ) noexcept nogil:
        if gain > scratch.best.gain * TIE:
            scratch.best.gain = gain
            scratch.best.feature = j
            scratch.best.kind = kind
            scratch.best.cut = cut

    cdef inline double _measure(self, double right, double wrong, double split) noexcept nogil:
        cdef double low
        if self.technique == SIMULTANEOUS:
            return fabs(sqrt(right) - sqrt(wrong))
        if self.technique == GRADIENT:
            return fabs(right - wrong)
        if self.technique == GRADIENT_BOOSTING:
            return fabs(right - wrong) / sqrt(split) if split > 0.0 else 0.0
        low = min(right, wrong)
        return self.up * max(right, wrong) - self.down * low

    cdef void _scan_order(self, Scratch scratch, Py_ssize_t j, const code_t *codes) noexcept nogil:
        cdef const int *source = self.kept + j * self.n_rows
        cdef int *kept = self.kept + j * self.n_rows
        cdef Py_ssize_t length = self.lengths[j], t, m = 0
        cdef int row, code, last = -1
        cdef int missing = <int>self.n_bins[j]
        cdef const Cell *cell
        cdef Parts parts, whole
        if length < 0:
            source = self.orders + j * self.n_rows
            length = self.n_rows
        for t in range(length):
            row = source[t]
            kept[m] = row
            m += self.cells[row].inside
        self.lengths[j] = m
        memcpy(scratch.whole, self.covered, 3 * self.room * sizeof(double))
        if self.has_missing[j]:
            for t in range(m - 1, -1, -1):
                if codes[kept[t]] != missing:
                    break
                self._drop_from_whole(scratch, kept[t])
                m = t
        whole = self._parts_of_whole(scratch)
        memset(&parts, 0, sizeof(Parts))
        memset(scratch.sums, 0, 4 * self.room * sizeof(double))
        for t in range(m):
            row = kept[t]
            code = codes[row]
            if code != last:
                if last >= 0:
                    self._judge(
                        scratch, j, &parts, &whole, AT_MOST, ABOVE, (last + code - 1) // 2
                    )
                last = code
            cell = self.cells + row
            self._take(scratch, &parts, cell.level, cell.u, cell.v, self.weights[row])

    cdef void _drop_from_whole(self, Scratch scratch, int row) noexcept nogil:
        cdef const Cell *cell = self.cells + row
        cdef Py_ssize_t R = self.room
        scratch.whole[cell.level] -= cell.u
        scratch.whole[R + cell.level] -= cell.v
        scratch.whole[2 * R + cell.level] -= self.weights[row]

    cdef void _sum_bins(self, Scratch scratch, Py_ssize_t j) noexcept nogil:
        """The rows that have a value, into scratch.whole."""
        cdef Py_ssize_t K = self.n_levels, R = self.room, g, c
        cdef Py_ssize_t width = 3 if self.technique == GRADIENT_BOOSTING else 2
        cdef const double *place
        memcpy(scratch.whole, self.covered, 3 * R * sizeof(double))
        if not self.has_missing[j]:
            return
        memset(scratch.whole, 0, 3 * R * sizeof(double))
        for g in range(self.n_bins[j]):
            if not scratch.touched[g]:
                continue
            place = scratch.hist + g * K * width
            for c in range(K):
                scratch.whole[c] += place[c]
                scratch.whole[R + c] += place[K + c]
                if width == 3:
                    scratch.whole[2 * R + c] += place[2 * K + c]

    cdef void _take_bin(self, Scratch scratch, Parts *parts, Py_ssize_t g) noexcept nogil:
        """Move the rows of a bin into the candidate."""
        cdef Py_ssize_t K = self.n_levels, R = self.room
        cdef bint weighted = self.technique == GRADIENT_BOOSTING
        cdef double *U = scratch.sums
        cdef const double *D = self.weighed
        cdef const double *DC = scratch.weighed
        cdef const double *u = scratch.hist + g * K * (3 if weighted else 2)
        cdef const double *s = u + 2 * K
        if self.additive:
            self._take(scratch, parts, 0, u[0], u[1], s[0] if weighted else 0.0)
            return
        add_levels(u, u + K, U, U + R, D, D + R, DC, DC + R, K, &parts.a)
        if weighted:
            # Weights are on both sides of a pair; a second copy of U takes no notice.
            add_levels(
                s, s, U + 2 * R, U + 3 * R, D + 2 * R, D + 3 * R, DC + 2 * R, DC + 3 * R, K,
                &parts.wa,
            )

    cdef void _scan_bins(self, Scratch scratch, Py_ssize_t j) noexcept nogil:
        cdef Parts parts, whole
        cdef Py_ssize_t g
        cdef int last = -1
        self._sum_bins(scratch, j)
        whole = self._parts_of_whole(scratch)
        memset(&parts, 0, sizeof(Parts))
        memset(scratch.sums, 0, 4 * self.room * sizeof(double))
        for g in range(self.n_bins[j]):
            if not scratch.touched[g]:
                continue
            if last >= 0:
                self._judge(
                    scratch, j, &parts, &whole, AT_MOST, ABOVE, (last + <int>g - 1) // 2
                )
            last = <int>g
            self._take_bin(scratch, &parts, g)

    cdef void _scan_categories(self, Scratch scratch, Py_ssize_t j) noexcept nogil:
        """Each category by itself, and the sets of those that pull down, or up, most."""
        cdef Parts parts, whole
        cdef Py_ssize_t g, m = 0, t
        cdef Tilt *tilts = scratch.tilts
        cdef double before
        self._sum_bins(scratch, j)
        whole = self._parts_of_whole(scratch)
        for g in range(self.n_bins[j]):
            if not scratch.touched[g]:
                continue
            memset(&parts, 0, sizeof(Parts))
            memset(scratch.sums, 0, 4 * self.room * sizeof(double))
            self._take_bin(scratch, &parts, g)
            tilts[m].code = <int>g
            # Zero where a sum is infinite too: what is sorted must be in some order.
            tilts[m].value = (parts.a - parts.b) / (parts.a + parts.b) if (
                0.0 < parts.a + parts.b < HUGE_VAL
            ) else 0.0
            m += 1
            before = scratch.best.gain
            self._judge(scratch, j, &parts, &whole, AMONG, NOT_AMONG, 0)
            if scratch.best.gain > before:
                scratch.members[0] = <int>g
                scratch.best.n_members = 1
        if m < 4:
            return
        qsort(tilts, m, sizeof(Tilt), _by_tilt)
        memset(&parts, 0, sizeof(Parts))
        memset(scratch.sums, 0, 4 * self.room * sizeof(double))
        self._take_bin(scratch, &parts, tilts[0].code)
        for t in range(1, m - 2):
            self._take_bin(scratch, &parts, tilts[t].code)
            before = scratch.best.gain
            self._judge(scratch, j, &parts, &whole, AMONG, NOT_AMONG, 0)
            if scratch.best.gain > before:
                for g in range(t + 1):
                    scratch.members[g] = tilts[g].code
                scratch.best.n_members = <int>t + 1

    def restrict(self, Py_ssize_t feature, const unsigned char[::1] allowed):
        """Keep the covered rows whose code is allowed; returns their number."""
        self.check_begun()
        check_index("feature", feature, self.n_features)
        check_room("allowed", allowed.shape[0], self.n_bins[feature] + 1)
        with nogil:
            if self.narrow:
                self._restrict(self.narrow + feature * self.n_rows, &allowed[0])
            else:
                self._restrict(self.wide + feature * self.n_rows, &allowed[0])
            self._sum_covered()
        return self.n_inside

    cdef void _restrict(self, const code_t *codes, const unsigned char *allowed) noexcept nogil:
        cdef Py_ssize_t t, m = 0
        cdef int row
        for t in range(self.n_inside):
            row = self.rows[t]
            if not allowed[codes[row]]:
                if self.by_order:
                    self.cells[row].inside = 0
                continue
            self.rows[m] = row
            if not self.by_order:
                self.cells[m] = self.cells[t]
            m += 1
        self.n_inside = m


cdef int check_codes(
    const code_t *codes, Py_ssize_t n, const Py_ssize_t[::1] n_bins
) except -1:
    cdef Py_ssize_t j
    for j in range(n_bins.shape[0]):
        if not within(codes + j * n, n, n_bins[j] + 1):
            refuse_indices(f"codes of feature {j}", n_bins[j] + 1)
    return 0


cdef inline double _rest(double value, double scale) noexcept nogil:
    """What is left of sums as large as the scale, or zero where that is rounding."""
    return value if value > ROUNDING * scale else 0.0
