# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""What a kernel asks of its arrays before it uses their numbers as places in memory.

The kernels run without checks of bounds. Each function that Python can call therefore looks at
the lengths of all arrays and, in one pass that is short beside its work, at the range of every
number that becomes an index. Offsets and products of indices are Py_ssize_t.
"""

cdef extern from *:
    """
    #include <stddef.h>
    /* Whether all values are in 0 ... limit - 1. The sign of v | (limit - 1 - v) tells for one of
       them, in operations that compilers turn into those for several numbers at a time. */
    static inline int bytes_within(const unsigned char *v, ptrdiff_t n, ptrdiff_t limit) {
        unsigned char top = 0;
        ptrdiff_t i;
        for (i = 0; i < n; i++) top = v[i] > top ? v[i] : top;
        return n <= 0 || top < limit;
    }
    static inline int ints_within(const int *v, ptrdiff_t n, ptrdiff_t limit) {
        unsigned int seen = 0, last;
        ptrdiff_t i;
        if (limit > 0x7fffffff) limit = 0x7fffffff + (ptrdiff_t)1;
        last = (unsigned int)(limit - 1);
        for (i = 0; i < n; i++) seen |= (unsigned int)v[i] | (last - (unsigned int)v[i]);
        return n <= 0 || (limit > 0 && !(seen >> 31));
    }
    static inline int sizes_within(const ptrdiff_t *v, ptrdiff_t n, ptrdiff_t limit) {
        size_t seen = 0, last = (size_t)(limit - 1);
        ptrdiff_t i;
        for (i = 0; i < n; i++) seen |= (size_t)v[i] | (last - (size_t)v[i]);
        return n <= 0 || (limit > 0 && !(seen >> (8 * sizeof(size_t) - 1)));
    }
    /* Whether v ascends, each time by `most` or less. */
    static inline int steps_within(const ptrdiff_t *v, ptrdiff_t n, ptrdiff_t most) {
        size_t seen = 0;
        ptrdiff_t i;
        for (i = 1; i < n; i++) {
            size_t step = (size_t)v[i] - (size_t)v[i - 1];
            seen |= step | ((size_t)most - step);
        }
        return !(seen >> (8 * sizeof(size_t) - 1));
    }
    """
    bint bytes_within(const unsigned char *v, Py_ssize_t n, Py_ssize_t limit) noexcept nogil
    bint ints_within(const int *v, Py_ssize_t n, Py_ssize_t limit) noexcept nogil
    bint sizes_within(const Py_ssize_t *v, Py_ssize_t n, Py_ssize_t limit) noexcept nogil
    bint steps_within(const Py_ssize_t *v, Py_ssize_t n, Py_ssize_t most) noexcept nogil

cdef enum:
    # Rows, bins and nodes are numbered by 32 bits, of which one is the sign.
    MOST_NUMBERED = 2147483647

ctypedef fused index_t:
    unsigned char
    int
    Py_ssize_t


cdef inline bint within(const index_t *values, Py_ssize_t n, Py_ssize_t limit) noexcept nogil:
    """Whether all values are in 0 … limit − 1."""
    if index_t is Py_ssize_t:
        return sizes_within(values, n, limit)
    elif index_t is int:
        return ints_within(values, n, limit)
    else:
        return bytes_within(values, n, limit)


cdef inline int check_indices(str name, const index_t[::1] values, Py_ssize_t limit) except -1:
    """Refuse values that are not in 0 … limit − 1."""
    if values.shape[0] and not within(&values[0], values.shape[0], limit):
        refuse_indices(name, limit)
    return 0


cdef inline int refuse_indices(str name, Py_ssize_t limit) except -1:
    raise IndexError(f"{name} must be integers from 0 to {limit - 1}; found others.")


cdef inline int check_index(str name, Py_ssize_t value, Py_ssize_t limit) except -1:
    """Refuse a value that is not in 0 … limit − 1."""
    if not 0 <= value < limit:
        raise IndexError(f"{name} must be an integer from 0 to {limit - 1}; found {value}.")
    return 0


cdef inline int check_size(str name, Py_ssize_t found, Py_ssize_t wanted) except -1:
    """Refuse an array of another length."""
    if found != wanted:
        raise ValueError(f"{name} must have the length {wanted}; found {found}.")
    return 0


cdef inline int check_room(str name, Py_ssize_t found, Py_ssize_t least) except -1:
    """Refuse an array that is too short."""
    if found < least:
        raise ValueError(f"{name} must have the length {least} or more; found {found}.")
    return 0


cdef inline int check_numbered(str name, Py_ssize_t found) except -1:
    """Refuse more than 32 bits can number."""
    if found >= MOST_NUMBERED:
        raise ValueError(f"{name} must number less than {MOST_NUMBERED}; found {found}.")
    return 0


cdef inline int check_starts(str name, const Py_ssize_t[::1] starts, Py_ssize_t limit) except -1:
    """Refuse places where runs begin, and the last ends, that do not ascend from 0 to the limit."""
    return check_runs(name, starts, limit, limit)


cdef inline int check_runs(
    str name, const Py_ssize_t[::1] starts, Py_ssize_t limit, Py_ssize_t most
) except -1:
    """The same, and refuse runs that are longer than ``most``."""
    cdef Py_ssize_t n = starts.shape[0]
    if n == 0 or starts[0] < 0 or starts[n - 1] > limit or not steps_within(&starts[0], n, most):
        raise ValueError(
            f"{name} must ascend from 0 or more to {limit} at most, by {most} at most."
        )
    return 0
