"""Decoding by networks that are not trained, against slow references that compute all anew."""

import math
from itertools import product

import numpy as np
import pytest
import torch
from torch import nn

from spacy_flat.nn.layers import sinusoids
from spacy_flat.translator.batch import PaddedKeys, TranslationBatch, like_lengths
from spacy_flat.translator.decoding import BeamSearch, Hypothesis, SourceKeys, decode, search
from spacy_flat.translator.keys import END, NAMES, START
from spacy_flat.translator.network import (
    BUCKETS,
    DecoderState,
    DistanceBias,
    Seq2Seq,
    Seq2SeqSizes,
    distance_buckets,
)
from spacy_flat.translator.options import Seq2SeqOptions
from spacy_flat.util.arrays import Ints

N_PLACEHOLDERS = 2
FIRST = NAMES + N_PLACEHOLDERS  # key of the first piece
SMALL = {"width": 16, "num_heads": 2, "ff_width": 32, "encoder_layers": 2, "decoder_layers": 2}
KINDS = [
    {"positions": positions, "norm": norm}
    for positions in ("sinusoidal", "learned", "relative")
    for norm in ("pre", "post")
]


def network(n_pieces: int = 12, seed: int = 0, **options: object) -> Seq2Seq:
    torch.manual_seed(seed)
    sizes = Seq2SeqSizes(30, FIRST + n_pieces, shared=False)
    made = Seq2Seq(Seq2SeqOptions(**{**SMALL, **options}), sizes).eval()  # type: ignore[arg-type]
    with torch.no_grad():
        made.target.weight.mul_(3)  # so that the scores of keys differ more
        for bias in (made.encoder_bias, made.decoder_bias):
            if bias.table is not None:
                bias.table.normal_()
    return made.requires_grad_(False)


def sentences(*lengths: int, seed: int = 0) -> list[Ints]:
    rng = np.random.default_rng(seed)
    return [np.array([*rng.integers(FIRST, 30, size=length), END]) for length in lengths]


def log_prob_of_next(network: Seq2Seq, source: Ints, written: list[int]) -> torch.Tensor:
    """[K] with everything computed anew."""
    target = np.array([START, *written, END])
    scores = network(TranslationBatch.of(np.array([0]), [source], [target]))
    return scores[-1].double().log_softmax(0)


def allowed(
    network: Seq2Seq,
    source: SourceKeys,
    how: BeamSearch,
    written: list[int],
    log_probs: torch.Tensor,
) -> set[int]:
    """The keys that may come next. Where a sentence would end before all of its names are written,
    one of these comes next."""
    longest = int(how.max_ratio * len(source.keys)) + 10 + source.n_names
    due = set(range(NAMES, NAMES + source.n_names)) - set(written)
    keys = set(range(FIRST, network.n_keys)) | due
    if longest - len(written) <= len(due) + 1:
        keys = due or {END}
    n = how.no_repeat_ngram
    if n:
        before = {tuple(written[i : i + n]) for i in range(len(written) - n + 1)}
        recent = written[len(written) - n + 1 :]
        keys -= {key for key in range(FIRST, network.n_keys) if (*recent, key) in before}
    if not due:
        return keys | ({END} if written else set())
    would_end = written and all(log_probs[END] > log_probs[key] for key in keys)
    return due if would_end else keys


def beam_search(network: Seq2Seq, source: SourceKeys, how: BeamSearch) -> list[Hypothesis]:
    """Of the best continuations of W hypotheses, those among the first W that end have ended, and
    W others go on, until W have ended."""
    W = how.beam
    going: list[tuple[float, list[int]]] = [(0.0, [])]
    ended: list[Hypothesis] = []
    while going and len(ended) < W:
        longer = []
        for score, written in going:
            log_probs = log_prob_of_next(network, source.keys, written)
            for key in allowed(network, source, how, written, log_probs):
                longer.append((score + float(log_probs[key]), [*written, key]))
        longer.sort(key=lambda each: -each[0])
        for score, written in longer[:W]:
            if written[-1] == END:
                penalty = ((5 + len(written)) / 6) ** how.length_penalty
                ended.append(Hypothesis(written[:-1], score / penalty))
        going = [each for each in longer if each[1][-1] != END][:W]
    return sorted(ended, key=lambda each: -each.score)[:W]


def as_torch(net: Seq2Seq, norm: str) -> nn.Transformer:
    """torch's own Transformer with the same weights."""
    theirs = nn.Transformer(16, 2, 2, 2, 32, 0.0, batch_first=True, norm_first=norm == "pre").eval()
    weights = {}
    for side in ("encoder", "decoder"):
        if norm == "post":
            getattr(theirs, side).norm = None
        for key, value in getattr(net, f"{side}_norm").state_dict().items():
            weights[f"{side}.norm.{key}"] = value
        for number, layer in enumerate(getattr(net, side)):
            names = {
                "linear1": layer.ff[0],
                "linear2": layer.ff[3],
                "norm1": layer.around_attention.norm,
                "self_attn.out_proj": layer.attention.output,
            }
            attentions = {"self_attn": layer.attention}
            if side == "encoder":
                names |= {"norm2": layer.around_ff.norm}
            else:
                attentions["multihead_attn"] = layer.source_attention
                names |= {"norm2": layer.around_source.norm, "norm3": layer.around_ff.norm}
                names |= {"multihead_attn.out_proj": layer.source_attention.output}
            for name, part in names.items():
                for key, value in part.state_dict().items():
                    weights[f"{side}.layers.{number}.{name}.{key}"] = value
            for name, own in attentions.items():
                for key in ("weight", "bias"):
                    both = [getattr(each, key) for each in (own.to_queries, own.to_keys_values)]
                    weights[f"{side}.layers.{number}.{name}.in_proj_{key}"] = torch.cat(both)
    theirs.load_state_dict(weights)
    return theirs


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_it_is_the_published_network(norm: str) -> None:
    """Vaswani et al. (2017), as torch computes it: embeddings times the root of the width, and
    sinusoids; what is predicted by the embeddings of the target."""
    net = network(norm=norm)
    for each in net.parameters():
        each += 0.1 * torch.randn_like(each)
    sources = sentences(2, 5)
    targets = [np.array([START, 6, 7, 9, END]), np.array([START, 8, END])]
    batch = TranslationBatch.of(np.array([0, 1]), sources, targets)

    def embed(table: nn.Embedding, keys: Ints) -> torch.Tensor:
        return table(torch.from_numpy(keys)) * 4 + sinusoids(torch.arange(keys.shape[1]), 16)

    hidden = as_torch(net, norm)(
        embed(net.source, batch.source.keys),
        embed(net.target, batch.inputs.keys),
        tgt_mask=torch.ones(4, 4).triu(1).bool(),
        src_key_padding_mask=torch.from_numpy(~batch.source.present),
        memory_key_padding_mask=torch.from_numpy(~batch.source.present),
    )[torch.from_numpy(batch.inputs.present)]
    assert torch.allclose(net(batch), hidden @ net.target.weight.T + net.bias, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_cached_is_uncached(kind: dict[str, str]) -> None:
    """One place at a time gives the scores of all at once, also beyond the first room."""
    net = network(**kind)
    sources = sentences(5, 3, 9)
    rng = np.random.default_rng(1)
    targets = [np.array([START, *rng.integers(FIRST, 17, size=n), END]) for n in (70, 6, 40)]
    batch = TranslationBatch.of(np.arange(3), sources, targets)
    state = net.begin(PaddedKeys.of(sources), 1)
    steps = [net.scores(net.write(keys[:, None], state)) for keys in batch.inputs.keys.T]
    found = torch.stack(steps, dim=1)[torch.from_numpy(batch.inputs.present)]
    assert torch.allclose(found, net(batch), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_padding_changes_nothing(kind: dict[str, str]) -> None:
    net = network(**kind)
    sources = sentences(2, 30)
    targets = [np.array([START, 6, 7, END]), np.array([START, *[8] * 40, END])]
    both = net(TranslationBatch.of(np.array([0, 1]), sources, targets))
    alone = net(TranslationBatch.of(np.array([0]), sources, targets))
    assert torch.allclose(both[: len(alone)], alone, atol=1e-5)


def test_order_matters_to_all_kinds_of_positions() -> None:
    for kind in KINDS:
        net = network(**kind)
        target = np.array([START, 6, 7, END])
        forth, back = (
            net(TranslationBatch.of(np.array([0]), [np.array(keys)], [target]))
            for keys in ([8, 9, 10, END], [10, 9, 8, END])
        )
        assert not torch.allclose(forth, back, atol=1e-3)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "how",
    [
        *(BeamSearch(), BeamSearch(no_repeat_ngram=2), BeamSearch(max_ratio=0.1)),  # greedy ones
        *(BeamSearch(2), BeamSearch(4, 0.0, 0.3, 1), BeamSearch(5, 2.0, 0.1, 2)),
    ],
)
def test_a_beam_is_what_it_is_in_plain_words(how: BeamSearch, seed: int) -> None:
    net = network(seed=seed)
    net.bias[END] += 1
    sources = [SourceKeys(keys, n) for n, keys in enumerate(sentences(6, 3, 4, seed=seed))]
    found = search(net, sources, how, N_PLACEHOLDERS)
    for own, source in zip(found, sources, strict=True):
        expected = beam_search(net, source, how)
        assert [each.keys for each in own] == [each.keys for each in expected]
        scores = [each.score for each in expected]
        assert [each.score for each in own] == pytest.approx(scores, abs=1e-4)


@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
@pytest.mark.parametrize("n_names", [0, 1])
def test_a_wide_beam_is_exhaustive(length_penalty: float, n_names: int) -> None:
    """With room for all hypotheses, the best of all are found, in their order."""
    net = network(n_pieces=3)
    (source,) = sentences(2)
    how = BeamSearch(100, length_penalty, max_ratio=0.01, no_repeat_ngram=0)
    longest = 4
    keys = [*range(FIRST, FIRST + 3), *range(NAMES, NAMES + n_names)]
    expected = []
    for length in range(1, longest):
        for written in map(list, product(keys, repeat=length)):
            if [written.count(name) for name in range(NAMES, NAMES + n_names)] != [1] * n_names:
                continue
            log_prob = sum(
                float(log_prob_of_next(net, source, written[:place])[key])
                for place, key in enumerate([*written, END])
            )
            penalty = ((5 + length + 1) / 6) ** length_penalty
            expected.append(Hypothesis(written, log_prob / penalty))
    expected.sort(key=lambda each: -each.score)

    class Short(BeamSearch):
        def longest(self, source: SourceKeys) -> int:
            return longest

    short = Short(**vars(how))
    (found,) = search(net, [SourceKeys(source, n_names)], short, N_PLACEHOLDERS)
    assert len(found) == len(expected)
    assert [each.keys for each in found[:20]] == [each.keys for each in expected[:20]]
    assert [each.score for each in found] == pytest.approx(
        [each.score for each in expected], abs=1e-4
    )


@pytest.mark.parametrize("beam", [1, 4])
def test_batches_change_nothing(beam: int) -> None:
    """Sentences of other lengths, with other names, in any order and batches."""
    net = network()
    sources = [SourceKeys(keys, i % 3) for i, keys in enumerate(sentences(9, 2, 14, 5, 5, 1, 30))]
    how = BeamSearch(beam)
    alone = [search(net, [source], how, N_PLACEHOLDERS)[0] for source in sources]
    for batch_size in (1, 40, 10_000):
        found = dict(decode(net, sources, how, N_PLACEHOLDERS, batch_size))
        for number, expected in enumerate(alone):
            assert [each.keys for each in found[number]] == [each.keys for each in expected]
            scores = [each.score for each in expected]
            assert [each.score for each in found[number]] == pytest.approx(scores, abs=1e-4)
    assert list(decode(net, [], how, N_PLACEHOLDERS, 100)) == []


@pytest.mark.parametrize("beam", [1, 5])
def test_each_placeholder_once(beam: int) -> None:
    """Whatever the network would like, and however little room there is."""
    for seed, ratio in product(range(4), (0.01, 2.0)):
        net = network(seed=seed)
        net.bias[NAMES] += 20 * (-1) ** seed  # very likely, or very unlikely
        sources = [SourceKeys(keys, n) for n, keys in enumerate(sentences(4, 4, 4))]
        for n, own in enumerate(search(net, sources, BeamSearch(beam, 1.0, ratio), 2)):
            for each in own:
                names = sorted(key for key in each.keys if key < FIRST)
                assert names == list(range(NAMES, NAMES + n))


def test_length_is_bounded() -> None:
    net = network()
    net.bias[END] -= 100
    sources = [SourceKeys(keys, 1) for keys in sentences(4, 20)]
    for beam in (1, 3):
        how = BeamSearch(beam, max_ratio=1.5)
        for source, own in zip(sources, search(net, sources, how, 2), strict=True):
            # With its end mark, a sentence of n has 1.5 n + 10 and its name.
            assert len(own[0].keys) + 1 == int(1.5 * len(source.keys)) + 11


def test_never_empty() -> None:
    net = network()
    net.bias[END] += 100
    for beam in (1, 3):
        assert all(
            own[0].keys for own in search(net, [SourceKeys(sentences(3)[0])], BeamSearch(beam), 2)
        )


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_sequence_comes_twice(beam: int, size: int) -> None:
    net = network(n_pieces=40)
    net.bias[END] -= 100
    source = SourceKeys(sentences(12)[0])
    for each in search(net, [source], BeamSearch(beam, no_repeat_ngram=size), 2)[0]:
        ngrams = [tuple(each.keys[i : i + size]) for i in range(len(each.keys) - size + 1)]
        assert len(ngrams) == len(set(ngrams)) > 20
    (free,) = search(net, [source], BeamSearch(beam, no_repeat_ngram=0), 2)
    ngrams = [tuple(free[0].keys[i : i + size]) for i in range(len(free[0].keys) - size + 1)]
    assert len(ngrams) > len(set(ngrams))


def test_a_lower_penalty_prefers_shorter_hypotheses() -> None:
    assert BeamSearch(length_penalty=0).score(-6.0, 7) == -6
    assert BeamSearch(length_penalty=1).score(-6.0, 7) == -3
    assert BeamSearch(length_penalty=0.5).score(-6.0, 7) == pytest.approx(-6 / math.sqrt(2))


def test_scores_that_are_not_numbers() -> None:
    net = network()
    net.bias[:] = math.nan
    with pytest.raises(ValueError, match=r"F240.*NaN"):
        search(net, [SourceKeys(sentences(3)[0])], BeamSearch(), 2)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("beam", value) for value in (0, 101, 1.5, True, "2")),
        *(("length_penalty", value) for value in (-1, 10.1, math.inf, math.nan, "1")),
        *(("max_ratio", value) for value in (0, 0.009, 100.1, math.inf, None)),
        *(("no_repeat_ngram", value) for value in (-1, 2.0)),
    ],
)
def test_impossible_ways_of_decoding(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"F341.*{name}"):
        BeamSearch(**{name: value})  # type: ignore[arg-type]


def test_memory_is_bounded_whatever_the_beam(monkeypatch: pytest.MonkeyPatch) -> None:
    """A beam of W makes W rows of each sentence: so many fewer sentences are computed at once."""
    net = network()
    begin = net.begin
    n_computed = []

    def count(source: PaddedKeys, beam: int, upstream: None) -> DecoderState:
        n_computed.append(source.keys.size * beam)
        return begin(source, beam)

    monkeypatch.setattr(net, "begin", count)
    sources = [SourceKeys(keys) for keys in sentences(*[7] * 40)]
    for beam in (1, 4, 10):
        n_computed.clear()
        assert len(list(decode(net, sources, BeamSearch(beam), N_PLACEHOLDERS, 160))) == 40
        assert max(n_computed) == 160


def test_like_lengths_are_together() -> None:
    lengths = np.array([[3, 4], [10, 4], [2, 9], [3, 4], [50, 60]])
    found = [rows.tolist() for rows in like_lengths(lengths, 28)]
    assert found == [[4], [2], [1, 3], [0]] or found == [[4], [2], [1], [3, 0]]
    assert sorted(row for rows in found for row in rows) == list(range(5))
    assert [rows.tolist() for rows in like_lengths(lengths[:0], 28)] == []


def test_buckets_of_distances() -> None:
    found = distance_buckets(torch.arange(1000))
    assert found[: BUCKETS // 2].tolist() == list(range(BUCKETS // 2))
    # As in T5: the others share a scale of logarithms from 16 to 128, whose steps are 16.
    far = [16 + int(16 * math.log(n / 16) / math.log(8)) for n in range(16, 128)]
    assert found[16:128].tolist() == far
    assert found[128:].unique().tolist() == [BUCKETS - 1]


@pytest.mark.parametrize("both_ways", [True, False])
def test_biases_of_distances(both_ways: bool) -> None:
    """Those to the left have other numbers than those to the right, or there are none."""
    bias = DistanceBias(Seq2SeqOptions(num_heads=2, width=4, positions="relative"), both_ways)
    assert bias.table is not None
    table = nn.init.normal_(bias.table).detach()
    found = bias(3, 40)
    for query, key in product(range(3), range(40)):
        distance = 37 + query - key
        bucket = distance_buckets(torch.tensor(abs(distance)))
        if distance < 0:
            expected = table[:, BUCKETS + bucket] if both_ways else torch.tensor(-math.inf)
        else:
            expected = table[:, bucket]
        assert (found[0, :, query, key] == expected).all()
