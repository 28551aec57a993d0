"""All that learns in a pipeline, and what an optimizer remembers of it, by names that stay the same
when the pipeline is loaded again. thinc's own keys are numbers, given in the order of loading."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from spacy.language import Language
from thinc.api import Model, Optimizer, get_current_ops
from thinc.optimizers import KeyT
from thinc.shims import Shim
from torch import Tensor, nn
from torch.utils.dlpack import from_dlpack

from ..errors import Errors
from ..nn.encoder_shim import EncoderShim
from ..nn.shim import TorchShim
from ..nn.steps import LEFT_OUT, PREFIX, RowAverage, State, key

TABLES = ("mom1", "mom2", "averages")


class Parameter(NamedTuple):
    """An array of a thinc layer, or a torch parameter of a network.

    key: the optimizer's.
    """

    name: str
    key: KeyT
    owner: Model[Any, Any] | nn.Parameter

    def weights(self) -> Tensor:
        """They share memory with the parameter's."""
        if isinstance(self.owner, nn.Parameter):
            return self.owner.detach()
        return as_tensor(self.owner.get_param(self.key[1]))

    def gradient(self) -> Tensor | None:
        """What has gathered since the last step, if anything has."""
        if isinstance(self.owner, nn.Parameter):
            return self.owner.grad
        if not self.owner.has_grad(self.key[1]):
            return None
        return as_tensor(self.owner.get_grad(self.key[1]))

    def set_gradient(self, gradient: Tensor) -> None:
        """In place of what has gathered."""
        if isinstance(self.owner, nn.Parameter):
            self.owner.grad = gradient
        else:
            self.owner.set_grad(self.key[1], as_array(gradient))


def parameters_of(nlp: Language) -> list[Parameter]:
    """Those of all components, each once, in an order that depends on the config alone."""
    return [parameter for path, node in named_nodes(nlp) for parameter in _of_node(path, node)]


def named_nodes(nlp: Language) -> Iterator[tuple[str, Model[Any, Any]]]:
    """The layers of all components, with a name."""
    for name, pipe in nlp.pipeline:
        model = getattr(pipe, "model", None)
        if isinstance(model, Model):
            for number, node in enumerate(model.walk()):
                yield f"{name}/{number}", node


def named_shims(nlp: Language) -> Iterator[tuple[str, Shim]]:
    """The torch networks of all components, with a name."""
    for path, node in named_nodes(nlp):
        for number, shim in enumerate(node.shims):
            yield f"{path}/{number}", shim


def _of_node(path: str, node: Model[Any, Any]) -> Iterator[Parameter]:
    for name in node.param_names:
        if node.has_param(name):
            yield Parameter(f"{path}/{name}", (node.id, name), node)
    for number, shim in enumerate(node.shims):
        if isinstance(shim._model, nn.Module):
            for name, parameter in shim._model.named_parameters():
                known = key(shim.id, name) if isinstance(shim, TorchShim) else (shim.id, name)
                yield Parameter(f"{path}/{number}/{name}", known, parameter)


def save_optimizer(optimizer: Optimizer, nlp: Language) -> tuple[dict[str, Tensor], dict[str, int]]:
    """What it remembers: tensors, and counts of steps. The schedules are not among it.

    Raises ValueError (F442) where something belongs to no component.
    """
    names = _names(nlp)
    tensors = {}
    for table in TABLES:
        for known, value in (getattr(optimizer, table) or {}).items():
            for part, tensor in _parts(value).items():
                tensors[f"{table}:{part}:{_name(names, known)}"] = tensor
    return tensors, {_name(names, known): n for known, n in optimizer.nr_update.items()}


def load_optimizer(
    optimizer: Optimizer, nlp: Language, tensors: dict[str, Tensor], counts: dict[str, int]
) -> None:
    """Give back what `save_optimizer` took, to a new optimizer of the loaded pipeline."""
    keys = {name: known for known, name in _names(nlp).items()}
    places = {parameter.name: parameter.weights().device for parameter in parameters_of(nlp)}
    values: dict[tuple[str, str], dict[str, Tensor]] = {}
    for path, tensor in tensors.items():
        table, part, name = path.split(":", 2)
        values.setdefault((table, name), {})[part] = tensor.to(places[name])
    for (table, name), parts in values.items():
        states: dict[KeyT, Any] = getattr(optimizer, table)
        states[keys[name]] = _value(parts, is_ours=keys[name][1].startswith(PREFIX))
    optimizer.nr_update.update({keys[name]: n for name, n in counts.items()})


def save_encoders(nlp: Language) -> dict[str, int]:
    """How many steps each encoder beneath other components has made, by which it thaws."""
    return {name: shim.steps for name, shim in named_shims(nlp) if isinstance(shim, EncoderShim)}


def load_encoders(nlp: Language, steps: dict[str, int]) -> None:
    """Give back what `save_encoders` took."""
    for name, shim in named_shims(nlp):
        if isinstance(shim, EncoderShim):
            shim.steps = steps[name]


def as_tensor(array: Any) -> Tensor:
    """One that shares memory with numpy's or cupy's."""
    return from_dlpack(array)


def as_array(tensor: Tensor) -> Any:
    """For thinc's layers: numpy's, or cupy's of a tensor on a GPU."""
    return get_current_ops().xp.from_dlpack(tensor) if tensor.is_cuda else tensor.numpy()


def _names(nlp: Language) -> dict[KeyT, str]:
    """Of the optimizer's keys, also of those that count the steps of a whole network, and of steps
    that were left out."""
    names = {parameter.key: parameter.name for parameter in parameters_of(nlp)}
    names |= {key(shim.id, ""): path for path, shim in named_shims(nlp)}
    left_out = {
        (number, name + LEFT_OUT): each + LEFT_OUT for (number, name), each in names.items()
    }
    return names | left_out


def _name(names: dict[KeyT, str], known: KeyT) -> str:
    if known not in names:
        raise ValueError(Errors.F442.format(key=known))
    return names[known]


def _parts(value: Any) -> dict[str, Tensor]:
    """What is remembered of one parameter, as tensors on the CPU."""
    if isinstance(value, State):
        moments = {f"moment{number}": each for number, each in enumerate(value.moments)}
        parts = {**moments, "steps": torch.as_tensor(value.steps)}
    elif isinstance(value, RowAverage):
        clock = torch.tensor(value.clock, dtype=torch.float64)
        parts = {"lag": value.lag, "seen": value.seen, "clock": clock}
    else:
        parts = {"value": value if isinstance(value, Tensor) else as_tensor(value)}
    return {part: each.detach().cpu().contiguous() for part, each in parts.items()}


def _value(parts: dict[str, Tensor], is_ours: bool) -> Any:
    """What `_parts` was made of. is_ours: of a network of this package, so a tensor."""
    if "steps" in parts:
        moments = [parts[f"moment{number}"] for number in range(len(parts) - 1)]
        steps = parts["steps"]
        return State(moments, steps if steps.dim() else int(steps))
    if "lag" in parts:
        return RowAverage.of(parts["lag"], parts["seen"], float(parts["clock"]))
    return parts["value"] if is_ours else as_array(parts["value"])
