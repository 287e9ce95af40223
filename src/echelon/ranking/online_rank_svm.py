"""A ranking support vector machine that learns from a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._utils.messages import require_choice
from .._utils.state import require_state
from .._utils.types import Index, RandomStateLike, Vector
from ..base.estimator import BaseEstimator
from ..base.validation import RankingData
from ..ordinal.arrays import require_count, require_positive
from ..pairs import PairSet, query_codes
from ..pairs.losses import HINGE_LOSSES, pair_loss
from ..solvers.ranking.online import RATES, DescentState, PairSteps, descend
from ..solvers.ranking.pair_draws import PairSampler
from .mixins import LinearRankerMixin, StreamedRankerMixin

# Query of rows without one, which no id of the user equals.
_NO_QUERY = ()


@dataclass(frozen=True)
class StreamRows:
    """Rows of a stream: inputs, labels, queries and weights."""

    X: Any
    relevance: Vector
    qid: list[Any]
    weights: Vector

    def __len__(self) -> int:
        return len(self.relevance)

    def followed_by(self, other: StreamRows) -> StreamRows:
        """These rows and then the others."""
        sparse = sp.issparse(self.X) or sp.issparse(other.X)
        both = (self.X, other.X)
        return StreamRows(
            sp.vstack(both, format="csr") if sparse else np.vstack(both),
            np.r_[self.relevance, other.relevance],
            self.qid + other.qid,
            np.r_[self.weights, other.weights],
        )

    def check_state(self) -> None:
        """Raise an error if the parts, as a file may hold them, are not of the same rows."""
        shape: tuple[int, ...] = getattr(self.X, "shape", ())
        lengths = [len(part) for part in (self.relevance, self.qid, self.weights)]
        require_state(len(shape) == 2 and lengths == [shape[0]] * 3, "its rows are not complete")

    def take(self, rows: Index) -> StreamRows:
        """Some of the rows."""
        qid = [self.qid[row] for row in rows]
        return StreamRows(self.X[rows], self.relevance[rows], qid, self.weights[rows])


class OnlineRankSVM(StreamedRankerMixin, LinearRankerMixin, BaseEstimator):
    """Linear ranking support vector machine by stochastic steps, for streams of rows or pairs.

    Parameters
    ----------
    alpha : float, default=1e-4
        Strength λ of the penalty ½·alpha·‖coef‖² beside the mean loss of the pairs; see Notes for
        what it is in terms of C.
    loss : {"hinge", "squared_hinge"}, default="hinge"
    n_epochs : int, default=20
        Epochs of ``fit``.
    pairs_per_row : int, default=4
        Pairs that are drawn for each row, in each epoch or call of ``partial_fit``. A stated pair
        is drawn once on average.
    batch_size : int, default=8
        Pairs to a step.
    learning_rate : {"optimal", "inverse_sqrt", "constant"}, default="optimal"
        How long step t is, with η₀ the initial rate: 1/(alpha·t + 1/η₀), η₀/√t or η₀. A constant
        rate follows a stream that changes.
    initial_rate : float, optional
        η₀; by default found from the lengths of the differences of rows.
    averaged : bool, default=True
        Whether ``coef_`` is the average of the weights after each step t, with weight t, or the
        last weights.
    buffer_size : int, default=1000
        Rows that ``partial_fit`` keeps, a uniform sample of all labelled rows so far: rows that
        arrive are paired with each other and with these. Zero where queries arrive whole.
    random_state : int, RandomState or None, default=None
        For the draws of pairs and the sample of rows.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Weights of the score x·coef_.
    n_steps_ : int
        Steps since the last ``fit`` began.
    objective_ : float
        After ``fit``: value of the objective below.
    n_iter_ : int
        After ``fit``: epochs done.

    See Also
    --------
    LinearRankSVM : The same model solved to a certificate, for rows in memory.

    Notes
    -----
    An on-line form of the machine of [MRT18] section 10.3 (exercise 10.2), with the steps of
    Pegasos (S. Shalev-Shwartz and others, 2011) and the average of S. Lacoste-Julien and others
    (2012). It descends, over pairs p with weights c_p,

        ½·alpha·‖coef‖² + Σ_p c_p·φ(1 − coef·(x_winner − x_loser)) / Σ_p c_p,

    where φ(t) is max(0, t) or its square. This is (10.9) for alpha = 1/(C·Σ_p c_p), and what
    ``LinearRankSVM(C)`` minimises for alpha = 1/(C·Σ_i w_i) with the weights of all rows in pairs.

    Pairs are drawn by weight and never listed. For a given `random_state` a ``fit`` does not depend
    on the order of rows, and integer weights equal repeated rows. In ``partial_fit`` a pair of two
    rows of one query is only met if both arrive together or one is in the buffer when the other
    arrives.

    Examples
    --------
    >>> from echelon.ranking import OnlineRankSVM
    >>> from echelon.datasets import load_esl
    >>> X, y = load_esl(return_X_y=True)
    >>> model = OnlineRankSVM(random_state=0)
    >>> for row in range(0, 400, 10):
    ...     model = model.partial_fit(X[row : row + 10], y[row : row + 10])
    >>> bool((model.coef_ > 0).all())
    True
    """

    def __init__(
        self,
        alpha: float = 1e-4,
        *,
        loss: str = "hinge",
        n_epochs: int = 20,
        pairs_per_row: int = 4,
        batch_size: int = 8,
        learning_rate: str = "optimal",
        initial_rate: float | None = None,
        averaged: bool = True,
        buffer_size: int = 1000,
        random_state: RandomStateLike = None,
    ) -> None:
        self.alpha = alpha
        self.loss = loss
        self.n_epochs = n_epochs
        self.pairs_per_row = pairs_per_row
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.initial_rate = initial_rate
        self.averaged = averaged
        self.buffer_size = buffer_size
        self.random_state = random_state

    _buffer: StreamRows | None

    def _learn(self, data: RankingData) -> None:
        steps, rng = self._steps(), self._new_generator()
        sampler = PairSampler(data.pairs, data.X)
        size = self.pairs_per_row * sampler.n_rows + sampler.n_listed
        state = DescentState.fresh(data.X.shape[1])
        for _ in range(self.n_epochs):
            state = descend(data.X, *sampler.draw(size, rng), state, steps)
        self._rng, self._buffer, self._n_seen = rng, None, 0
        self._store(state)
        self.objective_ = self._objective(data)
        self.n_iter_ = int(self.n_epochs)

    def _learn_chunk(self, data: RankingData) -> None:
        """Step along pairs of the rows that arrive, among each other and with the buffer."""
        steps, state = self._steps(), getattr(self, "_state", None)
        if state is None:
            state = DescentState.fresh(data.X.shape[1])
            self._rng, self._buffer, self._n_seen = self._new_generator(), None, 0
        rows, drawn = self._meet(data)
        self._forget("objective_", "n_iter_")
        self._store(descend(rows, *drawn, state, steps))

    def _meet(self, data: RankingData) -> tuple[Any, tuple[Any, Any]]:
        """Pair the rows that arrive with each other and with the buffer; then sample the buffer."""
        n = data.X.shape[0]
        known, pairs, X = 0, data.pairs, data.X
        if data.relevance is not None:
            codes, ids = query_codes(data.qid, n)
            qid = [_NO_QUERY] * n if data.qid is None else [ids[code] for code in codes]
            rows = StreamRows(X, data.relevance, qid, data.sample_weight)
            if self._buffer is not None:
                known = len(self._buffer)
                rows = self._buffer.followed_by(rows)
            pairs = PairSet.from_labels(rows.relevance, rows.qid, rows.weights)
            pairs = pairs + _moved(data.pairs, known, len(rows))
            X = rows.X
            self._sample(rows, n)
        sampler = PairSampler(pairs, X, np.arange(X.shape[0]) >= known)
        size = sampler.n_listed
        if sampler.mass > sampler.listed_mass:
            size += self.pairs_per_row * n
        if size == 0:
            return X, (np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp))
        return X, sampler.draw(size, self._rng)

    def _sample(self, rows: StreamRows, n_new: int) -> None:
        """Keep each row seen so far with the same probability."""
        known = len(rows) - n_new
        places = list(range(known))
        slots = self._rng.integers(0, self._n_seen + 1 + np.arange(n_new))
        for row, slot in zip(range(known, len(rows)), slots, strict=True):
            if len(places) < self.buffer_size:
                places.append(row)
            elif slot < self.buffer_size:
                places[slot] = row
        self._n_seen += n_new
        self._buffer = rows.take(np.array(places, dtype=np.intp)) if places else None

    def _check_parameters(self) -> None:
        require_positive("alpha", self.alpha)
        for name in ("n_epochs", "pairs_per_row", "batch_size"):
            require_count(name, getattr(self, name))
        require_count("buffer_size", self.buffer_size, 0)
        if self.initial_rate is not None:
            require_positive("initial_rate", self.initial_rate)
        require_choice("loss", self.loss, HINGE_LOSSES)
        require_choice("learning_rate", self.learning_rate, RATES)

    def _steps(self) -> PairSteps:
        return PairSteps(
            float(self.alpha),
            self.loss,
            int(self.batch_size),
            self.learning_rate,
            self.initial_rate,
        )

    def _store(self, state: DescentState) -> None:
        self._state = state
        self.coef_ = np.array(state.average if self.averaged else state.coef)
        self.n_steps_ = state.n_steps

    def _objective(self, data: RankingData) -> float:
        loss = pair_loss(self.loss, data.pairs).at(np.asarray(data.X @ self.coef_)).value
        return float(0.5 * self.alpha * self.coef_ @ self.coef_ + loss / data.pairs.total_weight)


def _moved(pairs: PairSet, places: int, n_items: int) -> PairSet:
    """The stated pairs of rows that now stand so many places further on."""
    if pairs.listed is None:
        return PairSet(n_items)
    both = np.c_[pairs.listed.winners, pairs.listed.losers] + places
    return PairSet.from_pairs(both, n_items, pairs.listed.weights)
