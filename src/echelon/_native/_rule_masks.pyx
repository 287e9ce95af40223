# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Scores of rows under many rules at once, by bits that say which rules a row can still satisfy."""

from libc.string cimport memcpy

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static inline int echelon_lowest_bit(unsigned long long word) {
        unsigned long place;
        _BitScanForward64(&place, word);
        return (int)place;
    }
    #else
    static inline int echelon_lowest_bit(unsigned long long word) {
        return __builtin_ctzll(word);
    }
    #endif
    """
    int lowest_bit "echelon_lowest_bit"(unsigned long long word) noexcept nogil

cdef enum:
    MOST_WORDS = 1024


def code_column(const double[:] values, const double[::1] cuts, int first, int[::1] codes):
    """``first`` plus the number of cuts below each value; NaN comes after all.

    `cuts` ascend, and there is one at least.
    """
    cdef Py_ssize_t i, low, step, size = cuts.shape[0]
    cdef double value
    with nogil:
        for i in range(values.shape[0]):
            value = values[i]
            low = 0
            step = size
            # Halves of a fixed sequence of lengths, so that nothing has to be guessed.
            while step > 1:
                low += (step >> 1) * (cuts[low + (step >> 1) - 1] < value)
                step -= step >> 1
            low += cuts[low] < value
            codes[i] = first + <int>(low if value == value else size + 1)


def add_covered(
    const int[:, ::1] codes, const unsigned long long[:, ::1] masks,
    const Py_ssize_t[::1] ends, const double[::1] responses, double[:, ::1] scores,
):
    """Add to the scores of every row the responses of the rules that cover it.

    Parameters
    ----------
    codes : ndarray of int32, shape (d, n)
        Row of `masks` that each input of each row leads to; d ≥ 1.
    masks : ndarray of uint64, shape (bins of all inputs, words)
        Rules that an input in a bin allows, 64 to a word, lowest bit first.
    ends : ndarray of intp
        Words before the end of each set of rules.
    responses : ndarray of shape (64 words,)
    scores : ndarray of shape (sets of rules, n)
    """
    cdef Py_ssize_t i, j, w, part, words = masks.shape[1]
    cdef unsigned long long allowed[MOST_WORDS]
    cdef unsigned long long word
    cdef const unsigned long long *mask
    cdef const double *response
    cdef double score
    if words > MOST_WORDS:
        raise ValueError(f"There may be {64 * MOST_WORDS} rules at most.")
    with nogil:
        for i in range(codes.shape[1]):
            memcpy(allowed, &masks[codes[0, i], 0], words * sizeof(unsigned long long))
            for j in range(1, codes.shape[0]):
                mask = &masks[codes[j, i], 0]
                for w in range(words):
                    allowed[w] &= mask[w]
            w = 0
            for part in range(ends.shape[0]):
                score = scores[part, i]
                while w < ends[part]:
                    word = allowed[w]
                    response = &responses[64 * w]
                    while word:
                        score += response[lowest_bit(word)]
                        word &= word - 1
                    w += 1
                scores[part, i] = score
