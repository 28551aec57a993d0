"""The hyper-parameters of one optimizer step. Importing this imports no torch."""

from dataclasses import dataclass, field

# The decay of thinc's own weight averages.
STOCK_AVERAGE_DECAY = 0.9999

# Parameter groups that every optimizer knows.
EMBEDDINGS = "embeddings"
UPSTREAM = "upstream"


@dataclass(frozen=True)
class Rule:
    """The hyper-parameters of one step, with the schedules' current values.

    Adam if `beta2` is above 0, otherwise SGD. `weight_decay` is added to the gradient (L2), or
    shrinks the weights if `decoupled` (Loshchilov & Hutter 2019). `clip_each` clips each tensor by
    its own norm, as thinc does, instead of all by their common norm. 0 disables clipping.
    """

    learn_rate: float
    weight_decay: float
    decoupled: bool
    beta1: float
    beta2: float
    eps: float
    clip_norm: float
    clip_each: bool = True
    clip_value: float = 0.0
    momentum: float = 0.0
    average_decay: float = STOCK_AVERAGE_DECAY
    multipliers: dict[str, float] = field(default_factory=dict)
