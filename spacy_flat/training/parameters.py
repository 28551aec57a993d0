"""The parameters of a pipeline and the state of its optimizer, under names that survive saving and
loading. thinc's own keys are numbers, assigned as models are created."""

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
from ..nn.steps import PREFIX, SKIPPED, OptimizerState, key

TABLES = ("mom1", "mom2", "averages")


class Parameter(NamedTuple):
    """A parameter of a thinc layer or of a torch network. key: the optimizer's."""

    name: str
    key: KeyT
    owner: Model[Any, Any] | nn.Parameter

    def weights(self) -> Tensor:
        """The weights, in shared memory."""
        if isinstance(self.owner, nn.Parameter):
            return self.owner.detach()
        return from_dlpack(self.owner.get_param(self.key[1]))

    def gradient(self) -> Tensor | None:
        """The gradient accumulated since the last step, if any."""
        if isinstance(self.owner, nn.Parameter):
            return self.owner.grad
        has_grad = self.owner.has_grad(self.key[1])
        return from_dlpack(self.owner.get_grad(self.key[1])) if has_grad else None

    def set_gradient(self, gradient: Tensor) -> None:
        if isinstance(self.owner, nn.Parameter):
            self.owner.grad = gradient
        else:
            self.owner.set_grad(self.key[1], as_array(gradient))


def parameters_of(nlp: Language) -> list[Parameter]:
    """The parameters of all components, each once, in an order that only the config determines."""
    return [parameter for path, node in named_nodes(nlp) for parameter in _of_node(path, node)]


def named_nodes(nlp: Language) -> Iterator[tuple[str, Model[Any, Any]]]:
    """The thinc layers of all components."""
    for name, pipe in nlp.pipeline:
        model = getattr(pipe, "model", None)
        if isinstance(model, Model):
            for number, node in enumerate(model.walk()):
                yield f"{name}/{number}", node


def named_shims(nlp: Language) -> Iterator[tuple[str, Shim]]:
    """The torch networks of all components."""
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
    """The state of the optimizer as tensors and step counts, without its schedules.

    Raises ValueError (F442) for state that belongs to no component.
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
    """Restore what `save_optimizer` returned in a new optimizer of the loaded pipeline."""
    keys = {name: known for known, name in _names(nlp).items()}
    devices = {parameter.name: parameter.weights().device for parameter in parameters_of(nlp)}
    values: dict[tuple[str, str], dict[str, Tensor]] = {}
    for path, tensor in tensors.items():
        table, part, name = path.split(":", 2)
        values.setdefault((table, name), {})[part] = tensor.to(devices[name])
    for (table, name), parts in values.items():
        states: dict[KeyT, Any] = getattr(optimizer, table)
        states[keys[name]] = _value(parts, is_ours=keys[name][1].startswith(PREFIX))
    optimizer.nr_update.update({keys[name]: n for name, n in counts.items()})


def save_encoders(nlp: Language) -> dict[str, int]:
    """The steps that each pretrained encoder has made, which control freezing and warm-up."""
    return {name: shim.steps for name, shim in named_shims(nlp) if isinstance(shim, EncoderShim)}


def load_encoders(nlp: Language, steps: dict[str, int]) -> None:
    """Restore what `save_encoders` returned."""
    for name, shim in named_shims(nlp):
        if isinstance(shim, EncoderShim):
            shim.steps = steps[name]


def as_array(tensor: Tensor) -> Any:
    """A NumPy array, or CuPy's for a tensor on a GPU."""
    return get_current_ops().xp.from_dlpack(tensor) if tensor.is_cuda else tensor.numpy()


def _names(nlp: Language) -> dict[KeyT, str]:
    """Names by the optimizer's keys: of parameters, networks, and counts of skipped steps."""
    names = {parameter.key: parameter.name for parameter in parameters_of(nlp)}
    names |= {key(shim.id, ""): path for path, shim in named_shims(nlp)}
    skipped = {(number, name + SKIPPED): n + SKIPPED for (number, name), n in names.items()}
    return names | skipped


def _name(names: dict[KeyT, str], known: KeyT) -> str:
    if known not in names:
        raise ValueError(Errors.F442.format(key=known))
    return names[known]


def _parts(value: Any) -> dict[str, Tensor]:
    """The state of one parameter as tensors on the CPU."""
    if isinstance(value, OptimizerState):
        moments = {f"moment{number}": each for number, each in enumerate(value.moments)}
        parts = {**moments, "steps": torch.as_tensor(value.steps)}
    else:
        parts = {"value": value if isinstance(value, Tensor) else from_dlpack(value)}
    return {part: each.detach().cpu().contiguous() for part, each in parts.items()}


def _value(parts: dict[str, Tensor], is_ours: bool) -> Any:
    """The inverse of `_parts`. is_ours: whether the parameter is one of this package's networks."""
    if "steps" in parts:
        moments = [parts[f"moment{number}"] for number in range(len(parts) - 1)]
        steps = parts["steps"]
        return OptimizerState(moments, steps if steps.dim() else int(steps))
    return parts["value"] if is_ours else as_array(parts["value"])
