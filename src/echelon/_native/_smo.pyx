# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Sequential minimal optimisation on a small block of examples, and the scans around it.

Variables α[k, i] with 0 ≤ α ≤ upper belong to threshold k and example i; their side Z is +1 where
``codes[i] > k``. Stepping by t along Z·e[k, i] adds t to the threshold's sum d_k and t·K[i] to the
scores f. A variable that can still step by t > 0 is *up* and bounds the threshold from above, one
that can step by t < 0 is *low* and bounds it from below, both at v = f_i − Z + s_k, where the shift
s_k is d_k for penalised thresholds and 0 otherwise. The optimum has no low bound above an up bound
that it may be exchanged with. Which exchanges are allowed is the *coupling*.
"""

import numpy as np

from ._checks cimport check_index, check_indices, check_room, check_size

cdef extern from *:
    """
    #include <limits.h>
    #include <stddef.h>
    /* With the GNU vector types the loops below handle eight numbers at a time, compiled once per
       instruction set where the tools can choose at run time; the plain loops after them finish
       the rest, or do everything where there are no such types. Among equal values the first
       place wins either way. */
    #if defined(__GNUC__) || defined(__clang__)
    #define VECTORS
    typedef double doubles __attribute__((vector_size(64), aligned(8)));
    typedef long long longs __attribute__((vector_size(64), aligned(8)));
    typedef float floats __attribute__((vector_size(32), aligned(4)));
    typedef int ints __attribute__((vector_size(32), aligned(4)));
    #define AT(type, pointer) (*(const type *)(pointer))
    #define PICK(mask, yes, no, type, bits) ((type)(((mask) & (bits)(yes)) | (~(mask) & (bits)(no))))
    #endif
    #if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
    #define WIDE __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
    #else
    #define WIDE
    #endif
    #define NOTHING 1e300
    /* Rounding makes an exact zero of k(x,x) + k(x',x') - 2 k(x,x') anything up to this. */
    #define LEAST_CURVATURE 1e-12

    /* Least f + sign*at over a range, and where. */
    WIDE static double least(const double *restrict f, const double *restrict at, double sign,
                             ptrdiff_t from, ptrdiff_t to, ptrdiff_t *place) {
        double value = NOTHING;
        ptrdiff_t i = from, where = -1;
    #ifdef VECTORS
        doubles best[2], x;
        longs seen[2], less;
        int half, l;
        for (half = 0; half < 2; half++) {
            best[half] = (doubles){0} + NOTHING;
            seen[half] = (longs){0};
        }
        for (; i + 16 <= to; i += 16)
            for (half = 0; half < 2; half++) {
                x = sign * (AT(doubles, f + i + 8 * half) + AT(doubles, at + i + 8 * half));
                less = x < best[half];
                best[half] = PICK(less, x, best[half], doubles, longs);
                seen[half] = PICK(less, (longs){0} + (long long)i, seen[half], longs, longs);
            }
        for (half = 0; half < 2; half++)
            for (l = 0; l < 8; l++) {
                ptrdiff_t here = (ptrdiff_t)seen[half][l] + 8 * half + l;
                if (best[half][l] < value || (best[half][l] == value && here < where)) {
                    value = best[half][l];
                    where = here;
                }
            }
    #endif
        for (; i < to; i++)
            if (sign * (f[i] + at[i]) < value) {
                value = sign * (f[i] + at[i]);
                where = i;
            }
        *place = where;
        return sign * value;
    }

    /* Partner with the greatest decrease of the objective, step^2 / (2 curvature), or -1. */
    WIDE static ptrdiff_t best_partner(const double *restrict f, const double *restrict at,
                                       const float *restrict row, const double *restrict diagonal,
                                       double own, double v, ptrdiff_t from, ptrdiff_t to) {
        float value = 0.0f, step, curvature;
        ptrdiff_t i = from, where = -1;
    #ifdef VECTORS
        const floats tiny = (floats){0} + (float)LEAST_CURVATURE;
        floats best[2], steps, curvatures, gain;
        ints seen[2], more;
        int half, l;
        for (half = 0; half < 2; half++) {
            best[half] = (floats){0};
            seen[half] = (ints){0};
        }
        for (; i + 16 <= to; i += 16)
            for (half = 0; half < 2; half++) {
                ptrdiff_t j = i + 8 * half;
                steps = __builtin_convertvector(AT(doubles, f + j) + AT(doubles, at + j) - v, floats);
                curvatures = __builtin_convertvector(AT(doubles, diagonal + j) + own, floats)
                             - 2.0f * AT(floats, row + j);
                more = curvatures > tiny;
                curvatures = PICK(more, curvatures, tiny, floats, ints);
                gain = steps * steps / curvatures;
                more = (steps > 0.0f) & (gain > best[half]);
                best[half] = PICK(more, gain, best[half], floats, ints);
                /* 32 bits are enough: a block has i times i kernel values in memory. */
                seen[half] = PICK(more, (ints){0} + (int)i, seen[half], ints, ints);
            }
        for (half = 0; half < 2; half++)
            for (l = 0; l < 8; l++) {
                ptrdiff_t here = (ptrdiff_t)seen[half][l] + 8 * half + l;
                if (best[half][l] > value || (where >= 0 && best[half][l] == value && here < where)) {
                    value = best[half][l];
                    where = here;
                }
            }
    #endif
        for (; i < to; i++) {
            step = (float)(f[i] + at[i] - v);
            if (step <= 0.0f) continue;
            curvature = (float)(diagonal[i] + own) - 2.0f * row[i];
            if (curvature < (float)LEAST_CURVATURE) curvature = (float)LEAST_CURVATURE;
            if (step * step / curvature > value) {
                value = step * step / curvature;
                where = i;
            }
        }
        return where;
    }

    WIDE static void add_difference(double *restrict f, const float *restrict plus,
                                    const float *restrict minus, double t, ptrdiff_t size) {
        for (ptrdiff_t i = 0; i < size; i++) f[i] += t * ((double)plus[i] - (double)minus[i]);
    }

    WIDE static void add_row(double *restrict f, const float *restrict row, double t,
                             ptrdiff_t size) {
        for (ptrdiff_t i = 0; i < size; i++) f[i] += t * (double)row[i];
    }

    WIDE static void add_single_rows(double *restrict f, const float *restrict a,
                                     const float *restrict b, const float *restrict c,
                                     const float *restrict d, const double *restrict t,
                                     ptrdiff_t size) {
        double ta = t[0], tb = t[1], tc = t[2], td = t[3];
        for (ptrdiff_t i = 0; i < size; i++)
            f[i] += (ta * (double)a[i] + tb * (double)b[i])
                  + (tc * (double)c[i] + td * (double)d[i]);
    }

    WIDE static void add_double_rows(double *restrict f, const double *restrict a,
                                     const double *restrict b, const double *restrict c,
                                     const double *restrict d, const double *restrict t,
                                     ptrdiff_t size) {
        double ta = t[0], tb = t[1], tc = t[2], td = t[3];
        for (ptrdiff_t i = 0; i < size; i++)
            f[i] += (ta * a[i] + tb * b[i]) + (tc * c[i] + td * d[i]);
    }
    """
    double NOTHING
    double LEAST_CURVATURE
    double least(const double*, const double*, double, ptrdiff_t, ptrdiff_t, ptrdiff_t*) nogil
    ptrdiff_t best_partner(
        const double*, const double*, const float*, const double*, double, double, ptrdiff_t,
        ptrdiff_t
    ) nogil
    void add_difference(double*, const float*, const float*, double, ptrdiff_t) nogil
    void add_row(double*, const float*, double, ptrdiff_t) nogil
    void add_single_rows(
        double*, const float*, const float*, const float*, const float*, const double*, ptrdiff_t
    ) nogil
    void add_double_rows(
        double*, const double*, const double*, const double*, const double*, const double*,
        ptrdiff_t
    ) nogil

ctypedef fused real:
    float
    double

cpdef enum Coupling:
    SEPARATE  # d_k = 0 for each threshold: exchanges stay within one
    ORDERED  # sums of the first d_k are ≤ 0: thresholds ascend, exchanges cross tied ones
    COMMON  # ½Σd² and Σ_k d_k = 0: penalised thresholds around a free offset
    RIDGE  # ½Σd²: penalised thresholds, every variable steps alone

# A variable this close to a bound, as a part of its range, is put on it.
cdef double _SNAP = 1e-12
SNAP = _SNAP
# Steps on one pair of thresholds before all are looked at again, and the part of the first
# violation at which to look earlier.
cdef Py_ssize_t STAY = 16
cdef double STAY_WHILE = 0.5


cdef int check_variables(
    const double[::1] f, const double[:, ::1] alpha, const double[:, ::1] upper,
    const Py_ssize_t[::1] codes,
) except -1:
    """Refuse arrays that are not of the same examples and thresholds."""
    check_size("upper", upper.shape[0], alpha.shape[0])
    check_size("columns of upper", upper.shape[1], f.shape[0])
    check_size("columns of alpha", alpha.shape[1], f.shape[0])
    return check_size("codes", codes.shape[0], f.shape[0])


def bounds(
    const double[::1] f,
    const double[:, ::1] alpha,
    const double[:, ::1] upper,
    const Py_ssize_t[::1] codes,
    const double[::1] shift,
    double[::1] up,
    double[::1] low,
):
    """Least up bound and greatest low bound of each threshold; ±1e300 where there is none."""
    cdef Py_ssize_t k, i
    cdef double side, v, top, bottom
    cdef bint rising, falling
    check_variables(f, alpha, upper, codes)
    for size in (shift.shape[0], up.shape[0], low.shape[0]):
        check_size("numbers by threshold", size, alpha.shape[0])
    with nogil:
        for k in range(alpha.shape[0]):
            top = NOTHING
            bottom = -NOTHING
            for i in range(f.shape[0]):
                if upper[k, i] <= 0.0:
                    continue
                side = 1.0 if codes[i] > k else -1.0
                v = f[i] - side
                rising = alpha[k, i] < upper[k, i]
                falling = alpha[k, i] > 0.0
                if rising if side > 0.0 else falling:
                    top = min(top, v)
                if falling if side > 0.0 else rising:
                    bottom = max(bottom, v)
            up[k] = top + shift[k] if top < NOTHING else NOTHING
            low[k] = bottom + shift[k] if bottom > -NOTHING else -NOTHING


def partners(
    const double[::1] up,
    const double[::1] low,
    const double[::1] link,
    Py_ssize_t coupling,
    double[::1] low_for_up,
    double[::1] up_for_low,
):
    """Greatest low bound that each up bound may be exchanged with, and the reverse.

    ``link[k]`` is the multiplier μ that ties thresholds k and k+1; only ORDERED reads it.
    """
    cdef Py_ssize_t m = up.shape[0]
    cdef Py_ssize_t[::1] which = np.empty(m, dtype=np.intp)
    cdef Py_ssize_t k, j, first
    check_index("coupling", coupling, RIDGE + 1)
    for size in (low.shape[0], low_for_up.shape[0], up_for_low.shape[0]):
        check_size("numbers by threshold", size, m)
    check_room("link", link.shape[0], m - 1)
    _low_partners(low, link, coupling, low_for_up, which)
    if coupling == SEPARATE:
        up_for_low[:] = up
    elif coupling == RIDGE:
        up_for_low[:] = 0.0
    else:
        for k in range(m):
            # An up bound at j serves low bounds from the start of j's tied run upwards.
            first = 0
            if coupling == ORDERED:
                first = k
                while first > 0 and link[first - 1] > 0.0:
                    first -= 1
            up_for_low[k] = NOTHING
            for j in range(first, m):
                up_for_low[k] = min(up_for_low[k], up[j])


cdef void _low_partners(
    const double[::1] low,
    const double[::1] link,
    Py_ssize_t coupling,
    double[::1] best,
    Py_ssize_t[::1] which,
) noexcept nogil:
    """For each threshold's up bound, the greatest low bound allowed with it, and whose it is."""
    cdef Py_ssize_t m = low.shape[0], k, j, last
    for k in range(m):
        which[k] = k
        best[k] = low[k]
        if coupling == RIDGE:
            best[k] = 0.0
        elif coupling != SEPARATE:
            last = m - 1
            if coupling == ORDERED:
                last = k
                while last < m - 1 and link[last] > 0.0:
                    last += 1
            for j in range(last + 1):
                if low[j] > best[k]:
                    best[k] = low[j]
                    which[k] = j


def violations(
    const double[::1] f,
    const double[:, ::1] alpha,
    const double[:, ::1] upper,
    const Py_ssize_t[::1] codes,
    const double[::1] shift,
    const double[::1] low_for_up,
    const double[::1] up_for_low,
    double[::1] as_up,
    double[::1] as_low,
):
    """How far each example violates optimality at its worst, as an up and as a low variable."""
    cdef Py_ssize_t k, i
    cdef double side, v
    cdef bint rising, falling
    check_variables(f, alpha, upper, codes)
    for size in (shift.shape[0], low_for_up.shape[0], up_for_low.shape[0]):
        check_size("numbers by threshold", size, alpha.shape[0])
    check_size("as_up", as_up.shape[0], f.shape[0])
    check_size("as_low", as_low.shape[0], f.shape[0])
    with nogil:
        for i in range(f.shape[0]):
            as_up[i] = -NOTHING
            as_low[i] = -NOTHING
        for k in range(alpha.shape[0]):
            for i in range(f.shape[0]):
                if upper[k, i] <= 0.0:
                    continue
                side = 1.0 if codes[i] > k else -1.0
                v = f[i] - side + shift[k]
                rising = alpha[k, i] < upper[k, i]
                falling = alpha[k, i] > 0.0
                if rising if side > 0.0 else falling:
                    as_up[i] = max(as_up[i], low_for_up[k] - v)
                if falling if side > 0.0 else rising:
                    as_low[i] = max(as_low[i], v - up_for_low[k])


def gather(
    const real[:, ::1] rows,
    const Py_ssize_t[::1] slots,
    const Py_ssize_t[::1] columns,
    float[:, ::1] block,
):
    """block[a, b] = rows[slots[a], columns[b]], in single precision."""
    cdef Py_ssize_t a, b
    check_indices("slots", slots, rows.shape[0])
    check_indices("columns", columns, rows.shape[1])
    check_size("block", block.shape[0], slots.shape[0])
    check_size("columns of block", block.shape[1], columns.shape[0])
    with nogil:
        for a in range(slots.shape[0]):
            for b in range(columns.shape[0]):
                block[a, b] = <float>rows[slots[a], columns[b]]


def add_rows(
    const real[:, ::1] rows, const Py_ssize_t[::1] slots, const double[::1] steps, double[::1] f
):
    """Add the rows, each times its step, to f: f += Σ_a steps[a]·rows[slots[a]]."""
    cdef Py_ssize_t a, i, size = f.shape[0], full = slots.shape[0] - slots.shape[0] % 4
    cdef Py_ssize_t first, count
    check_indices("slots", slots, rows.shape[0])
    check_size("steps", steps.shape[0], slots.shape[0])
    check_size("columns of rows", rows.shape[1], size)
    with nogil:
        # A piece of f stays in the nearest cache while all rows pass over it.
        for first in range(0, size, 2048):
            count = min(2048, size - first)
            for a in range(0, full, 4):
                if real is float:
                    add_single_rows(
                        &f[first], &rows[slots[a], first], &rows[slots[a + 1], first],
                        &rows[slots[a + 2], first], &rows[slots[a + 3], first], &steps[a], count,
                    )
                else:
                    add_double_rows(
                        &f[first], &rows[slots[a], first], &rows[slots[a + 1], first],
                        &rows[slots[a + 2], first], &rows[slots[a + 3], first], &steps[a], count,
                    )
            for a in range(full, slots.shape[0]):
                for i in range(first, first + count):
                    f[i] += steps[a] * rows[slots[a], i]


cdef class _Block:
    """Views of one block's problem, so that the loop below can be cut into functions."""

    cdef const float[:, ::1] K
    cdef const double[::1] diagonal
    cdef double[::1] f
    cdef double[:, ::1] alpha
    cdef const double[:, ::1] upper
    cdef const Py_ssize_t[::1] codes
    cdef const Py_ssize_t[::1] first
    cdef const Py_ssize_t[::1] last
    cdef double[::1] d
    cdef double[::1] link
    cdef Py_ssize_t coupling
    cdef double[:, ::1] up_at
    cdef double[:, ::1] low_at

    cdef double shift(self, Py_ssize_t k) noexcept nogil:
        return self.d[k] if self.coupling >= COMMON else 0.0

    cdef void place(self, Py_ssize_t k, Py_ssize_t i) noexcept nogil:
        """Put a variable on a bound that it nearly reached, and note where it can go."""
        cdef double side = 1.0 if self.codes[i] > k else -1.0
        cdef double top = self.upper[k, i]
        cdef bint rising, falling
        if self.alpha[k, i] < _SNAP * top:
            self.alpha[k, i] = 0.0
        elif self.alpha[k, i] > top - _SNAP * top:
            self.alpha[k, i] = top
        rising = self.alpha[k, i] < top
        falling = self.alpha[k, i] > 0.0
        if side < 0.0:
            rising, falling = falling, rising
        self.up_at[k, i] = -side if rising else NOTHING
        self.low_at[k, i] = -side if falling else -NOTHING

    cdef double least_up(self, Py_ssize_t k, ptrdiff_t* i) noexcept nogil:
        """Least up bound of a threshold, and whose it is."""
        cdef double v = least(
            &self.f[0], &self.up_at[k, 0], 1.0, self.first[k], self.last[k], i
        )
        return v + self.shift(k) if v < 0.5 * NOTHING else NOTHING

    cdef double greatest_low(self, Py_ssize_t k, ptrdiff_t* i) noexcept nogil:
        """Greatest low bound of a threshold, and whose it is."""
        cdef double v = least(
            &self.f[0], &self.low_at[k, 0], -1.0, self.first[k], self.last[k], i
        )
        return v + self.shift(k) if v > -0.5 * NOTHING else -NOTHING

    cdef double room(self, Py_ssize_t k, Py_ssize_t i, double direction) noexcept nogil:
        """How far the variable can step in a direction of its threshold's sum."""
        if (self.codes[i] > k) == (direction > 0.0):
            return self.upper[k, i] - self.alpha[k, i]
        return self.alpha[k, i]

    cdef void move(self, Py_ssize_t k, Py_ssize_t i, double t) noexcept nogil:
        self.alpha[k, i] += t if self.codes[i] > k else -t
        self.d[k] += t
        self.place(k, i)

    cdef bint exchange(self, Py_ssize_t ku, Py_ssize_t i, Py_ssize_t kl) noexcept nogil:
        """Raise d at ku by variable i and lower it at kl; False if there is nothing to gain."""
        cdef double extra = 2.0 if self.coupling == COMMON and ku != kl else 0.0
        cdef double own, v, curvature, t
        cdef Py_ssize_t k, j
        if i < 0:
            # Nobody has a bound, yet a score that is not finite violates it.
            return False
        own = self.diagonal[i] + extra
        v = self.f[i] + self.up_at[ku, i] + self.shift(ku) - self.shift(kl)
        j = best_partner(
            &self.f[0], &self.low_at[kl, 0], &self.K[i, 0], &self.diagonal[0], own, v,
            self.first[kl], self.last[kl],
        )
        if j < 0:
            return False
        curvature = own + self.diagonal[j] - 2.0 * self.K[i, j]
        t = (self.f[j] + self.low_at[kl, j] - v) / max(curvature, LEAST_CURVATURE)
        t = min(t, self.room(ku, i, 1.0))
        t = min(t, self.room(kl, j, -1.0))
        if self.coupling == ORDERED:
            for k in range(ku, kl):
                t = min(t, self.link[k])
            for k in range(ku, kl):
                self.link[k] = self.link[k] - t if self.link[k] > t else 0.0
            for k in range(kl, ku):
                self.link[k] += t
        self.move(ku, i, t)
        self.move(kl, j, -t)
        add_difference(&self.f[0], &self.K[i, 0], &self.K[j, 0], t, self.f.shape[0])
        return True

    cdef void step_alone(self, Py_ssize_t k, Py_ssize_t i, double v) noexcept nogil:
        """Move one variable to where its own derivative vanishes, or as far as it can go."""
        cdef double t = -v / (self.diagonal[i] + 1.0)
        if t > 0.0:
            t = min(t, self.room(k, i, 1.0))
        else:
            t = -min(-t, self.room(k, i, -1.0))
        self.move(k, i, t)
        add_row(&self.f[0], &self.K[i, 0], t, self.f.shape[0])


def solve_block(
    const float[:, ::1] K,
    const double[::1] diagonal,
    double[::1] f,
    double[:, ::1] alpha,
    const double[:, ::1] upper,
    const Py_ssize_t[::1] codes,
    const Py_ssize_t[::1] first,
    const Py_ssize_t[::1] last,
    double[::1] d,
    double[::1] link,
    Py_ssize_t coupling,
    double tol,
    Py_ssize_t max_steps,
):
    """Improve a block until no allowed exchange violates optimality by more than ``tol``.

    ``f``, ``alpha``, ``d`` and ``link`` are updated in place. The block of the kernel matrix is in
    single precision, so that more of it is at hand: its rounding touches only the steps taken here,
    and shrinks with them, since the caller keeps the scores of all examples by itself. Threshold k has its variables among
    examples ``first[k]`` … ``last[k] − 1``. Returns the number of steps.
    """
    cdef Py_ssize_t m = alpha.shape[0], size = f.shape[0], k, i, steps = 0
    cdef _Block block = _Block()
    check_variables(f, alpha, upper, codes)
    check_size("K", K.shape[0], size)
    check_size("columns of K", K.shape[1], size)
    check_size("diagonal", diagonal.shape[0], size)
    check_room("link", link.shape[0], m - 1)
    check_index("coupling", coupling, RIDGE + 1)
    for found in (first.shape[0], last.shape[0], d.shape[0]):
        check_size("numbers by threshold", found, m)
    check_indices("first", first, size + 1)
    check_indices("last", last, size + 1)
    block.K, block.diagonal, block.f = K, diagonal, f
    block.alpha, block.upper, block.codes = alpha, upper, codes
    block.first, block.last, block.d, block.link = first, last, d, link
    block.coupling = coupling
    block.up_at = np.empty((m, size))
    block.low_at = np.empty((m, size))
    cdef double[::1] low = np.empty(m), partner = np.empty(m)
    cdef Py_ssize_t[::1] which = np.empty(m, dtype=np.intp)
    with nogil:
        for k in range(m):
            for i in range(size):
                block.place(k, i)
        if coupling == RIDGE:
            steps = _descend_alone(block, tol, max_steps)
        else:
            steps = _descend(block, low, partner, which, tol, max_steps)
    return steps


cdef Py_ssize_t _descend(
    _Block block,
    double[::1] low,
    double[::1] partner,
    Py_ssize_t[::1] which,
    double tol,
    Py_ssize_t max_steps,
) noexcept nogil:
    """Exchanges, each time where the violation is greatest."""
    cdef Py_ssize_t m = low.shape[0], k, best, stay, steps = 0
    cdef ptrdiff_t i, at = 0
    cdef double worst, violation
    while steps < max_steps:
        for k in range(m):
            low[k] = block.greatest_low(k, &i)
        _low_partners(low, block.link, block.coupling, partner, which)
        best = -1
        worst = tol
        for k in range(m):
            violation = partner[k] - block.least_up(k, &i)
            if violation > worst:
                worst = violation
                best = k
                at = i
        if best < 0 or not block.exchange(best, at, which[best]):
            break
        steps += 1
        if which[best] != best:
            continue
        for stay in range(STAY):
            violation = block.greatest_low(best, &i) - block.least_up(best, &at)
            if violation <= tol or violation < STAY_WHILE * worst or steps >= max_steps:
                break
            if not block.exchange(best, at, best):
                break
            steps += 1
    return steps


cdef Py_ssize_t _descend_alone(_Block block, double tol, Py_ssize_t max_steps) noexcept nogil:
    """Steps of single variables, each time where the derivative is greatest."""
    cdef Py_ssize_t m = block.alpha.shape[0], k, best, steps = 0
    cdef ptrdiff_t i, at = 0
    cdef double worst, v, slope = 0.0
    while steps < max_steps:
        best = -1
        worst = tol
        for k in range(m):
            v = block.least_up(k, &i)
            if -v > worst:
                worst, slope, best, at = -v, v, k, i
            v = block.greatest_low(k, &i)
            if v > worst:
                worst, slope, best, at = v, v, k, i
        if best < 0 or at < 0:
            break
        block.step_alone(best, at, slope)
        steps += 1
    return steps
