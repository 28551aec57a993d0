"""The device of a network: how it is chosen, and that all of a network is there.

Without a GPU, torch's "meta" device shows it, whose tensors have shapes but no numbers: an array
that is left on the CPU cannot be mixed with them unnoticed.
"""

import pickle
from typing import Any

import numpy as np
import pytest
import spacy
import test_contract
import torch
from blocks import pipe_config
from ner.conftest import HASH_EMBED
from spacy.language import Language
from spacy.tokens import Doc
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from spacy_flat.nn import crf, shim
from spacy_flat.nn.optimizers import AdamW
from spacy_flat.nn.shim import find_device, shim_of
from spacy_flat.pipe import NetworkPipe
from spacy_flat.translator.batch import PaddedIds
from spacy_flat.translator.network import Seq2Seq, Seq2SeqSizes
from spacy_flat.translator.options import Seq2SeqOptions

TEXTS = ["人和药店在重庆开业。", "他去了上海", "New York 好"]
SMALL = {"num_heads": 2, "head_dim": 8}
TOKENS = {"sequence": {"unit": "token"}}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "flat ff": ("flat_ner", {"network": {**SMALL, "fusion": "ff"}}),
    "flat with a tok2vec": ("flat_ner", {"network": SMALL, "tok2vec": HASH_EMBED}),
    "tener of tokens": ("tener_ner", {"network": SMALL, **TOKENS, "tok2vec": HASH_EMBED}),
    "re2 with a tok2vec": ("re2_similarity", {"network": {"hidden": 16}, "tok2vec": HASH_EMBED}),
}
KINDS = {kind.factory: kind for kind in test_contract.KINDS}


def make(factory: str, settings: dict[str, Any]) -> tuple[Language, NetworkPipe]:
    nlp = spacy.blank("zh")
    pipe = nlp.add_pipe(factory, config=pipe_config(factory, settings))
    assert isinstance(pipe, NetworkPipe)
    return KINDS[factory].initialise(nlp), pipe


def outputs(pipe: NetworkPipe, docs: list[Doc]) -> list[Tensor]:
    """What the network gives, batch by batch."""
    if pipe.name == "re2_similarity":
        found = pipe.model.predict(pipe.read([(doc[:], docs[0][:]) for doc in docs]))
        return [batch.outputs for batch in found]
    return [batch.scores for batch in pipe.model.predict(docs).batches]


ARRIVAL = torch.ops.aten.lift_fresh.default  # of an array, which then goes to the device


class Watch(TorchDispatchMode):
    """Notes what is computed on the CPU, and in float64, which Apple's GPUs do not have."""

    def __init__(self) -> None:
        super().__init__()
        self.on_cpu: set[str] = set()
        self.doubles: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(found):
            if isinstance(tensor, Tensor):
                if tensor.device.type == "cpu" and func is not ARRIVAL:
                    self.on_cpu.add(str(func))
                if tensor.dtype is torch.float64:
                    self.doubles.add(str(func))
        return found


@pytest.mark.parametrize("case", CASES)
def test_all_of_a_network_is_on_its_device(case: str) -> None:
    nlp, pipe = make(*CASES[case])
    docs = [nlp.make_doc(text) for text in TEXTS]
    shim_of(pipe.model).to("meta")
    with Watch() as watch:
        found = outputs(pipe, docs)
    assert found
    assert {output.device.type for output in found} == {"meta"}
    assert watch.on_cpu == set()
    assert watch.doubles == set()


def test_a_translation_is_written_on_the_device() -> None:
    options = Seq2SeqOptions(width=8, num_heads=2, ff_width=8)
    network = Seq2Seq(options, Seq2SeqSizes(20, 20)).eval().to("meta")
    source = PaddedIds.of([np.array([9, 2]), np.array([9, 9, 9, 2])])
    forbidden = np.zeros((6, 20), dtype=np.bool_)
    with Watch() as watch, torch.no_grad():
        state = network.encode(source)
        network.decode(np.full((6, 1), 1), state)
        rows = np.arange(6)[::-1]
        state.keep(network.to_tensor(np.array([1, 0])), network.to_tensor(rows))
        due = np.ones((6, 2), dtype=np.bool_)
        with pytest.raises(NotImplementedError, match="meta"):  # of which the CPU gets no numbers
            network.best(np.full(6, 9), state, np.zeros((2, 3)), forbidden, due, 6)
    assert state.length == 2
    assert watch.on_cpu == set()
    assert watch.doubles == set()


def test_find_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU that torch has is not taken unasked."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert find_device("auto") == torch.device("cpu")
    assert find_device("cuda") == torch.device("cuda")
    assert find_device("cuda:1") == torch.device("cuda:1")
    for missing in ("cuda:2", "mps", "xpu", "cpu:1"):
        with pytest.raises(ValueError, match=f"F350.*'{missing}'.*cpu, cuda:0, cuda:1"):
            find_device(missing)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert find_device("mps") == torch.device("mps")
    monkeypatch.setattr(shim, "get_torch_default_device", lambda: torch.device("mps"))
    assert find_device("auto") == torch.device("mps")


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)


@pytest.mark.usefixtures("no_gpu")
def test_another_device_at_run_time() -> None:
    """A chosen device stays when thinc changes its own."""
    nlp, pipe = make("tener_ner", {})
    shim = shim_of(pipe.model)
    pipe.device = "cpu"
    assert pickle.loads(pickle.dumps(pipe)).device == "cpu"
    for device, error in {"mps": "F350", "gpu": "F310", "cuda:": "F310"}.items():
        with pytest.raises(ValueError, match=error):
            pipe.device = device
    assert outputs(pipe, [nlp.make_doc("重庆")])
    shim.to_device("meta", -1)
    assert shim.device.type == "cpu"
    pipe.device = "auto"
    shim.to_device("meta", -1)
    assert shim.device.type == "meta"


def test_the_crf_computes_on_the_cpu_where_there_is_no_float64(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On "meta", as if it were Apple's GPU: nothing there is made double."""
    everything = torch.ones(3, 3, dtype=torch.bool).numpy()
    layer = crf.CRF(3, everything, everything[0], everything[0]).to("meta")
    moved: set[tuple[torch.dtype, str]] = set()

    def cpu(tensor: Tensor) -> Tensor:
        moved.add((tensor.dtype, tensor.device.type))
        return torch.ones(tensor.shape, dtype=tensor.dtype)

    monkeypatch.setattr(crf, "has_float64", lambda device: device.type != "meta")
    monkeypatch.setattr(Tensor, "cpu", cpu)
    emissions = torch.zeros(2, 4, 3, device="meta")
    lengths = torch.ones(2, dtype=torch.int64, device="meta")
    every = torch.ones(2, 4, 3, dtype=torch.bool, device="meta")
    likelihood, _ = layer.likelihood_and_marginals(emissions, every, lengths)
    assert likelihood.device.type == "meta"
    there = {dtype for dtype, device in moved if device == "meta"}
    assert there == {torch.float32, torch.int64, torch.bool}


def test_steps_need_no_float64() -> None:
    nlp, _ = make("tener_ner", {})
    optimizer = AdamW(0.01, use_averages=True)
    nlp.update(KINDS["tener_ner"].examples(nlp), sgd=optimizer)
    assert {tensor.dtype for tensor in optimizer.mom2.values()} == {torch.float32}
