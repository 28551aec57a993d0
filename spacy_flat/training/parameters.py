"""The parameters of a pipeline and the state of its optimizer, under names that survive saving and
loading. thinc's own keys are numbers, assigned as models are created."""

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from spacy.language import Language
from thinc.api import Model, Optimizer, torch2xp
from thinc.optimizers import KeyT
from thinc.types import FloatsXd
from torch import Tensor, nn
from torch.utils.dlpack import from_dlpack

from ..errors import Errors
from ..nn.optimizers import PREFIX, ROW_STEPS, TorchOptimizer, as_tensor, key_of
from ..nn.shim import TorchShim

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
            self.owner.set_grad(self.key[1], cast(FloatsXd, torch2xp(gradient)))


def parameters_of(nlp: Language) -> list[Parameter]:
    """The parameters of all components, each once, in an order that only the config determines."""
    models = [(name, getattr(pipe, "model", None)) for name, pipe in nlp.pipeline]
    return [
        parameter
        for name, model in models
        for number, node in enumerate(model.walk() if isinstance(model, Model) else ())
        for parameter in _of_node(f"{name}/{number}", node)
    ]


def _of_node(path: str, node: Model[Any, Any]) -> Iterator[Parameter]:
    for name in node.param_names:
        if node.has_param(name):
            yield Parameter(f"{path}/{name}", (node.id, name), node)
    for number, shim in enumerate(node.shims):
        if isinstance(shim._model, nn.Module):
            for name, parameter in shim._model.named_parameters():
                known = key_of(shim.id, name) if isinstance(shim, TorchShim) else (shim.id, name)
                yield Parameter(f"{path}/{number}/{name}", known, parameter)


def save_optimizer(optimizer: Optimizer, nlp: Language) -> tuple[dict[str, Tensor], dict[str, int]]:
    """The state of the optimizer as tensors and step counts, without its schedules.

    Raises ValueError (F442) for state that belongs to no component.
    """
    names = _names(nlp)
    tensors = {
        f"{table}:{_name(names, key)}": as_tensor(value).cpu().contiguous()
        for table in TABLES
        for key, value in (getattr(optimizer, table) or {}).items()
    }
    return tensors, {_name(names, key): n for key, n in optimizer.nr_update.items()}


def load_optimizer(
    optimizer: Optimizer, nlp: Language, tensors: dict[str, Tensor], counts: dict[str, int]
) -> None:
    """Restore what `save_optimizer` returned in a new optimizer of the loaded pipeline."""
    keys = {name: key for key, name in _names(nlp).items()}
    owners = {parameter.name: parameter for parameter in parameters_of(nlp)}
    for path, tensor in tensors.items():
        table, name = path.split(":", 1)
        owner = owners[name.removesuffix(ROW_STEPS)]
        value = tensor.to(owner.weights().device)
        is_ours = isinstance(optimizer, TorchOptimizer) and table != "averages"
        is_array = not (is_ours or owner.key[1].startswith(PREFIX))
        getattr(optimizer, table)[keys[name]] = torch2xp(value) if is_array else value
    optimizer.nr_update.update({keys[name]: n for name, n in counts.items()})


def _names(nlp: Language) -> dict[KeyT, str]:
    """Names by the optimizer's keys: of parameters, and of the steps of their rows."""
    names = {parameter.key: parameter.name for parameter in parameters_of(nlp)}
    rows = {(number, name + ROW_STEPS): n + ROW_STEPS for (number, name), n in names.items()}
    return names | rows


def _name(names: dict[KeyT, str], key: KeyT) -> str:
    if key not in names:
        raise ValueError(Errors.F442.format(key=key))
    return names[key]
