"""The CRF against enumeration of all paths, and plain autograd in log space."""

import itertools
import math
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from spacy_flat.ner.tags import TagSet
from spacy_flat.nn import crf as crf_module
from spacy_flat.nn.crf import CRF, TeacherScores


def constrained(n_labels: int, seed: int = 0, scale: float = 1.0) -> CRF:
    """A CRF over the tags of labels with random scores, of forbidden transitions too."""
    tags = TagSet([f"L{i}" for i in range(n_labels)])
    crf = CRF(len(tags), tags.allowed_transitions, tags.allowed_starts, tags.allowed_ends)
    return randomised(crf, seed, scale)


def randomised(crf: CRF, seed: int, scale: float) -> CRF:
    random = torch.Generator().manual_seed(seed)
    for parameter in crf.parameters():
        parameter.data = scale * torch.randn(parameter.shape, generator=random)
    return crf


def batch(
    crf: CRF, lengths: list[int], seed: int = 0, scale: float = 1.0
) -> tuple[Tensor, Tensor, Tensor]:
    """Random float64 emissions [B, C, K], random legal tags [B, C], and the lengths [B]."""
    random = torch.Generator().manual_seed(seed)
    shape = (len(lengths), max(max(lengths), 1), len(crf.starts))
    emissions = scale * torch.randn(shape, generator=random, dtype=torch.float64)
    tags = torch.zeros(shape[:2], dtype=torch.int64)
    for row, n in enumerate(lengths):
        for t in range(n):  # any legal tag, of the last one any that may end; "O" may follow those
            following = crf.allowed_transitions[tags[row, t - 1]] if t else crf.allowed_starts
            if t == n - 1:
                following = following & crf.allowed_ends
            tags[row, t] = following.double().multinomial(1, generator=random)
    return emissions, tags, torch.tensor(lengths)


def known(crf: CRF, tags: Tensor) -> Tensor:
    """Exactly these tags [B, C] are allowed: bool [B, C, K]."""
    return tags[:, :, None] == torch.arange(len(crf.starts))


def legal_paths(crf: CRF, length: int) -> Iterator[tuple[int, ...]]:
    for path in itertools.product(range(len(crf.starts)), repeat=length):
        if is_legal(crf, path):
            yield path


def is_legal(crf: CRF, path: tuple[int, ...]) -> bool:
    return (
        bool(crf.allowed_starts[path[0]])
        and bool(crf.allowed_ends[path[-1]])
        and all(bool(crf.allowed_transitions[i, j]) for i, j in itertools.pairwise(path))
    )


def path_score(crf: CRF, emissions: Tensor, path: tuple[int, ...]) -> Tensor:
    """Score of one path over emissions [n, K], as the formula has it."""
    score = crf.starts[path[0]].double() + crf.ends[path[-1]].double()
    for t, tag in enumerate(path):
        score = score + emissions[t, tag].double()
    for i, j in itertools.pairwise(path):
        score = score + crf.transitions[i, j].double()
    return score


def slow_log_likelihood(crf: CRF, emissions: Tensor, tags: Tensor, lengths: Tensor) -> Tensor:
    """Row by row and step by step in log space, differentiated by autograd."""
    transitions = crf.transitions.double().masked_fill(~crf.allowed_transitions, -math.inf)
    results = []
    for row, gold, n in zip(emissions.double(), tags.tolist(), lengths.tolist(), strict=True):
        if n == 0:
            results.append(row[0, 0] * 0)
            continue
        state = crf.starts.double().masked_fill(~crf.allowed_starts, -math.inf) + row[0]
        for t in range(1, n):
            # Only what is possible is summed: the derivative of logsumexp at all -inf is NaN.
            before = (state[:, None] + transitions).T
            state = torch.stack([_finite_logsumexp(scores) for scores in before]) + row[t]
        log_partition = _finite_logsumexp(
            state + crf.ends.double().masked_fill(~crf.allowed_ends, -math.inf)
        )
        results.append(path_score(crf, row, tuple(gold[:n])) - log_partition)
    return torch.stack(results)


def _finite_logsumexp(scores: Tensor) -> Tensor:
    possible = scores[scores > -math.inf]
    return possible.logsumexp(0) if len(possible) else scores.new_tensor(-math.inf)


def log_likelihood(crf: CRF, emissions: Tensor, allowed: Tensor, lengths: Tensor) -> Tensor:
    return crf.likelihood_and_marginals(emissions, allowed, lengths)[0]


def marginals(crf: CRF, emissions: Tensor, lengths: Tensor) -> Tensor:
    every = torch.ones(emissions.shape, dtype=torch.bool)
    return crf.likelihood_and_marginals(emissions, every, lengths)[1]


def gradients(crf: CRF, emissions: Tensor, log_likelihood: Tensor) -> list[Tensor]:
    """Of a sum with a different weight for each row."""
    weights = torch.arange(1.0, len(log_likelihood) + 1, dtype=log_likelihood.dtype)
    return list(
        torch.autograd.grad(
            weights @ log_likelihood, [emissions, *crf.parameters()], materialize_grads=True
        )
    )


def assert_equals_slow(crf: CRF, emissions: Tensor, tags: Tensor, lengths: Tensor) -> None:
    crf.double()  # or autograd would add up the reference's gradients in float32
    emissions.requires_grad_()
    fast = log_likelihood(crf, emissions, known(crf, tags), lengths)
    slow = slow_log_likelihood(crf, emissions, tags, lengths)
    torch.testing.assert_close(fast, slow, rtol=1e-8, atol=1e-8)
    for ours, theirs in zip(
        gradients(crf, emissions, fast), gradients(crf, emissions, slow), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-8)


# Likelihood and gradients


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_marginals_are_those_of_enumeration(n: int) -> None:
    crf = constrained(2)
    emissions, _, lengths = batch(crf, [n], scale=2)
    paths = list(legal_paths(crf, n))
    scores = torch.stack([path_score(crf, emissions[0], path) for path in paths]).detach()
    one_hot = torch.nn.functional.one_hot(torch.tensor(paths), len(crf.starts)).double()
    expected = (scores.softmax(0)[:, None, None] * one_hot).sum(0)
    torch.testing.assert_close(marginals(crf, emissions, lengths)[0], expected)


@pytest.mark.parametrize("scale", [1.0, 40.0, 1000.0])
def test_long_sequences_equal_plain_autograd(scale: float) -> None:
    crf = constrained(2)
    assert_equals_slow(crf, *batch(crf, [60, 33], scale=scale))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**16), st.floats(1, 160), st.sampled_from([0.1, 0.5, 0.9]))
def test_scaled_form_is_exact_wherever_it_is_chosen(seed: int, spread: float, share: float) -> None:
    """Emissions at the ends of the range put the form that works on probabilities to the test."""
    crf = constrained(3, seed, scale=0.0)
    random = torch.Generator().manual_seed(seed)
    shape = (2, 40, len(crf.starts))
    emissions = spread * (torch.rand(shape, generator=random) < share).double()
    with torch.no_grad():
        scores = crf._scores(emissions, torch.tensor([40, 23]))
        chosen = crf_module._posterior(scores)
        exact = crf_module._log_posterior(scores)
    for ours, theirs in zip(chosen, exact, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-8, atol=1e-12)


# Divergence


def divergence(crf: CRF, first: Tensor, second: Tensor, lengths: Tensor) -> Tensor:
    both = torch.cat([first, second])
    return crf.divergence(both, marginals(crf, both, lengths.repeat(2)))


def test_divergence_is_that_of_all_legal_paths() -> None:
    crf = constrained(1).double()
    first, _, lengths = batch(crf, [4, 2, 1, 0], scale=2)
    second, *_ = batch(crf, [4, 2, 1, 0], seed=1, scale=2)
    expected = []
    for ours, theirs, n in zip(first, second, lengths.tolist(), strict=True):
        paths = list(legal_paths(crf, n)) if n else []
        p, q = (
            torch.stack([path_score(crf, row, path) for path in paths]).log_softmax(0)
            if paths
            else torch.zeros(1)
            for row in (ours, theirs)
        )
        expected.append(((p.exp() - q.exp()) * (p - q)).sum() / 2)
    found = divergence(crf, first, second, lengths)
    torch.testing.assert_close(found, torch.stack(expected).detach().double())
    torch.testing.assert_close(divergence(crf, second, first, lengths), found)
    assert not divergence(crf, first, first, lengths).any()


# Partial annotation


def enumerated(crf: CRF, emissions: Tensor, allowed: Tensor, lengths: Tensor) -> Tensor:
    """Log-share of the allowed ones among all legal paths, which are listed one by one."""
    results = []
    for row, tags, n in zip(emissions, allowed.tolist(), lengths.tolist(), strict=True):
        if n == 0:
            results.append(row[0, 0] * 0)
            continue
        paths = list(legal_paths(crf, n))
        scores = torch.stack([path_score(crf, row, path) for path in paths])
        agree = [all(tags[t][tag] for t, tag in enumerate(path)) for path in paths]
        results.append(scores[torch.tensor(agree)].logsumexp(0) - scores.logsumexp(0))
    return torch.stack(results)


def partly_known(tags: Tensor, n_tags: int, share: float, seed: int) -> Tensor:
    """The given tags, and each other tag with some probability."""
    random = torch.Generator().manual_seed(seed)
    allowed = torch.rand((*tags.shape, n_tags), generator=random) < share
    return allowed | (tags[:, :, None] == torch.arange(n_tags))


def assert_equals_enumeration(
    crf: CRF, emissions: Tensor, allowed: Tensor, lengths: Tensor
) -> None:
    crf.double()
    emissions.requires_grad_()
    found = log_likelihood(crf, emissions, allowed, lengths)
    expected = enumerated(crf, emissions, allowed, lengths)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    for ours, theirs in zip(
        gradients(crf, emissions, found), gradients(crf, emissions, expected), strict=True
    ):
        torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 4), min_size=1, max_size=4),
    seed=st.integers(0, 2**16),
    scale=st.sampled_from([0.0, 1.0, 30.0, 500.0]),
    share=st.sampled_from([0.0, 0.2, 0.6, 1.0]),
)
def test_partial_likelihood_and_gradients_equal_enumeration(
    lengths: list[int], seed: int, scale: float, share: float
) -> None:
    """Rows that are known, partly known and unknown, in one batch."""
    crf = constrained(1, seed)
    emissions, tags, n = batch(crf, lengths, seed, scale)
    allowed = partly_known(tags, len(crf.starts), share, seed)
    allowed[::3] = known(crf, tags)[::3]
    assert_equals_enumeration(crf, emissions, allowed, n)


@pytest.mark.parametrize(("high", "width"), [(90.0, 10), (20.0, 45), (2.0, 450), (2.0, 10)])
def test_paths_that_a_mask_keeps_apart_are_both_counted(high: float, width: int) -> None:
    """An entity with an open label: two paths that never meet. One is exp(900) times as probable
    up to the last unit, where only the other may go on."""
    crf = constrained(2, scale=0.0)
    names = TagSet(["L0", "L1"]).names
    entities = [
        [names.index(f"{role}-{label}") for role in ("B", *"I" * width, "E")]
        for label in ("L0", "L1")
    ]
    (_, gold), both = entities, known(crf, torch.tensor(entities))
    allowed = both.any(0, keepdim=True)
    allowed[:, -1] = both[1, -1]
    emissions = torch.zeros(allowed.shape, dtype=torch.float64)
    emissions[0, :, names.index("I-L0")] = high
    lengths = torch.tensor([width + 2])
    torch.testing.assert_close(
        log_likelihood(crf, emissions, allowed, lengths),
        log_likelihood(crf, emissions, known(crf, torch.tensor([gold])), lengths),
    )


# Padding, lengths, dtypes


@pytest.mark.parametrize("rubbish", [math.nan, math.inf, -math.inf, 1e30])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_padding_is_not_read(rubbish: float, scale: float) -> None:
    crf = constrained(2)
    emissions, tags, lengths = batch(crf, [5, 0, 3, 1], scale=scale)
    padded = torch.full((4, 9, len(crf.starts)), rubbish, dtype=torch.float64)
    padded_tags = torch.full((4, 9), -100)
    for row, n in enumerate(lengths.tolist()):
        padded[row, :n] = emissions[row, :n]
        padded_tags[row, :n] = tags[row, :n]
    emissions.requires_grad_()
    padded.requires_grad_()

    expected = log_likelihood(crf, emissions, known(crf, tags), lengths)
    found = log_likelihood(crf, padded, known(crf, padded_tags), lengths)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    theirs, ours = gradients(crf, emissions, expected), gradients(crf, padded, found)
    assert not ours[0][:, 5:].any()
    torch.testing.assert_close(ours[0][:, :5], theirs[0], rtol=1e-12, atol=1e-12)
    for a, b in zip(ours[1:], theirs[1:], strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)
    shares = marginals(crf, padded, lengths)
    assert not shares[:, 5:].any()
    torch.testing.assert_close(shares[:, :5], marginals(crf, emissions, lengths))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_lower_precision_only_rounds_the_emissions(dtype: torch.dtype) -> None:
    crf = constrained(2)
    emissions, tags, lengths = batch(crf, [40, 17], scale=5)
    rounded = emissions.to(dtype).requires_grad_()
    found = log_likelihood(crf, rounded, known(crf, tags), lengths)
    assert found.dtype is torch.float32
    torch.testing.assert_close(
        found,
        log_likelihood(crf, rounded.double(), known(crf, tags), lengths).float(),
        rtol=0,
        atol=0,
    )
    torch.autograd.backward(found.sum())
    assert rounded.grad is not None
    assert rounded.grad.dtype is dtype


def test_a_teacher_says_how_probable_the_allowed_paths_are() -> None:
    own, other = constrained(1, 1), constrained(1, 2)
    emissions, tags, lengths = batch(own, [4, 1, 3])
    theirs, _, _ = batch(own, [4, 1, 3], seed=5)
    allowed = known(own, tags) | (torch.rand(*tags.shape, 5) < 0.6)
    allowed[2] = True
    found, _ = own.likelihood_and_marginals(
        emissions, allowed, lengths, TeacherScores(other, theirs)
    )
    for row, n in enumerate(lengths.tolist()):
        every = list(legal_paths(own, n))
        ours = torch.stack([path_score(own, emissions[row], each) for each in every])
        wanted = torch.stack([path_score(other, theirs[row], each) for each in every])
        agree = torch.tensor([all(allowed[row, t, tag] for t, tag in enumerate(p)) for p in every])
        wanted = wanted[agree].log_softmax(0)
        divergence = wanted.exp() @ (wanted - ours.log_softmax(0)[agree])
        assert found[row].item() == pytest.approx(-divergence.item())
    same, _ = own.likelihood_and_marginals(
        emissions, allowed, lengths, TeacherScores(own, emissions)
    )
    torch.testing.assert_close(same, log_likelihood(own, emissions, allowed, lengths))
