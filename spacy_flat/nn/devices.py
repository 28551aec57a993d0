"""The device that a network is on."""

import torch

from ..errors import Errors

AUTO = "auto"


def find_device(name: str) -> torch.device:
    """The device of a network.

    name: "auto" for thinc's device, the CPU unless `spacy.prefer_gpu`, `spacy.require_gpu` or
        `--gpu-id` asked for a GPU; or a name of torch's, such as "cpu", "cuda", "cuda:1" or "mps".

    Raises ValueError (F350) if the device does not exist.
    """
    if name == AUTO:
        from thinc.api import get_torch_default_device  # networks are imported without thinc

        return get_torch_default_device()
    n_devices = {
        "cpu": 1,
        "meta": 1,  # only shapes
        "cuda": torch.cuda.device_count() if torch.cuda.is_available() else 0,
        "mps": int(torch.backends.mps.is_available()),
    }
    kind, _, number = name.partition(":")
    try:
        is_there = int(number or 0) < n_devices.get(kind, 0)  # torch's own numbers wrap around
        device = torch.device(name)
    except (ValueError, RuntimeError):  # not the name of a device
        is_there = False
    if not is_there:
        found = [f"{kind}:{n}" for kind in ("cuda", "mps") for n in range(n_devices[kind])]
        words = {"device": name, "found": ", ".join(["cpu", *found])}
        raise ValueError(Errors.F350.format(**words))
    return device
