# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Sums of a smooth function of the margin over pairs of rows of one query and different levels.

Rows lie sorted by query and then by ascending score. The levels of a query are halved again and
again; each time the lower half meets the upper half, all of whose rows win. A half is cut into
*boxes* [c, c + 1) of the axis of scores, c a whole number. Within a box rows are known by their
Chebyshev moments Σ z·T_k(ξ), ξ = 2(f − c) − 1, and between two boxes the function of the margin is
a matrix on moments, which a table has for every distance up to ``reach``. Beyond it the function is
e^−|m|, or it is 1 for losers above winners. So a meeting costs O(rows + pairs of boxes in reach),
and few rows are summed pair by pair.
"""

from libc.float cimport DBL_MAX
from libc.math cimport exp, fabs, floor, log1p
from libc.stdint cimport int32_t
from libc.string cimport memset

from ._checks cimport check_numbered, check_room, check_size, check_starts

cdef enum:
    ORDER = 16
    FEW_ROWS = 24  # as many are summed pair by pair without being halved
    FEW_PAIRS = 12  # and as many pairs between two boxes

N_MOMENTS = ORDER


cdef struct Boxes:
    Py_ssize_t n
    Py_ssize_t room    # how many there may be
    double *places     # c of each box
    Py_ssize_t *starts  # where its rows begin, and the number of rows
    double *moments
    double *fields     # Chebyshev coefficients of what the rows of a box receive


cdef struct Task:
    # Columns by place in the order.
    const int32_t *levels
    const double *scores
    const double *charges
    double *won    # what winners receive from their losers
    double *lost
    # The function of the margin and, for its slope, the loss itself.
    const double *table
    const double *loss_table
    const double *falling  # Chebyshev coefficients of e^−(f−c)
    const double *rising   # and of e^(f−c)
    Py_ssize_t reach
    bint second
    bint crowded   # whether the boxes were too few
    double value
    Py_ssize_t *spare
    Boxes lower
    Boxes upper


def pair_fields(
    const Py_ssize_t[::1] bounds,
    const int32_t[::1] n_levels,
    const int32_t[::1] levels,
    const double[::1] scores,
    const double[::1] charges,
    const double[:, :, ::1] table,
    const double[:, :, ::1] loss_table,
    const double[:, ::1] tails,
    bint second,
    Py_ssize_t[:, ::1] places,
    double[:, ::1] boxes,
    Py_ssize_t[:, ::1] starts,
    double[::1] won,
    double[::1] lost,
    double[::1] values,
):
    """Add to each row the sum of charge × function over its partners.

    The function of m = f_winner − f_loser is σ(−m), or σ(m)·σ(−m) if ``second``; ``table`` has its
    Chebyshev coefficients for the distances −reach … reach of boxes, winner's first. ``values``
    gets Σ z·z·ln(1 + e^−m) of each query by ``loss_table`` unless ``second``. ``tails`` are the
    coefficients of e^−(f−c) and e^(f−c). ``won`` gets what rows receive as winners, ``lost`` as
    losers; they may be one array. ``places`` (2, n), ``boxes`` (2, b·(1 + 2·N_MOMENTS)) and
    ``starts`` (2, b + 1) are scratch for b boxes, as many as a query has.
    """
    cdef Task task
    cdef Py_ssize_t q, k, n = levels.shape[0], n_boxes = starts.shape[1] - 1
    # So that the number of pairs between two boxes fits 64 bits.
    check_numbered("rows", n)
    check_starts("bounds", bounds, n)
    check_size("n_levels", n_levels.shape[0], bounds.shape[0] - 1)
    check_size("charges", charges.shape[0], n)
    check_size("won", won.shape[0], n)
    check_size("lost", lost.shape[0], n)
    check_size("values", values.shape[0], n_levels.shape[0])
    check_size("places", places.shape[0], 2)
    check_room("columns of places", places.shape[1], n)
    check_size("starts", starts.shape[0], 2)
    check_room("columns of starts", starts.shape[1], 1)
    check_size("boxes", boxes.shape[0], 2)
    check_room("columns of boxes", boxes.shape[1], n_boxes * (1 + 2 * ORDER))
    check_tables(table, loss_table, tails)
    check_scores(bounds, scores, n)
    if n == 0:
        values[:] = 0.0
        return
    task.levels = &levels[0]
    task.scores = &scores[0]
    task.charges = &charges[0]
    task.won = &won[0]
    task.lost = &lost[0]
    task.table = &table[0, 0, 0]
    task.loss_table = &loss_table[0, 0, 0]
    task.falling = &tails[0, 0]
    task.rising = &tails[1, 0]
    task.reach = table.shape[0] // 2
    task.second = second
    task.crowded = False
    task.spare = &places[1, 0]
    _lay_out(&task.lower, &boxes[0, 0], &starts[0, 0], n_boxes)
    _lay_out(&task.upper, &boxes[1, 0], &starts[1, 0], n_boxes)
    with nogil:
        for q in range(bounds.shape[0] - 1):
            for k in range(bounds[q], bounds[q + 1]):
                places[0, k] = k
            task.value = 0
            _halve(&task, &places[0, bounds[q]], bounds[q + 1] - bounds[q], 0, n_levels[q])
            values[q] = task.value
    if task.crowded:
        raise ValueError(f"boxes must be as many as the scores of a query need; found {n_boxes}.")


cdef int check_tables(
    const double[:, :, ::1] table, const double[:, :, ::1] loss_table, const double[:, ::1] tails
) except -1:
    check_size("tails", tails.shape[0], 2)
    check_size("columns of tails", tails.shape[1], ORDER)
    check_size("loss_table", loss_table.shape[0], table.shape[0])
    for each in (table.shape[1], table.shape[2], loss_table.shape[1], loss_table.shape[2]):
        check_size("a table between two boxes", each, ORDER)
    if table.shape[0] % 2 == 0:
        raise ValueError(f"table must have an odd length; found {table.shape[0]}.")
    return 0


cdef int check_scores(
    const Py_ssize_t[::1] bounds, const double[::1] scores, Py_ssize_t n
) except -1:
    """Refuse scores that do not ascend in each query or are not finite."""
    cdef Py_ssize_t q, k
    cdef bint good = True
    check_size("scores", scores.shape[0], n)
    for q in range(bounds.shape[0] - 1):
        for k in range(bounds[q] + 1, bounds[q + 1]):
            good &= scores[k - 1] <= scores[k]
        if bounds[q] < bounds[q + 1]:
            good &= scores[bounds[q]] >= -DBL_MAX and scores[bounds[q + 1] - 1] <= DBL_MAX
    if not good:
        raise ValueError("scores must be finite and ascend within each query; found others.")
    return 0


cdef void _lay_out(Boxes *boxes, double *space, Py_ssize_t *starts, Py_ssize_t n) noexcept:
    boxes.room = n
    boxes.places = space
    boxes.moments = space + n
    boxes.fields = boxes.moments + n * ORDER
    boxes.starts = starts


cdef void _halve(
    Task *task, Py_ssize_t *rows, Py_ssize_t n, int32_t low, int32_t high
) noexcept nogil:
    """All pairs among rows of levels low … high − 1, which ascend by score."""
    cdef Py_ssize_t k, n_lower = 0, n_upper = 0
    cdef int32_t middle = low + (high - low) // 2
    cdef double before = task.value
    if high - low < 2 or n < 2:
        return
    task.value = 0
    if n <= FEW_ROWS:
        _one_by_one(task, rows, n)
        task.value += before
        return
    for k in range(n):
        if task.levels[rows[k]] < middle:
            rows[n_lower] = rows[k]
            n_lower += 1
        else:
            task.spare[n_upper] = rows[k]
            n_upper += 1
    for k in range(n_upper):
        rows[n_lower + k] = task.spare[k]
    if n_lower > 0 and n_upper > 0:
        _meet(task, rows, n_lower, rows + n_lower, n_upper)
    # Sums of sums lose fewer digits than one running sum.
    task.value += before
    _halve(task, rows, n_lower, low, middle)
    _halve(task, rows + n_lower, n_upper, middle, high)


cdef void _one_by_one(Task *task, const Py_ssize_t *rows, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t a, b
    for a in range(n):
        for b in range(a):
            if task.levels[rows[a]] > task.levels[rows[b]]:
                _pair(task, rows[a], rows[b])
            elif task.levels[rows[a]] < task.levels[rows[b]]:
                _pair(task, rows[b], rows[a])


cdef inline void _pair(Task *task, Py_ssize_t winner, Py_ssize_t loser) noexcept nogil:
    cdef double m = task.scores[winner] - task.scores[loser]
    cdef double e = exp(-fabs(m)), f, loss
    if task.second:
        f = e / ((1.0 + e) * (1.0 + e))
    else:
        f = (e if m > 0 else 1.0) / (1.0 + e)
        loss = log1p(e) - (m if m < 0 else 0.0)
        task.value += task.charges[winner] * task.charges[loser] * loss
    task.won[winner] += task.charges[loser] * f
    task.lost[loser] += task.charges[winner] * f


cdef void _meet(
    Task *task, const Py_ssize_t *losers, Py_ssize_t n_losers, const Py_ssize_t *winners,
    Py_ssize_t n_winners,
) noexcept nogil:
    """All pairs between two groups of rows."""
    _fill(task, &task.lower, losers, n_losers)
    _fill(task, &task.upper, winners, n_winners)
    _near(task, losers, winners)
    task.value += _fading(task, &task.upper, &task.lower, 1)
    _fading(task, &task.lower, &task.upper, -1)
    if task.second:
        _fading(task, &task.upper, &task.lower, -1)
        _fading(task, &task.lower, &task.upper, 1)
    else:
        task.value += _constant(task, &task.upper, &task.lower, -1)
        _constant(task, &task.lower, &task.upper, 1)
    _receive(task, &task.lower, losers, task.lost)
    _receive(task, &task.upper, winners, task.won)


cdef inline void _chebyshev(double x, double *T) noexcept nogil:
    """T_0 … T_15 at x, four at a time: T_{k+4} = 2·T_4·T_k − T_{k−4}."""
    cdef double twice
    cdef Py_ssize_t k
    T[0] = 1
    T[1] = x
    T[2] = 2 * x * x - 1
    T[3] = x * (2 * T[2] - 1)
    T[4] = 2 * T[2] * T[2] - 1
    twice = 2 * T[4]
    T[5] = twice * T[1] - T[3]
    T[6] = twice * T[2] - T[2]
    T[7] = twice * T[3] - T[1]
    for k in range(8, ORDER):
        T[k] = twice * T[k - 4] - T[k - 8]


cdef void _fill(Task *task, Boxes *boxes, const Py_ssize_t *rows, Py_ssize_t n) noexcept nogil:
    """Cut rows into boxes and take their moments."""
    cdef Py_ssize_t k, j, n_boxes = 0
    cdef double place, z
    cdef double *moments = NULL
    cdef double T[ORDER]
    for k in range(n):
        place = floor(task.scores[rows[k]])
        if n_boxes == 0 or place != boxes.places[n_boxes - 1]:
            if n_boxes == boxes.room:
                task.crowded = True
                n = k
                break
            boxes.places[n_boxes] = place
            boxes.starts[n_boxes] = k
            memset(boxes.moments + n_boxes * ORDER, 0, ORDER * sizeof(double))
            memset(boxes.fields + n_boxes * ORDER, 0, ORDER * sizeof(double))
            moments = boxes.moments + n_boxes * ORDER
            n_boxes += 1
        _chebyshev(2 * (task.scores[rows[k]] - place) - 1, T)
        z = task.charges[rows[k]]
        for j in range(ORDER):
            moments[j] += z * T[j]
    boxes.starts[n_boxes] = n
    boxes.n = n_boxes


cdef void _near(Task *task, const Py_ssize_t *losers, const Py_ssize_t *winners) noexcept nogil:
    cdef Boxes *lower = &task.lower
    cdef Boxes *upper = &task.upper
    cdef Py_ssize_t a, b, first = 0, k, j, size
    cdef double distance
    for a in range(upper.n):
        while first < lower.n and upper.places[a] - lower.places[first] > task.reach:
            first += 1
        for b in range(first, lower.n):
            distance = upper.places[a] - lower.places[b]
            if distance < -task.reach:
                break
            size = (upper.starts[a + 1] - upper.starts[a]) * (lower.starts[b + 1] - lower.starts[b])
            if size <= FEW_PAIRS:
                for k in range(upper.starts[a], upper.starts[a + 1]):
                    for j in range(lower.starts[b], lower.starts[b + 1]):
                        _pair(task, winners[k], losers[j])
            else:
                k = (<Py_ssize_t> distance + task.reach) * ORDER * ORDER
                _cross(
                    task.table + k, upper.moments + a * ORDER, lower.moments + b * ORDER,
                    upper.fields + a * ORDER, lower.fields + b * ORDER,
                )
                if not task.second:
                    task.value += _product(
                        task.loss_table + k, upper.moments + a * ORDER, lower.moments + b * ORDER
                    )


cdef void _cross(
    const double *table, const double *upper, const double *lower, double *to_upper,
    double *to_lower,
) noexcept nogil:
    """Exchange fields between two boxes: to_upper += C·lower, to_lower += Cᵀ·upper.

    C depends on ξ − η, so C_kl = (−1)^(k+l)·C_lk, and both products can run along its rows.
    """
    cdef Py_ssize_t k, l
    cdef double turned[ORDER]
    cdef double u, v
    memset(turned, 0, sizeof(turned))
    for k in range(ORDER):
        u = upper[k]
        v = -lower[k] if k & 1 else lower[k]
        for l in range(ORDER):
            to_lower[l] += u * table[k * ORDER + l]
            turned[l] += v * table[k * ORDER + l]
    for k in range(0, ORDER, 2):
        to_upper[k] += turned[k]
        to_upper[k + 1] -= turned[k + 1]


cdef double _product(const double *table, const double *upper, const double *lower) noexcept nogil:
    cdef Py_ssize_t k, l
    cdef double row[ORDER]
    memset(row, 0, sizeof(row))
    for k in range(ORDER):
        for l in range(ORDER):
            row[l] += upper[k] * table[k * ORDER + l]
    return _dot(row, lower)


cdef inline double _dot(const double *a, const double *b) noexcept nogil:
    cdef double s0 = 0, s1 = 0, s2 = 0, s3 = 0
    cdef Py_ssize_t k
    for k in range(0, ORDER, 4):
        s0 += a[k] * b[k]
        s1 += a[k + 1] * b[k + 1]
        s2 += a[k + 2] * b[k + 2]
        s3 += a[k + 3] * b[k + 3]
    return (s0 + s1) + (s2 + s3)


cdef double _fading(Task *task, Boxes *to, Boxes *source, int step) noexcept nogil:
    """Fields e^−|m| from the boxes out of reach: below if step is 1, above if it is −1.

    Returns the sum of charge × charge × e^−|m| over the pairs.
    """
    cdef const double *near_side = task.falling if step > 0 else task.rising
    cdef const double *far_side = task.rising if step > 0 else task.falling
    cdef Py_ssize_t k, a, b, j, entered = 0
    cdef double running = 0, total = 0, before = 0
    for k in range(to.n):
        a = k if step > 0 else to.n - 1 - k
        running *= exp(-fabs(to.places[a] - before))
        before = to.places[a]
        while entered < source.n:
            b = entered if step > 0 else source.n - 1 - entered
            if step * (before - source.places[b]) <= task.reach:
                break
            running += exp(-fabs(before - source.places[b])) * _dot(
                far_side, source.moments + b * ORDER
            )
            entered += 1
        if running != 0:
            for j in range(ORDER):
                to.fields[a * ORDER + j] += running * near_side[j]
            total += running * _dot(near_side, to.moments + a * ORDER)
    return total


cdef double _constant(Task *task, Boxes *to, Boxes *source, int step) noexcept nogil:
    """Fields 1 from the boxes out of reach, where the loser lies above the winner.

    Returns the sum of charge × charge × |m| over the pairs.
    """
    cdef Py_ssize_t k, a, b, entered = 0
    cdef double mass = 0, far = 0, total = 0, before = 0
    cdef double *moments
    for k in range(to.n):
        a = k if step > 0 else to.n - 1 - k
        far += mass * fabs(to.places[a] - before)
        before = to.places[a]
        while entered < source.n:
            b = entered if step > 0 else source.n - 1 - entered
            if step * (before - source.places[b]) <= task.reach:
                break
            # The distance of the rows is that of the boxes, and the place of the row in its box.
            moments = source.moments + b * ORDER
            mass += moments[0]
            far += moments[0] * fabs(before - source.places[b])
            far -= step * 0.5 * (moments[0] + moments[1])
            entered += 1
        if mass != 0:
            moments = to.moments + a * ORDER
            to.fields[a * ORDER] += mass
            total += moments[0] * far + step * 0.5 * (moments[0] + moments[1]) * mass
    return total


cdef void _receive(
    Task *task, Boxes *boxes, const Py_ssize_t *rows, double *received
) noexcept nogil:
    """Give rows the fields of their boxes."""
    cdef Py_ssize_t b, k
    cdef double T[ORDER]
    for b in range(boxes.n):
        for k in range(boxes.starts[b], boxes.starts[b + 1]):
            _chebyshev(2 * (task.scores[rows[k]] - boxes.places[b]) - 1, T)
            received[rows[k]] += _dot(boxes.fields + b * ORDER, T)
