# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Descent on the weighted error of a perceptron, one plane of weight space at a time."""

from libc.math cimport fabs, sqrt
from libc.stdlib cimport qsort

from ._checks cimport check_indices, check_room, check_size


cdef struct Change:
    # Where a row changes its sign, and by how much that raises the sum.
    double position
    double jump


cdef struct Choice:
    # The best stair so far: its sum, a position on it, and whether it was found between cell ends.
    double value
    double position
    bint interior


def descend(
    const double[:, ::1] columns,
    const double[::1] pull,
    const Py_ssize_t[::1] features,
    const double[::1] offsets,
    double[::1] coef,
    double[::1] scores,
    double[:, ::1] changes,
    double[:, ::1] cells,
):
    """Raise Σ_i u_i·sign(s_i) along one direction after another, in place.

    ``columns`` holds the inputs, a row per feature; ``pull`` is u; ``coef`` holds the d weights and
    then the bias, not all zero, and ``scores`` is s = w·x + bias. Direction t changes the score by
    δ = x[features[t]] + offsets[t], scaled to the length of ``coef``, which becomes of the order of
    one. ``changes`` of shape (2n, 2) and ``cells`` of shape (2, B + 1), B even, are scratch.

    The scores (1 − |φ|)s + φδ, φ from −1 to 1, run from −δ through s to δ, and row i changes its
    sign once, from −sign δ_i to sign δ_i, at φ_i = −s_i sign(δ_i) / (|s_i| + |δ_i|). So the sum is
    a staircase in φ, and its negative is reached by the opposite scores. The stair of greatest
    size is found without sorting all rows: the sums at the ends of B equal cells come from adding
    up jumps, and only in cells where a stair between the ends could be higher are the rows sorted.
    The position taken is the middle of the stair. Among stairs that are equal but for rounding the
    one nearest to φ = 0 is taken, and if the present one is among them it is kept, so neither
    repeated rows nor their order matter.
    """
    cdef Py_ssize_t t
    cdef double total = 0
    check_size("columns of the inputs", columns.shape[1], scores.shape[0])
    check_size("pull", pull.shape[0], scores.shape[0])
    check_indices("features", features, columns.shape[0])
    check_size("offsets", offsets.shape[0], features.shape[0])
    check_size("coef", coef.shape[0], columns.shape[0] + 1)
    check_room("changes", changes.shape[0], 2 * scores.shape[0])
    check_size("columns of changes", changes.shape[1], 2)
    check_size("cells", cells.shape[0], 2)
    check_room("columns of cells", cells.shape[1], 3)
    if cells.shape[1] % 2 == 0:
        raise ValueError(f"cells must have an odd number of columns; found {cells.shape[1]}.")
    if scores.shape[0] == 0:
        return
    with nogil:
        for t in range(pull.shape[0]):
            total += fabs(pull[t])
        for t in range(features.shape[0]):
            _step(columns, pull, features[t], offsets[t], 1e-12 * total, coef, scores,
                  <Change*> &changes[0, 0], cells)


cdef void _step(
    const double[:, ::1] columns,
    const double[::1] pull,
    Py_ssize_t feature,
    double offset,
    double tolerance,
    double[::1] coef,
    double[::1] scores,
    Change* changes,
    double[:, ::1] cells,
) noexcept nogil:
    cdef Py_ssize_t n = scores.shape[0], half = (cells.shape[1] - 1) // 2, i
    cdef double phi, keep, best, scale, length = 0
    cdef Choice choice
    for i in range(coef.shape[0]):
        length += coef[i] * coef[i]
    length = sqrt(length)
    scale = length / sqrt(1.0 + offset * offset)
    _build_stairs(columns, pull, feature, offset, scale, scores, changes, cells)
    best = _highest_end(cells) - tolerance
    i = _gather(changes, n, cells, best)
    best = _highest_between(changes + n, i, cells, best + tolerance) - tolerance
    if cells[0, half] >= best:
        return
    choice = _nearest(changes + n, i, cells, best)
    phi = choice.position if choice.interior else _middle(changes, n, choice.position)
    keep = (1.0 - fabs(phi)) / length
    if choice.value < 0:
        phi = -phi
        keep = -keep
    phi *= scale / length
    for i in range(n):
        scores[i] = keep * scores[i] + phi * (columns[feature, i] + offset)
    for i in range(coef.shape[0]):
        coef[i] *= keep
    coef[feature] += phi
    coef[coef.shape[0] - 1] += phi * offset


cdef void _build_stairs(
    const double[:, ::1] columns,
    const double[::1] pull,
    Py_ssize_t feature,
    double offset,
    double scale,
    const double[::1] scores,
    Change* changes,
    double[:, ::1] cells,
) noexcept nogil:
    """The change of every row; the sum at every cell end; the size of all jumps in every cell."""
    cdef Py_ssize_t B = cells.shape[1] - 1, i, cell
    cdef double delta, jump, value = 0, half = 0.5 * B
    for cell in range(B + 1):
        cells[0, cell] = 0
        cells[1, cell] = 0
    for i in range(scores.shape[0]):
        delta = scale * (columns[feature, i] + offset)
        if delta == 0:
            # The row keeps its sign all the way.
            changes[i].position = 1
            changes[i].jump = 0
            value += pull[i] if scores[i] > 0 else -pull[i]
            continue
        jump = pull[i] if delta > 0 else -pull[i]
        value -= jump
        changes[i].position = (
            (-scores[i] if delta > 0 else scores[i]) / (fabs(scores[i]) + fabs(delta))
        )
        changes[i].jump = 2 * jump
        cell = _cell(changes[i].position, half)
        if cell < B:
            cells[0, cell + 1] += 2 * jump
            cells[1, cell] += 2 * fabs(jump)
    for cell in range(B + 1):
        value += cells[0, cell]
        cells[0, cell] = value


cdef inline Py_ssize_t _cell(double position, double half) noexcept nogil:
    # A place in no cell, the last, for a position that is not a number.
    return <Py_ssize_t> ((position + 1.0) * half if position >= -1.0 else 2.0 * half)


cdef double _highest_end(const double[:, ::1] cells) noexcept nogil:
    cdef Py_ssize_t cell
    cdef double best = 0
    for cell in range(cells.shape[1]):
        if fabs(cells[0, cell]) > best:
            best = fabs(cells[0, cell])
    return best


cdef Py_ssize_t _gather(
    Change* changes, Py_ssize_t n, double[:, ::1] cells, double least
) noexcept nogil:
    """Sort, behind the n changes, those in cells whose stairs may reach `least`; how many.

    A walk from a to b by jumps of total size c never gets further from 0 than (|a| + |b| + c)/2.
    """
    cdef Py_ssize_t B = cells.shape[1] - 1, i, cell, found = 0
    cdef double half = 0.5 * B
    for cell in range(B):
        cells[1, cell] = (
            cells[1, cell] > 0
            and 0.5 * (fabs(cells[0, cell]) + fabs(cells[0, cell + 1]) + cells[1, cell]) >= least
        )
    for i in range(n):
        cell = _cell(changes[i].position, half)
        if cell < B and cells[1, cell] > 0:
            changes[n + found] = changes[i]
            found += 1
    qsort(changes + n, found, sizeof(Change), _by_position)
    return found


cdef int _by_position(const void* a, const void* b) noexcept nogil:
    cdef double first = (<const Change*> a).position, second = (<const Change*> b).position
    return (first > second) - (first < second)


cdef double _highest_between(
    const Change* sorted_changes, Py_ssize_t found, const double[:, ::1] cells, double best
) noexcept nogil:
    """Greatest size of a stair, that of the cell ends included."""
    cdef Py_ssize_t i = 0
    cdef double value = 0
    while i < found:
        i = _climb(sorted_changes, i, found, cells, &value)
        if fabs(value) > best:
            best = fabs(value)
    return best


cdef Py_ssize_t _climb(
    const Change* sorted_changes,
    Py_ssize_t i,
    Py_ssize_t found,
    const double[:, ::1] cells,
    double* value,
) noexcept nogil:
    """Add the jumps at one position to the sum before it, and return where the next one begins."""
    cdef double position = sorted_changes[i].position, half = 0.5 * (cells.shape[1] - 1)
    cdef Py_ssize_t cell = _cell(position, half)
    if i == 0 or _cell(sorted_changes[i - 1].position, half) != cell:
        value[0] = cells[0, cell]
    while i < found and sorted_changes[i].position == position:
        value[0] += sorted_changes[i].jump
        i += 1
    return i


cdef Choice _nearest(
    const Change* sorted_changes, Py_ssize_t found, const double[:, ::1] cells, double least
) noexcept nogil:
    """The stair of size at least `least` that is nearest to φ = 0."""
    cdef Py_ssize_t B = cells.shape[1] - 1, half = B // 2, i, cell
    cdef double value = 0, middle
    cdef Choice choice
    choice.position = 2
    choice.value = 0
    choice.interior = False
    for i in range(B + 1):
        # From the middle outwards: half, half + 1, half − 1, …
        cell = half + (i + 1) // 2 if i & 1 else half - i // 2
        if fabs(cells[0, cell]) >= least:
            choice.position = 2.0 * cell / B - 1.0
            choice.value = cells[0, cell]
            break
    i = 0
    while i < found:
        i = _climb(sorted_changes, i, found, cells, &value)
        if i == found or fabs(value) < least:
            continue
        if _cell(sorted_changes[i].position, 0.5 * B) != _cell(
            sorted_changes[i - 1].position, 0.5 * B
        ):
            continue
        middle = 0.5 * (sorted_changes[i - 1].position + sorted_changes[i].position)
        if fabs(middle) < fabs(choice.position):
            choice.position = middle
            choice.value = value
            choice.interior = True
    return choice


cdef double _middle(const Change* changes, Py_ssize_t n, double at) noexcept nogil:
    """Middle between the changes of sign next to a position, within [−1, 1]."""
    cdef double below = -1, above = 1
    cdef Py_ssize_t i
    for i in range(n):
        if changes[i].position < at:
            if changes[i].position > below:
                below = changes[i].position
        elif changes[i].position < above:
            above = changes[i].position
    return 0.5 * (below + above)
