"""What a model relies on when it holds a torch network in a `TorchShim`."""

import json
import pickle
from typing import Any

import pytest
import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from spacy_flat.compress.compactor import rounded
from spacy_flat.nn import embeddings, weights
from spacy_flat.nn.optimizers import SGD
from spacy_flat.nn.shim import TorchShim


class Net(nn.Module):
    """Keys → scores, with a table, a buffer and a tied tensor."""

    def __init__(self, rows: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(rows, width, sparse=True)
        self.register_buffer("offset", torch.rand(width))
        self.inner = nn.Linear(width, width)
        self.again = nn.Linear(width, width)
        self.again.weight = self.inner.weight
        self.drop = nn.Dropout(0.5)
        self.out = nn.Linear(width, 3)

    def forward(self, keys: Tensor) -> Tensor:
        hidden = torch.tanh(self.inner(self.table(keys) + self.offset))
        return self.out(self.drop(self.again(hidden)))


def build(config: dict[str, Any]) -> nn.Module:
    return Net(config["rows"], config["width"])


CONFIG = {"rows": 7, "width": 4}
KEYS = torch.tensor([0, 3, 6])


def scores(shim: TorchShim) -> Tensor:
    with shim.predicting():
        return shim.module(KEYS)


def same_weights(one: TorchShim, other: TorchShim) -> bool:
    states = one.module.state_dict(), other.module.state_dict()
    return states[0].keys() == states[1].keys() and all(
        torch.equal(states[0][name], states[1][name]) for name in states[0]
    )


def train(shim: TorchShim, optimizer: Any, steps: int = 1) -> None:
    for _ in range(steps):
        with shim.training():
            loss = shim.module(KEYS).pow(2).sum()
        loss.backward()
        shim.finish_update(optimizer)


def test_tied_tensors_are_stored_once_and_stay_tied() -> None:
    shim = TorchShim(build, CONFIG)
    assert "again.weight" not in load(shim.to_bytes())
    loaded = TorchShim(build).from_bytes(shim.to_bytes())
    assert loaded.module.again.weight is loaded.module.inner.weight
    assert same_weights(shim, loaded)


@pytest.mark.parametrize("metadata", [{"format": "pt"}, {weights.FORMAT: "no JSON"}])
def test_other_files_are_refused(metadata: dict[str, str]) -> None:
    header = json.dumps({"__metadata__": metadata}).encode()
    with pytest.raises(ValueError, match="F200"):
        TorchShim(build).from_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(ValueError, match="F200"):
        TorchShim(build).from_bytes(pickle.dumps(metadata))


def test_weights_of_another_network_are_refused_by_name_and_shape() -> None:
    data = TorchShim(build, CONFIG).to_bytes()
    with pytest.raises(ValueError, match=r"F201.*'again.bias'.*\[4\].*\[5\]"):
        weights.fill(Net(7, 5), weights.read_tensors(data))
    with pytest.raises(ValueError, match=r"F201.*'again.bias'.*\[4\].*None"):
        weights.fill(nn.Linear(4, 4), weights.read_tensors(data))


class Mixed(Net):
    """Also with a matrix and numbers of half precision as buffers."""

    def __init__(self, rows: int, width: int) -> None:
        super().__init__(rows, width)
        self.register_buffer("positions", torch.randn(3, width))
        self.register_buffer("halves", torch.full((width,), 1.001).half())


def build_mixed(config: dict[str, Any]) -> nn.Module:
    return Mixed(config["rows"], config["width"])


@pytest.mark.parametrize("bits", [4, 8])
def test_matrices_in_few_bits(bits: int) -> None:
    """Matrices as whole numbers with scales, also those of buffers; vectors as bfloat16."""
    shim = TorchShim(build_mixed, CONFIG)
    small = rounded(shim, bits)
    stored = load(small.to_bytes())
    matrices = {"table.weight", "inner.weight", "out.weight", "positions"}
    assert {name for name, tensor in stored.items() if tensor.dtype == torch.int8} == matrices
    for name, tensor in small.module.state_dict().items():
        before = shim.module.state_dict()[name]
        if tensor.dim() == 1:
            half = tensor.dtype == torch.float16
            assert torch.equal(tensor, before if half else before.bfloat16().float())
            continue
        most = 2 ** (bits - 1) - 1
        scales = before.abs().amax(dim=1, keepdim=True) / most
        assert torch.allclose(tensor, before, rtol=0, atol=0.52 * float(scales.max()))
        if name in stored:
            assert stored[name].abs().max() == most
            assert stored[name + weights.SCALES].shape == (len(tensor), 1)
    assert "bits" not in shim.config
    assert same_weights(TorchShim(build_mixed).from_bytes(small.to_bytes()), small)


@pytest.mark.parametrize(
    "change",
    [
        lambda stored: stored.pop("table.weight" + weights.SCALES),
        lambda stored: stored.update({"table.weight": stored["table.weight"].float()}),
        lambda stored: stored.update({"table.weight" + weights.SCALES: torch.ones(3, 1)}),
    ],
)
def test_damaged_scales_are_refused(change: Any) -> None:
    shim = rounded(TorchShim(build, CONFIG), 8)
    stored = load(shim.to_bytes())
    change(stored)
    data = save(stored, {weights.FORMAT: json.dumps(shim.config)})
    with pytest.raises(ValueError, match="F200"):
        TorchShim(build).from_bytes(data)


@pytest.mark.parametrize("rows", [10**12, -5, 8, "7"])
def test_sizes_are_checked_before_anything_is_allocated(rows: Any) -> None:
    shim = TorchShim(build, CONFIG)
    data = weights.to_bytes(shim.module, {**CONFIG, "rows": rows})
    with pytest.raises(ValueError, match=r"F20[01]"):
        TorchShim(build).from_bytes(data)


def test_random_vectors_of_a_wrong_width_are_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(config: dict[str, Any]) -> nn.Module:
        return embeddings.PretrainedEmbedding(embeddings.Table(3, 3, config["width"], unknown=1.0))

    data = weights.to_bytes(build({"width": 4}), {"width": 2000})
    monkeypatch.setattr(embeddings, "oov_vectors", None)
    with pytest.raises(ValueError, match="F201"):
        TorchShim(build).from_bytes(data)


def test_training_after_rounding_is_saved() -> None:
    """However little it changes."""
    shim = rounded(TorchShim(build, CONFIG), 8)
    train(shim, SGD(1e-5))
    assert same_weights(TorchShim(build).from_bytes(shim.to_bytes()), shim)


def test_state_of_an_earlier_network_is_not_applied_to_a_later_one() -> None:
    optimizer = SGD(0.05, use_averages=True)
    shim = TorchShim(build, CONFIG)
    train(shim, optimizer, 3)
    shim.initialise({"rows": 9, "width": 5})
    before = scores(shim)
    with shim.use_params(optimizer.averages):
        assert torch.equal(scores(shim), before)
    train(shim, optimizer)


def test_a_network_grows() -> None:
    shim = TorchShim(build, CONFIG)
    old = {name: value.clone() for name, value in shim.module.state_dict().items()}
    id_before, version = shim.id, shim.version
    network = shim.grow({"rows": 9, "width": 5})
    assert network is shim.module
    assert shim.config == {"rows": 9, "width": 5}
    assert shim.id == id_before
    assert shim.version != version
    assert shim.module.table.weight.shape == (9, 5)
    for name, value in shim.module.state_dict().items():
        assert torch.equal(value[tuple(slice(size) for size in old[name].shape)], old[name])
    with pytest.raises(RuntimeError):
        shim.grow({"rows": 3, "width": 5})
    assert shim.module is network
