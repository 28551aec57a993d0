"""R-Drop: every batch is computed twice in training, and the two are drawn together."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from .conftest import NETWORK, TINY, add_flat, blank, examples_of, train


def test_the_loss_is_of_both_passes_and_of_how_far_they_are_apart() -> None:
    nlp = blank()
    network = {**NETWORK, "output_dropout": 0.5, "r_drop": 3.0}
    ner = add_flat(nlp, {"model": {**TINY["model"], "network": network}})
    train(nlp, steps=0)
    examples, module = examples_of(nlp)[:1], ner.model.shims[0].module
    passes: list[Tensor] = []

    def hear(_: Any, entering: Any, leaving: Tensor) -> None:
        passes.append(leaving.detach())

    module.register_forward_hook(hear)
    loss = ner.update(examples)["flat_ner"]
    first, second = passes
    assert not torch.equal(first, second)
    both = torch.cat(passes)

    emissions = ner.model.predict([examples[0].predicted])
    (part,) = emissions.batches

    def alone(scores: Tensor) -> float:
        batches = iter([part._replace(scores=scores)])
        return ner.get_loss(examples, replace(emissions, batches=batches))[0]

    lengths, every = torch.from_numpy(part.batch.n_units), torch.ones(both.shape, dtype=torch.bool)
    _, marginals = module.crf.likelihood_and_marginals(both, every, lengths.repeat(2))
    apart = module.crf.divergence(both, marginals).item()
    assert apart > 0.01
    assert loss == pytest.approx((alone(first) + alone(second) + 3 * apart) / 2, rel=1e-4)
