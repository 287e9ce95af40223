# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Tables as text: cells to numbers, numbers to cells, and cells to rows.

A number w·10^q with few digits is one rounded operation on doubles that are exact. Any other is
w·5^q·2^q with the first 128 bits m of 5^q, so that the true product lies in [w·m, w·(m+1)]: unless
the interval holds the middle between two doubles, both ends round to the one that is sought.
"""

from libc.math cimport NAN
from libc.string cimport memcpy

cdef extern from *:
    """
    static inline unsigned long long echelon_product(
        unsigned long long a, unsigned long long b, unsigned long long *high
    ) {
    #if defined(__SIZEOF_INT128__)
        unsigned __int128 product = (unsigned __int128)a * b;
        *high = (unsigned long long)(product >> 64);
        return (unsigned long long)product;
    #else
        unsigned long long a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
        unsigned long long low = a0 * b0, one = a1 * b0, two = a0 * b1;
        unsigned long long middle = (low >> 32) + (one & 0xffffffffu) + (two & 0xffffffffu);
        *high = a1 * b1 + (one >> 32) + (two >> 32) + (middle >> 32);
        return (middle << 32) | (low & 0xffffffffu);
    #endif
    }
    """
    unsigned long long product "echelon_product"(
        unsigned long long a, unsigned long long b, unsigned long long *high
    ) noexcept nogil

cdef enum:
    MOST_DIGITS = 19
    MOST_POWER = 22
    WIDEST_POWER = 60

# Powers of ten that are doubles.
cdef double[23] POWERS
# First and second 64 bits of powers of five, and the exponents of two that belong to them.
cdef unsigned long long[2 * WIDEST_POWER + 1] FIVES
cdef unsigned long long[2 * WIDEST_POWER + 1] MORE_FIVES
cdef int[2 * WIDEST_POWER + 1] TWOS


def _fill_tables():
    for k in range(23):
        POWERS[k] = float(10**k)
    for q in range(-WIDEST_POWER, WIDEST_POWER + 1):
        five = 5 ** abs(q)
        shift = 127 + five.bit_length() if q < 0 else 128 - five.bit_length()
        bits = (1 << shift) // five if q < 0 else (five << 128) >> (128 - shift)
        FIVES[q + WIDEST_POWER] = bits >> 64
        MORE_FIVES[q + WIDEST_POWER] = bits & (2**64 - 1)
        TWOS[q + WIDEST_POWER] = -shift


_fill_tables()


cdef bint _wide(unsigned long long whole, Py_ssize_t power, double *value) noexcept nogil:
    """whole·10^power as the nearest double; False where 192 bits do not tell which that is."""
    cdef unsigned long long high, middle, low, carry, rest, half, mantissa, bits
    cdef int exponent, spare
    if power < -WIDEST_POWER or power > WIDEST_POWER or whole == 0:
        value[0] = 0.0
        return whole == 0
    exponent = TWOS[power + WIDEST_POWER] + <int>power
    while not whole >> 63:
        whole <<= 1
        exponent -= 1
    low = product(whole, MORE_FIVES[power + WIDEST_POWER], &carry)
    middle = product(whole, FIVES[power + WIDEST_POWER], &high) + carry
    high += middle < carry
    spare = 10 + <int>(high >> 63)
    half = 1ull << (spare - 1)
    rest = high & (2 * half - 1)
    if (rest == half and not middle) or (rest + 1 == half and middle >= <unsigned long long>-2):
        return False
    mantissa = (high >> spare) + (rest >= half)
    exponent += 128 + spare + 52
    if mantissa >> 53:
        mantissa >>= 1
        exponent += 1
    bits = (<unsigned long long>(exponent + 1023) << 52) | (mantissa & ((1ull << 52) - 1))
    memcpy(value, &bits, sizeof(double))
    return True


cdef inline Py_ssize_t _significant(
    const unsigned char *text, Py_ssize_t first, Py_ssize_t end
) noexcept nogil:
    """Number of digits after leading zeros."""
    cdef Py_ssize_t count = 0, k
    for k in range(first, end):
        count += text[k] != 46 and (count > 0 or text[k] != 48)
    return count


cdef inline bint _digits(
    const unsigned char *text, Py_ssize_t *place, unsigned long long *whole
) noexcept nogil:
    """Read digits on to a whole number; whether there were any."""
    cdef Py_ssize_t first = place[0]
    cdef unsigned char digit = text[place[0]] - 48
    while digit < 10:
        whole[0] = 10 * whole[0] + digit
        place[0] += 1
        digit = text[place[0]] - 48
    return place[0] > first


cdef inline bint _number(
    const unsigned char *text, Py_ssize_t *place, double *value
) noexcept nogil:
    """Read a cell; False where it is not a number, or one that is not read exactly."""
    cdef unsigned long long whole = 0, power = 0
    cdef Py_ssize_t first, exponent = 0, after
    cdef bint negative = text[place[0]] == 45, below, any_digit
    place[0] += negative
    first = place[0]
    any_digit = _digits(text, place, &whole)
    if text[place[0]] == 46:
        place[0] += 1
        after = place[0]
        any_digit |= _digits(text, place, &whole)
        exponent = after - place[0]
    if not any_digit:
        value[0] = NAN
        return place[0] == first and not negative
    if place[0] - first > MOST_DIGITS and _significant(text, first, place[0]) > MOST_DIGITS:
        return False
    if text[place[0]] | 32 == 101:
        place[0] += 1
        below = text[place[0]] == 45
        place[0] += below or text[place[0]] == 43
        after = place[0]
        if not _digits(text, place, &power) or place[0] - after > 3:
            return False
        exponent += -<Py_ssize_t>power if below else <Py_ssize_t>power
    if whole > 1ull << 53 or exponent < -MOST_POWER or exponent > MOST_POWER:
        if not _wide(whole, exponent, value):
            return False
    elif exponent < 0:
        value[0] = <double>whole / POWERS[-exponent]
    else:
        value[0] = <double>whole * POWERS[exponent]
    if negative:
        value[0] = -value[0]
    return True


cdef inline bint _skip(
    const unsigned char *text, Py_ssize_t *place, unsigned char delimiter
) noexcept nogil:
    """Pass over a cell; False where quotation marks may hide its end."""
    cdef unsigned char sign = text[place[0]]
    while sign != delimiter and sign != 10 and sign != 13:
        if sign == 34:
            return False
        place[0] += 1
        sign = text[place[0]]
    return True


cdef inline bint _end_of_line(const unsigned char *text, Py_ssize_t *place) noexcept nogil:
    """Pass over the end of a line, if there is one."""
    if text[place[0]] == 13 and text[place[0] + 1] == 10:
        place[0] += 2
        return True
    if text[place[0]] == 10:
        place[0] += 1
        return True
    return False


cdef bint _row(
    const unsigned char *text, Py_ssize_t *place, unsigned char delimiter, const int[::1] places,
    double[:, ::1] numbers, Py_ssize_t row,
) noexcept nogil:
    """Read a row of cells; False where it is none of numbers."""
    cdef Py_ssize_t j, last = places.shape[0] - 1
    for j in range(last + 1):
        if places[j] < 0:
            if not _skip(text, place, delimiter):
                return False
        elif not _number(text, place, &numbers[places[j], row]):
            return False
        if j < last:
            if text[place[0]] != delimiter:
                return False
            place[0] += 1
    return _end_of_line(text, place)


def read_numbers(
    const unsigned char[::1] text, unsigned char delimiter, const int[::1] places,
    double[:, ::1] numbers,
):
    """Read rows of numbers into the columns of a table; an empty cell is NaN.

    Every value is the double nearest to what is written.

    Parameters
    ----------
    text : buffer
        Rows, the last of which ends with a newline.
    delimiter : int
    places : ndarray of int32, one for each cell of a row
        Row of `numbers` that a cell goes to, −1 for cells to pass over.
    numbers : ndarray of shape (wanted columns, at least as many as there are lines)

    Returns
    -------
    rows : int
        −1 where the text is anything but rows of such numbers: quotation marks, words, spaces,
        missing or additional cells, more than 19 digits, exponents far from zero.
    """
    cdef Py_ssize_t place = 0, end = text.shape[0], row = 0, columns = places.shape[0]
    cdef bint sound = True
    if end == 0 or columns == 0 or text[end - 1] != 10:
        return -1
    with nogil:
        while sound and place < end:
            # A line without cells is none, unless one empty cell is a row.
            if columns > 1 and _end_of_line(&text[0], &place):
                continue
            sound = row < numbers.shape[1] and _row(
                &text[0], &place, delimiter, places, numbers, row
            )
            row += 1
    return row if sound else -1


cdef inline Py_ssize_t _short(double value, unsigned char *text) noexcept nogil:
    """Write a number from 0 to 1 with six digits; the length of the text."""
    cdef Py_ssize_t length = 0, first, k
    cdef int power = 0, zeros
    cdef long digits
    if value <= 0.0:
        text[0] = 48
        return 1
    while value < 0.1 and power < 400:
        value *= 10.0
        power += 1
    digits = <long>(value * 1e6 + 0.5)
    if digits == 1000000:
        digits = 100000
        power -= 1
    if power < 0:
        text[0] = 49
        return 1
    # 0.ddd with up to three zeros after the point, else d.dde-xx.
    if power < 4:
        text[0], text[1] = 48, 46
        for zeros in range(power):
            text[2 + zeros] = 48
        first = 2 + power
    else:
        text[1] = 46
        first = 1
    length = first + 6
    for k in range(length - 1, first - 1, -1):
        text[k] = <unsigned char>(48 + digits % 10)
        digits = digits // 10
    while text[length - 1] == 48:
        length -= 1
    if power < 4:
        return length
    text[0], text[1] = text[1], 46
    if length == 2:
        length = 1
    power += 1
    text[length], text[length + 1] = 101, 45
    length += 2
    if power >= 100:
        text[length] = <unsigned char>(48 + power // 100)
        length += 1
    text[length] = <unsigned char>(48 + power // 10 % 10)
    text[length + 1] = <unsigned char>(48 + power % 10)
    return length + 2


def write_shares(const double[::1] values, int[::1] offsets, unsigned char[::1] text):
    """Write numbers from 0 to 1 with six significant digits, one after another.

    Parameters
    ----------
    values : ndarray of shape (n,)
    offsets : ndarray of int32, shape (n + 1,)
        Filled with the place where each text begins, and the end of the last.
    text : ndarray of uint8, shape (16 n,) at least
    """
    cdef Py_ssize_t i
    cdef int place = 0
    with nogil:
        for i in range(values.shape[0]):
            offsets[i] = place
            place += <int>_short(values[i], &text[place])
        offsets[values.shape[0]] = place


def place_cells(
    const unsigned char[::1] lead, const int[::1] offsets, const unsigned char[::1] text,
    Py_ssize_t[::1] places, unsigned char[::1] rows,
):
    """Put a lead and a cell into every row of a text.

    Parameters
    ----------
    lead : buffer
        What stands before each cell.
    offsets : ndarray of int32, shape (n + 1,)
        Where each cell begins in `text`, and where the last ends.
    text : buffer
    places : ndarray of intp, shape (n,)
        Where each row goes on; moved behind what is put there.
    rows : ndarray of uint8
    """
    cdef Py_ssize_t i, k, size, width = lead.shape[0]
    cdef const unsigned char *cell
    cdef unsigned char *target
    with nogil:
        for i in range(places.shape[0]):
            target = &rows[places[i]]
            for k in range(width):
                target[k] = lead[k]
            target += width
            size = offsets[i + 1] - offsets[i]
            if size:
                cell = &text[offsets[i]]
                # Most cells are short, and a call takes longer than a few bytes.
                if size <= 16:
                    for k in range(size):
                        target[k] = cell[k]
                else:
                    memcpy(target, cell, size)
            places[i] += width + size
