"""Decoding by networks that are not trained, against slow references that compute all anew."""

import numpy as np
import pytest
import torch
from torch import nn

from spacy_flat.nn.layers import sinusoids
from spacy_flat.translator.batch import END, NAMES, START, PaddedIds, TranslationBatch
from spacy_flat.translator.decoding import BeamSearch, Hypothesis, Source, search
from spacy_flat.translator.network import Seq2Seq, Seq2SeqSizes
from spacy_flat.translator.options import Seq2SeqOptions
from spacy_flat.util.arrays import Ints

N_PLACEHOLDERS = 2
FIRST = NAMES + N_PLACEHOLDERS  # key of the first piece
SMALL = {"width": 16, "num_heads": 2, "ff_width": 32, "encoder_layers": 2, "decoder_layers": 2}


def network(n_pieces: int = 12, seed: int = 0, **options: object) -> Seq2Seq:
    torch.manual_seed(seed)
    sizes = Seq2SeqSizes(30, FIRST + n_pieces)
    made = Seq2Seq(Seq2SeqOptions(**{**SMALL, **options}), sizes).eval()  # type: ignore[arg-type]
    with torch.no_grad():
        made.target.weight.mul_(3)  # so that the scores of keys differ more
    return made.requires_grad_(False)


def sentences(*lengths: int, seed: int = 0) -> list[Ints]:
    rng = np.random.default_rng(seed)
    return [np.array([*rng.integers(FIRST, 30, size=length), END]) for length in lengths]


def log_prob_of_next(network: Seq2Seq, source: Ints, written: list[int]) -> torch.Tensor:
    """[K] with everything computed anew."""
    target = np.array([START, *written, END])
    scores = network(TranslationBatch.of([source], [target]))
    return scores[-1].double().log_softmax(0)


def allowed(
    network: Seq2Seq, source: Source, how: BeamSearch, written: list[int], log_probs: torch.Tensor
) -> set[int]:
    """The keys that may come next. Where a sentence would end before all of its names are written,
    one of these comes next."""
    longest = int(how.max_ratio * len(source.ids)) + 10 + source.n_names
    due = set(range(NAMES, NAMES + source.n_names)) - set(written)
    keys = set(range(FIRST, network.n_ids)) | due
    if longest - len(written) <= len(due) + 1:
        keys = due or {END}
    n = how.no_repeat_ngram
    if n:
        before = {tuple(written[i : i + n]) for i in range(len(written) - n + 1)}
        recent = written[len(written) - n + 1 :]
        keys -= {key for key in range(FIRST, network.n_ids) if (*recent, key) in before}
    if not due:
        return keys | ({END} if written else set())
    would_end = written and all(log_probs[END] > log_probs[key] for key in keys)
    return due if would_end else keys


def beam_search(network: Seq2Seq, source: Source, how: BeamSearch) -> list[Hypothesis]:
    """Of the best continuations of W hypotheses, those among the first W that end have ended, and
    W others go on, until W have ended."""
    W = how.beam
    going: list[tuple[float, list[int]]] = [(0.0, [])]
    ended: list[Hypothesis] = []
    while going and len(ended) < W:
        longer = []
        for score, written in going:
            log_probs = log_prob_of_next(network, source.ids, written)
            for key in allowed(network, source, how, written, log_probs):
                longer.append((score + float(log_probs[key]), [*written, key]))
        longer.sort(key=lambda each: -each[0])
        for score, written in longer[:W]:
            if written[-1] == END:
                penalty = ((5 + len(written)) / 6) ** how.length_penalty
                ended.append(Hypothesis(written[:-1], score / penalty))
        going = [each for each in longer if each[1][-1] != END][:W]
    return sorted(ended, key=lambda each: -each.score)[:W]


def as_torch(net: Seq2Seq) -> nn.Transformer:
    """torch's own Transformer with the same weights."""
    theirs = nn.Transformer(16, 2, 2, 2, 32, 0.0, batch_first=True, norm_first=True).eval()
    weights = {}
    for side in ("encoder", "decoder"):
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
def test_it_is_the_published_network() -> None:
    """Vaswani et al. (2017), as torch computes it: embeddings times the root of the width, and
    sinusoids; what is predicted by the embeddings of the target."""
    net = network()
    for each in net.parameters():
        each += 0.1 * torch.randn_like(each)
    sources = sentences(2, 5)
    targets = [np.array([START, 6, 7, 9, END]), np.array([START, 8, END])]
    batch = TranslationBatch.of(sources, targets)

    def embed(table: nn.Embedding, keys: Ints) -> torch.Tensor:
        return table(torch.from_numpy(keys)) * 4 + sinusoids(torch.arange(keys.shape[1]), 16)

    hidden = as_torch(net)(
        embed(net.source, batch.source.ids),
        embed(net.target, batch.inputs.ids),
        tgt_mask=torch.ones(4, 4).triu(1).bool(),
        src_key_padding_mask=torch.from_numpy(~batch.source.present),
        memory_key_padding_mask=torch.from_numpy(~batch.source.present),
    )[torch.from_numpy(batch.inputs.present)]
    assert torch.allclose(net(batch), hidden @ net.target.weight.T + net.bias, atol=1e-4)


def test_cached_is_uncached() -> None:
    """One place at a time gives the scores of all at once, also beyond the first room."""
    net = network()
    sources = sentences(5, 3, 9)
    rng = np.random.default_rng(1)
    targets = [np.array([START, *rng.integers(FIRST, 17, size=n), END]) for n in (70, 6, 40)]
    batch = TranslationBatch.of(sources, targets)
    state = net.encode(PaddedIds.of(sources))
    steps = [net.scores(net.decode(keys[:, None], state)) for keys in batch.inputs.ids.T]
    found = torch.stack(steps, dim=1)[torch.from_numpy(batch.inputs.present)]
    assert torch.allclose(found, net(batch), atol=1e-5)


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
    sources = [Source(keys, n) for n, keys in enumerate(sentences(6, 3, 4, seed=seed))]
    found = search(net, sources, how, N_PLACEHOLDERS)
    for own, source in zip(found, sources, strict=True):
        expected = beam_search(net, source, how)
        assert [each.ids for each in own] == [each.ids for each in expected]
        scores = [each.score for each in expected]
        assert [each.score for each in own] == pytest.approx(scores, abs=1e-4)
