"""R-Drop: every batch is computed twice in training, and the two are drawn together."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from spacy.language import Language
from torch import Tensor, nn

from spacy_flat.ner.network import TaggingNetwork

from .conftest import NETWORK, TINY, add_flat, blank, examples_of, flat, train


def make(r_drop: float, dropout: float = 0.0, **model: Any) -> Language:
    """A pipeline that has been initialised."""
    nlp = blank()
    network = {**NETWORK, "output_dropout": dropout, "r_drop": r_drop}
    add_flat(nlp, {"model": {**TINY["model"], "network": network, **model}})
    train(nlp, steps=0)
    return nlp


def network_of(nlp: Language) -> TaggingNetwork:
    network = nlp.get_pipe(nlp.pipe_names[-1]).model.shims[0].module  # type: ignore[attr-defined]
    assert isinstance(network, TaggingNetwork)
    return network


def outputs(nlp: Language) -> list[Tensor]:
    """What the network gives from now on."""
    heard: list[Tensor] = []

    def hear(module: nn.Module, entering: Any, leaving: Tensor) -> None:
        heard.append(leaving.detach())

    network_of(nlp).register_forward_hook(hear)
    return heard


def test_the_loss_is_of_both_passes_and_of_how_far_they_are_apart() -> None:
    nlp = make(r_drop=3.0, dropout=0.5)
    examples = examples_of(nlp)[:1]
    heard = outputs(nlp)
    loss = flat(nlp).update(examples)["flat_ner"]
    first, second = heard
    assert not torch.equal(first, second)
    both = torch.cat(heard)

    emissions = flat(nlp).model.predict([examples[0].predicted])
    (part,) = emissions.batches

    def alone(scores: Tensor) -> float:
        batches = iter([part._replace(scores=scores)])
        return flat(nlp).get_loss(examples, replace(emissions, batches=batches))[0]

    lengths, crf = torch.from_numpy(part.batch.n_units), network_of(nlp).crf
    every = torch.ones(both.shape, dtype=torch.bool)
    _, marginals = crf.likelihood_and_marginals(both, every, lengths.repeat(2))
    apart = crf.divergence(both, marginals).item()
    assert apart > 0.01
    assert loss == pytest.approx((alone(first) + alone(second) + 3 * apart) / 2, rel=1e-4)
