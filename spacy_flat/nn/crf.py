"""The likelihood of a linear-chain conditional random field (Lafferty et al., 2001), for training.

Shapes: B sequences, C units (characters or words), K tags. Inside this module every sequence ends
with the tag K, "stop", up to unit C: sequences of all lengths become sequences of C + 1 units,
and no recursion needs a mask.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from ..util.arrays import Bools

_SAFE_STEP = 150.0
"""exp(-150) times a number above `_SMALL` is a normal float64."""

_SMALL = 1e-230


class CRF(nn.Module):
    """Scores whole tag sequences by emissions, transitions, and start and end scores.

    Illegal sequences have probability zero. Everything is computed in float64, for emissions of any
    dtype, and on the CPU where the emissions' device has no float64. Emissions beyond a
    sequence's length are not read at all.

    n_tags: K.
    allowed_transitions: bool [K, K], whether tag j (column) may follow tag i (row).
    allowed_starts, allowed_ends: bool [K].
    `transitions` [K, K] (from, to), `starts` [K] and `ends` [K] are parameters that start at zero.
    """

    allowed_transitions: Tensor
    allowed_starts: Tensor
    allowed_ends: Tensor

    def __init__(
        self, n_tags: int, allowed_transitions: Bools, allowed_starts: Bools, allowed_ends: Bools
    ) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.zeros(n_tags, n_tags))
        self.starts = nn.Parameter(torch.zeros(n_tags))
        self.ends = nn.Parameter(torch.zeros(n_tags))
        # Given by the constructor's arguments, so no part of the state dict.
        for name, mask in (
            ("allowed_transitions", allowed_transitions),
            ("allowed_starts", allowed_starts),
            ("allowed_ends", allowed_ends),
        ):
            self.register_buffer(name, torch.tensor(mask, dtype=torch.bool), persistent=False)

    def likelihood_and_marginals(
        self,
        emissions: Tensor,
        allowed: Tensor,
        lengths: Tensor,
        teacher: TeacherScores | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Log-probability [B] of what is known of the tags, given emissions [B, C, K]; and from the
        same computation, without a gradient, the probability [B, C, K] (float64) of each tag.

        allowed: bool [B, C, K], the tags that agree with the annotation, as from
            `TagSet.allowed`, some legal sequence among them; anything beyond the lengths. Where it
            leaves one tag to every unit, this is the log-probability of that sequence. Otherwise it
            is that of all legal sequences of allowed tags together, the likelihood of a partially
            annotated sequence (Tsuboi et al., 2008, equation 3; Bellare and McCallum, 2007): 0
            where all are allowed.
        lengths: int64 [B]. A length of 0 gives 0.
        teacher: says how probable each of the allowed sequences is. Where several are allowed, the
            likelihood is then the negative Kullback-Leibler divergence of this CRF from it.

        An emission of -inf makes its tag impossible at that unit. The likelihood is float32, or
        float64 where the emissions are; it can be differentiated once. The probabilities are 0
        beyond the lengths, and on the CPU where the emissions' device has no float64.
        """
        device, dtype = emissions.device, torch.promote_types(emissions.dtype, torch.float32)
        emissions, allowed, lengths = _where_exact(emissions, allowed, lengths)
        scores = self._scores(emissions, lengths)
        log_partition, unary = _log_partition(scores)
        likelihood = self._agreeing(scores, allowed, teacher) - log_partition
        return likelihood.to(dtype).to(device), unary[:-1, :, :-1].transpose(0, 1)

    def divergence(self, both: Tensor, marginals: Tensor) -> Tensor:
        """How far two distributions of tag sequences are apart, [B], given emissions [2B, C, K],
        first all of the one, then of the other, and their marginals: the mean of the
        Kullback-Leibler divergences of either from the other.

        As transitions are the same, and normalisers cancel out, it is half of the difference of the
        emissions times that of the marginals. For gradients the latter count as constant: either
        distribution is drawn to the other as it is now.

        Emissions must be finite, also beyond the lengths; where they are not, the result is not.
        """
        first, second = both.chunk(2)
        of_first, of_second = marginals.to(both).chunk(2)
        return ((of_first - of_second) * (first - second)).sum((1, 2)) / 2

    def _scores(self, emissions: Tensor, lengths: Tensor) -> _Scores:
        """The scores of a batch, with the tag "stop"."""
        _, C, K = emissions.shape
        transitions, starts = (part.to(emissions.device) for part in self._masked())
        inside = torch.arange(C + 1, device=lengths.device)[:, None] < lengths
        units = functional.pad(
            emissions.transpose(0, 1).double(), (0, 1, 0, 0, 0, 1), value=-math.inf
        )
        return _Scores(torch.where(inside[:, :, None], units, transitions[K]), transitions, starts)

    def _masked(self) -> tuple[Tensor, Tensor]:
        """The scores [S, S] of transitions and [S] of starts, with the tag "stop"."""
        transitions, starts, ends = (
            parameter.double().masked_fill(~mask, -math.inf)
            for parameter, mask in (
                _where_exact(self.transitions, self.allowed_transitions),
                _where_exact(self.starts, self.allowed_starts),
                _where_exact(self.ends, self.allowed_ends),
            )
        )
        stop = starts.new_full((1, len(starts) + 1), -math.inf)
        stop[0, -1] = 0
        with_ends = torch.cat((transitions, ends[:, None]), 1)
        return torch.cat((with_ends, stop)), functional.pad(starts, (0, 1))

    def _agreeing(self, scores: _Scores, allowed: Tensor, teacher: TeacherScores | None) -> Tensor:
        """Log-sum [B] of the scores of the legal paths of allowed tags; -inf if there is none. With
        a teacher, its lower bound for the teacher's distribution of them.

        Rows with a single path, the usual ones, need no recursion.
        """
        stop = len(self.starts)
        inside = scores.emissions[:-1, :, stop].isneginf()
        n_allowed, first = allowed.sum(2).T, allowed.byte().argmax(2).T
        single = _path_scores(scores, torch.where(inside, first, stop))
        rows = (inside & (n_allowed != 1)).any(0).nonzero()[:, 0]
        if len(rows) == 0:
            return single
        some = functional.pad(allowed[rows].transpose(0, 1), (0, 1, 0, 0, 0, 1), value=True)
        own = scores._replace(emissions=scores.emissions[:, rows].masked_fill(~some, -math.inf))
        if teacher is None:
            return single.index_copy(0, rows, _log_partition(own)[0])
        with torch.no_grad():
            lengths, emissions = inside.sum(0)[rows], _where_exact(teacher.emissions)[0][rows]
            wanted = teacher.crf._scores(emissions, lengths)
            wanted = wanted._replace(emissions=wanted.emissions.masked_fill(~some, -math.inf))
            known = _posterior(wanted)
        bound = known.log_partition + known.mean_score(own) - known.mean_score(wanted)
        return single.index_copy(0, rows, bound)


class TeacherScores(NamedTuple):
    """A CRF that knows what annotation leaves open, and its emissions [B, C, K]."""

    crf: CRF
    emissions: Tensor


def _log_partition(scores: _Scores) -> tuple[Tensor, Tensor]:
    """Log-sum [B] of the scores of all legal paths, and the marginals [T, B, S]."""
    found: tuple[Tensor, Tensor] = _LogPartition.apply(*scores)  # type: ignore[no-untyped-call]
    return found


def _where_exact(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors on a device that has float64."""
    return tensors if has_float64(tensors[0].device) else tuple(each.cpu() for each in tensors)


def has_float64(device: torch.device) -> bool:
    """Whether a device has double precision. Apple's GPUs don't."""
    return device.type != "mps"


class _Scores(NamedTuple):
    """The log-scores of a batch in float64, -inf for what is impossible; T = C + 1, S = K + 1.

    emissions: [T, B, S]. transitions: [S, S] (from, to). starts: [S].
    """

    emissions: Tensor
    transitions: Tensor
    starts: Tensor


class _Posterior(NamedTuple):
    """The results of the forward-backward algorithm.

    log_partition: [B]. unary: [T, B, S] marginals. pairs: [B, S, S] expected counts of transitions.
    """

    log_partition: Tensor
    unary: Tensor
    pairs: Tensor

    def mean_score(self, scores: _Scores) -> Tensor:
        """[B] of the paths, by the scores of the same or another distribution."""
        units, steps, starts = (each.masked_fill(each.isneginf(), 0) for each in scores)
        mean: Tensor = (self.unary * units).sum((0, 2)) + (self.pairs * steps).sum((1, 2))
        return mean + self.unary[0] @ starts


class _LogPartition(torch.autograd.Function):
    """Log-partition [B], and the marginals [T, B, S], its gradients, from the same pass.

    Differentiating through C steps of autograd gives the same numbers several times as slowly.
    """

    @staticmethod
    def forward(
        ctx: Any, emissions: Tensor, transitions: Tensor, starts: Tensor
    ) -> tuple[Tensor, Tensor]:
        posterior = _posterior(_Scores(emissions, transitions, starts))
        ctx.save_for_backward(posterior.unary, posterior.pairs)
        ctx.mark_non_differentiable(posterior.unary)
        ctx.set_materialize_grads(False)  # no zeros for the marginals' gradient
        return posterior.log_partition, posterior.unary

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, _: None) -> tuple[Tensor, Tensor, Tensor]:
        unary, pairs = ctx.saved_tensors
        return grad[:, None] * unary, torch.einsum("b,bij->ij", grad, pairs), grad @ unary[0]


def _path_scores(scores: _Scores, path: Tensor) -> Tensor:
    """Scores [B] of one path [C, B] a sequence, -inf where it is illegal."""
    path = functional.pad(path, (0, 0, 0, 1), value=len(scores.starts) - 1)
    steps = torch.cat((scores.starts[path[:1]], scores.transitions[path[:-1], path[1:]]))
    units = scores.emissions.gather(2, path[:, :, None])[:, :, 0]
    return (steps + units).sum(0)


def _posterior(scores: _Scores) -> _Posterior:
    """Forward-backward, in the fast form where that is exact.

    Two paths may stay apart for any number of units, so that one of them vanishes beside the other.
    But while no probability is below `_SMALL`, none has become 0 either, for a step within
    `_SAFE_STEP` would have shown it. Otherwise the log form is taken.
    """
    inside = scores.emissions[:, :, -1].isneginf()
    units = scores.emissions[:, :, :-1]
    lowest = units.masked_fill(units.isneginf(), math.inf).amin(2)
    spread = torch.where(inside, units.amax(2) - lowest, 0).max()
    steps = scores.transitions
    size = steps.masked_fill(steps.isneginf(), 0).abs().max()
    step = float(spread + 2 * size) + math.log(len(scores.starts))
    posterior = _scaled_posterior(scores) if step <= _SAFE_STEP else None  # also of NaN
    return posterior or _log_posterior(scores)


def _scaled_posterior(scores: _Scores) -> _Posterior | None:
    """Forward-backward on probabilities that are made to sum to 1 (Rabiner, 1989, section V.A).
    None where one is too small to be exact."""
    shift = scores.emissions.amax(2, keepdim=True)
    weights = (scores.emissions - shift).exp_()
    transitions, starts = scores.transitions.exp(), scores.starts.exp()

    # Forwards and backwards in one recursion; a backward state includes its unit's emission.
    both = torch.stack((weights, weights.flip(0)), 1)
    both[0, 0] *= starts
    steps = torch.stack((transitions, transitions.T))
    totals = both.new_empty(*both.shape[:3], 1)
    states = both.unbind(0)  # [2, B, S] each: first the weights, then in place the states
    for t, state in enumerate(states):
        if t > 0:
            state.mul_(torch.bmm(states[t - 1], steps))
        state.div_(torch.sum(state, 2, keepdim=True, out=totals[t]))
    forward, backward = both[:, 0], both[:, 1].flip(0)
    log_partition = (shift + totals[:, 0].log()).sum((0, 2)) + forward[-1, :, -1].log()

    before = torch.cat((starts.expand_as(forward[:1]), forward[:-1] @ transitions))
    joint = before * backward
    total = joint.sum(2, keepdim=True)  # over the tags, and so over the transitions to them
    if not min(both.masked_fill(both == 0, 1).min(), total.min()) >= _SMALL:
        return None  # NaN is not above it either
    pairs = torch.einsum("tbi,tbj->bij", forward[:-1] / total[1:], backward[1:])
    return _Posterior(log_partition, joint / total, transitions * pairs)


def _log_posterior(scores: _Scores) -> _Posterior:
    """Forward-backward on log-probabilities: S times the exponentials, exact for any scores."""
    emissions, transitions, starts = scores
    T, B, S = emissions.shape
    both = torch.stack((emissions, emissions.flip(0)), 1)
    steps = torch.stack((transitions, transitions.T))[:, None]
    before = [torch.stack((starts, torch.zeros_like(starts)))[:, None].expand(2, B, S)]
    for units in both[:-1]:
        before.append(((before[-1] + units)[..., None] + steps).logsumexp(2))
    priors = torch.stack(before)
    forward, backward = (priors + both)[:, 0], (priors + both)[:, 1].flip(0)

    pairs = emissions.new_zeros(B, S, S)
    for t in range(1, T):  # not at once: [T, B, S, S] is large
        joint = forward[t - 1, :, :, None] + transitions + backward[t, :, None]
        pairs += joint.flatten(1).softmax(1).view(B, S, S)
    return _Posterior(forward[-1, :, -1], (priors[:, 0] + backward).softmax(2), pairs)
