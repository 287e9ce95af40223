# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The perceptron for ordered classes: one example at a time, and the cost of a model on all rows.

Rows are dense or compressed: row i has the entries ``starts[i] … starts[i+1]−1`` of ``values``, in
the columns that ``columns`` names, or in all columns if ``columns`` is empty. Scores are summed in
four lanes by column number, so that dense and compressed rows give the same bits.
"""

import numpy as np

from ._checks cimport (
    check_indices, check_room, check_runs, check_size, check_starts, refuse_indices, within
)

cdef extern from *:
    """
    #include <stddef.h>
    #include <string.h>
    #if defined(__GNUC__) || defined(__clang__)
    #define FETCH(pointer) __builtin_prefetch(pointer)
    #else
    #define FETCH(pointer)
    #endif
    /* Thresholds are padded to a multiple of this with NaN, at least one, which no score is above or
       equal to. */
    #define LANES 4
    /* Rows are asked for this many examples ahead: far enough for memory, few enough to be kept. */
    #define AHEAD 8

    typedef struct {
        const double *values;
        const ptrdiff_t *columns; /* NULL for dense rows */
        const ptrdiff_t *starts;
        const ptrdiff_t *codes;
        const double *costs; /* a row of n_thresholds + 1 per example */
        const double *rise;  /* 0 before, 1 from here on, n_padded of each */
        ptrdiff_t n_thresholds, n_padded;
    } Examples;

    typedef struct {
        double *w, *b;
        double *moment_w, *moment_b; /* NULL where no average is kept */
        double *longest_w, *longest_b;
        ptrdiff_t n_columns, n_presented, n_mistakes, run, longest;
        int remembered;
        double cost_of_mistakes;
    } Learner;

    static inline double score_of(const Examples *e, ptrdiff_t i, const double *w) {
        const double *x = e->values + e->starts[i];
        ptrdiff_t m = e->starts[i + 1] - e->starts[i], j = 0;
        double lane[4] = {0.0, 0.0, 0.0, 0.0};
        if (e->columns) {
            const ptrdiff_t *column = e->columns + e->starts[i];
            for (; j < m; j++)
                lane[column[j] & 3] += x[j] * w[column[j]];
        } else {
            double a0 = 0.0, a1 = 0.0, a2 = 0.0, a3 = 0.0;
            for (; j + 4 <= m; j += 4) {
                a0 += x[j] * w[j];
                a1 += x[j + 1] * w[j + 1];
                a2 += x[j + 2] * w[j + 2];
                a3 += x[j + 3] * w[j + 3];
            }
            if (j < m) a0 += x[j] * w[j];
            if (j + 1 < m) a1 += x[j + 1] * w[j + 1];
            if (j + 2 < m) a2 += x[j + 2] * w[j + 2];
            return (a0 + a1) + (a2 + a3);
        }
        return (lane[0] + lane[1]) + (lane[2] + lane[3]);
    }

    static inline void add_row(const Examples *e, ptrdiff_t i, double step, double *target) {
        const double *x = e->values + e->starts[i];
        ptrdiff_t m = e->starts[i + 1] - e->starts[i], j;
        if (e->columns) {
            const ptrdiff_t *column = e->columns + e->starts[i];
            for (j = 0; j < m; j++)
                target[column[j]] += step * x[j];
        } else
            for (j = 0; j < m; j++)
                target[j] += step * x[j];
    }

    /* Number of thresholds below the score. Counting them all takes less time than a walk from the
       class, whose length no branch predictor can guess. */
    static inline ptrdiff_t rank_of(const double *b, ptrdiff_t n_padded, double score) {
        ptrdiff_t under[LANES] = {0}, k, l;
        for (k = 0; k < n_padded; k += LANES)
            for (l = 0; l < LANES; l++)
                under[l] += b[k + l] < score;
        return (under[0] + under[1]) + (under[2] + under[3]);
    }

    static inline ptrdiff_t last_tied(const double *b, ptrdiff_t rank, double score) {
        while (b[rank] == score)
            rank++;
        return rank;
    }

    static inline double worse(const double *costs, ptrdiff_t low, ptrdiff_t high) {
        return costs[low] > costs[high] ? costs[low] : costs[high];
    }

    static inline void copy(double *to, const double *from, ptrdiff_t length) {
        memcpy(to, from, (size_t)length * sizeof(double));
    }

    /* Thresholds low ... y-1 move down by one and y ... high-1 up by one; their moments too. The
       rise of k past a place is read from a table of zeros and ones, again to spare branches. */
    static inline void learn(const Examples *e, Learner *a, ptrdiff_t i, ptrdiff_t rank,
                             ptrdiff_t last) {
        ptrdiff_t y = e->codes[i], k;
        ptrdiff_t low = rank < y ? rank : y, high = last > y ? last : y;
        const double *from_low = e->rise - low, *from_y = e->rise - y, *from_high = e->rise - high;
        double step = (double)(2 * y - low - high), time = (double)a->n_presented;
        for (k = 0; k < e->n_padded; k++)
            a->b[k] += (from_y[k] - from_high[k]) - (from_low[k] - from_y[k]);
        add_row(e, i, step, a->w);
        if (a->moment_w) {
            for (k = 0; k < e->n_padded; k++)
                a->moment_b[k] += time * ((from_y[k] - from_high[k]) - (from_low[k] - from_y[k]));
            add_row(e, i, time * step, a->moment_w);
        }
        a->n_mistakes++;
        a->cost_of_mistakes += worse(e->costs + i * (e->n_thresholds + 1), low, high);
        a->run = 0;
        a->remembered = 0;
    }

    static void present(const Examples *e, Learner *a, const ptrdiff_t *rows, ptrdiff_t length) {
        ptrdiff_t t, i, rank, last;
        double score;
        for (t = 0; t < length; t++) {
            i = rows[t];
            if (t + AHEAD < length) {
                const double *next = e->values + e->starts[rows[t + AHEAD]];
                FETCH(next);
                FETCH(next + 8);
                FETCH(e->costs + rows[t + AHEAD] * (e->n_thresholds + 1));
            }
            a->n_presented++;
            score = score_of(e, i, a->w);
            rank = rank_of(a->b, e->n_padded, score);
            last = last_tied(a->b, rank, score);
            if (rank != e->codes[i] || last != rank)
                learn(e, a, i, rank, last);
            else if (++a->run > a->longest) {
                a->longest = a->run;
                if (!a->remembered) {
                    a->remembered = 1;
                    copy(a->longest_w, a->w, a->n_columns);
                    copy(a->longest_b, a->b, e->n_padded);
                }
            }
        }
    }

    static double total_cost(const Examples *e, const double *w, const double *b, ptrdiff_t n,
                             double limit) {
        const double *costs = e->costs;
        double total = 0.0, score;
        ptrdiff_t i, rank;
        for (i = 0; i < n && total < limit; i++, costs += e->n_thresholds + 1) {
            score = score_of(e, i, w);
            rank = rank_of(b, e->n_padded, score);
            if (b[rank] == score)
                total += worse(costs, rank, last_tied(b, rank, score));
            else
                total += costs[rank];
        }
        return total;
    }
    """
    const int LANES
    ctypedef struct Examples:
        const double *values
        const Py_ssize_t *columns
        const Py_ssize_t *starts
        const Py_ssize_t *codes
        const double *costs
        const double *rise
        Py_ssize_t n_thresholds, n_padded
    ctypedef struct Learner:
        double *w
        double *b
        double *moment_w
        double *moment_b
        double *longest_w
        double *longest_b
        Py_ssize_t n_columns, n_presented, n_mistakes, run, longest
        int remembered
        double cost_of_mistakes
    double score_of(const Examples *, Py_ssize_t, const double *) noexcept nogil
    void present(const Examples *, Learner *, const Py_ssize_t *, Py_ssize_t) noexcept nogil
    double total_cost(
        const Examples *, const double *, const double *, Py_ssize_t, double
    ) noexcept nogil


def draw_rows(
    const double[::1] uniforms,
    const double[::1] cumulative,
    const int[::1] guide,
    Py_ssize_t[::1] rows,
):
    """Put the first row whose cumulative mass exceeds u·total into ``rows``, for every uniform u.

    ``guide[g]`` is where to begin for u in [g/m, (g+1)/m) with m the length of ``guide``; with as
    many entries as rows, the walk from there takes less than one step on average.
    """
    cdef Py_ssize_t n = cumulative.shape[0], cells = guide.shape[0], t, i
    cdef double target, total
    cdef bint good = True
    check_room("cumulative", n, 1)
    check_room("guide", cells, 1)
    check_indices("guide", guide, n)
    check_size("rows", rows.shape[0], uniforms.shape[0])
    for t in range(uniforms.shape[0]):
        good &= (uniforms[t] >= 0.0) & (uniforms[t] < 1.0)
    if not good:
        raise ValueError("uniforms must be in [0, 1); found others.")
    total = cumulative[n - 1]
    with nogil:
        for t in range(uniforms.shape[0]):
            target = uniforms[t] * total
            i = guide[<Py_ssize_t>(uniforms[t] * cells)]
            # Backwards only where u·m was rounded up to the next cell.
            while i > 0 and cumulative[i - 1] > target:
                i -= 1
            while i < n - 1 and cumulative[i] <= target:
                i += 1
            rows[t] = i


cdef class Perceptron:
    """Weights w and thresholds b that learn from one example at a time.

    A score that equals a threshold counts as wrong on either side. The *window* is what was
    presented since `begin_window`; its average counts w and b once after every example, but only
    mistakes take time: ``moment`` is w₀ + Σ_t t·Δw_t over the examples t = 1, 2, … T of the window,
    and the average is ((T+1)·w − moment) / T.
    """

    cdef Examples examples
    cdef Learner learner
    cdef const double[::1] values
    cdef const Py_ssize_t[::1] columns, starts, codes
    cdef const double[:, ::1] costs
    cdef double[::1] w, b, moment_w, moment_b, longest_w, longest_b, scratch, rise
    cdef Py_ssize_t n_thresholds
    #: Views of w and b, of their moments, and of those with the longest run of the window.
    cdef readonly tuple current, moments, longest_run
    cdef object thresholds

    def __cinit__(self, values, columns, starts, codes, costs, n_columns, averaged):
        cdef const Py_ssize_t[::1] codes_ = codes
        check_room("columns of costs", costs.shape[1], 1)
        self.n_thresholds = costs.shape[1] - 1
        # No array is empty, so that each has an address.
        self.values = _never_empty(values)
        self.columns = _never_empty(columns)
        self.starts = starts
        self.codes = _never_empty(codes)
        self.costs = costs
        check_rows(values, columns, starts, n_columns)
        if len(columns):
            check_indices("columns", self.columns, <Py_ssize_t>n_columns)
        check_size("codes", len(codes), len(starts) - 1)
        check_size("costs", len(costs), len(codes))
        check_indices("codes", codes_, self.n_thresholds + 1)
        padded = (self.n_thresholds // LANES + 1) * LANES
        b = np.full((4, padded), np.nan)
        b[:, : self.n_thresholds] = 0.0
        w = np.zeros((3, max(n_columns, 1)))
        self.b, self.moment_b, self.longest_b, self.scratch = b
        self.w, self.moment_w, self.longest_w = w
        pairs = zip(w[:, :n_columns], b[:, : self.n_thresholds])
        self.current, self.moments, self.longest_run = pairs
        self.thresholds = b[3, : self.n_thresholds]
        self.rise = np.repeat([0.0, 1.0], padded)
        self.examples.rise = &self.rise[padded]
        self.examples.values = &self.values[0]
        self.examples.columns = NULL
        if len(columns):
            self.examples.columns = &self.columns[0]
        self.examples.starts = &self.starts[0]
        self.examples.codes = &self.codes[0]
        self.examples.costs = &self.costs[0, 0]
        self.examples.n_thresholds = self.n_thresholds
        self.examples.n_padded = padded
        self.learner.w = &self.w[0]
        self.learner.b = &self.b[0]
        self.learner.moment_w = NULL
        if averaged:
            self.learner.moment_w = &self.moment_w[0]
        self.learner.moment_b = &self.moment_b[0]
        self.learner.longest_w = &self.longest_w[0]
        self.learner.longest_b = &self.longest_b[0]
        self.learner.n_columns = n_columns

    @property
    def n_presented(self):
        """Examples presented in this window."""
        return self.learner.n_presented

    @property
    def n_mistakes(self):
        """Examples answered wrongly since the perceptron was made."""
        return self.learner.n_mistakes

    @property
    def cost_of_mistakes(self):
        """Sum of what they cost."""
        return self.learner.cost_of_mistakes

    def load(self, w, b, moment_w, moment_b, n_presented):
        """Go on from weights and thresholds, and their moments, of an earlier perceptron."""
        for view, values in zip(self.current + self.moments, (w, b, moment_w, moment_b)):
            view[:] = values
        self.learner.n_presented = n_presented

    def begin_window(self):
        """Start the average and the longest run anew."""
        self.learner.n_presented = 0
        self.learner.longest = 0
        self.learner.remembered = 1
        self.moment_w[:] = self.w
        self.moment_b[:] = self.b
        self.longest_w[:] = self.w
        self.longest_b[:] = self.b

    def present(self, const Py_ssize_t[::1] rows):
        """Answer each row in turn, and learn from the mistakes."""
        check_indices("rows", rows, self.costs.shape[0])
        if rows.shape[0]:
            with nogil:
                present(&self.examples, &self.learner, &rows[0], rows.shape[0])

    def total_cost(self, w, b, double limit):
        """Cost of a model on all rows, or of so many that it is not below ``limit``."""
        cdef const double[::1] weights = _never_empty(w)
        cdef double total
        check_size("w", len(w), self.learner.n_columns)
        self.thresholds[:] = b
        with nogil:
            total = total_cost(
                &self.examples, &weights[0], &self.scratch[0], self.costs.shape[0], limit
            )
        return total


def row_scores(
    const double[::1] values,
    const Py_ssize_t[::1] columns,
    const Py_ssize_t[::1] starts,
    const double[::1] w,
):
    """x_i·w for every row; equal rows have equal scores to the last bit."""
    cdef Py_ssize_t n = starts.shape[0] - 1, i, first, last
    cdef double[::1] scores = np.zeros(max(n, 0))
    cdef bint outside = False
    cdef Examples examples
    check_rows(values, columns, starts, w.shape[0])
    if values.shape[0]:
        examples.values = &values[0]
        examples.columns = NULL
        if columns.shape[0]:
            examples.columns = &columns[0]
        examples.starts = &starts[0]
        with nogil:
            for first in range(0, n, 64):
                last = min(first + 64, n)
                # Columns are checked a block at a time, so that they come from memory once.
                if examples.columns and not within(
                    examples.columns + starts[first], starts[last] - starts[first], w.shape[0]
                ):
                    outside = True
                    break
                for i in range(first, last):
                    scores[i] = score_of(&examples, i, &w[0])
        if outside:
            refuse_indices("columns", w.shape[0])
    return np.asarray(scores)


cdef int check_rows(
    const double[::1] values, const Py_ssize_t[::1] columns, const Py_ssize_t[::1] starts,
    Py_ssize_t n_columns,
) except -1:
    """Refuse rows that do not lie in the values, or dense ones of more columns than there are."""
    if columns.shape[0] == 0:
        return check_runs("starts", starts, values.shape[0], n_columns)
    check_starts("starts", starts, values.shape[0])
    return check_size("columns", columns.shape[0], values.shape[0])


def _never_empty(array):
    return array if len(array) else np.zeros(1, dtype=array.dtype)
