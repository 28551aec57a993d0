"""How the objectives of pretraining differ, without torch."""

from dataclasses import dataclass
from typing import Literal

Objective = Literal["mlm", "electra", "lm"]
Network = Literal["transformer", "lstm"]
Masks = Literal["none", "mixed", "all"]


@dataclass(frozen=True)
class Recipe:
    """How an objective is trained, and its encoder's names in Hugging Face form.

    width, layers: defaults of the network.
    masks: whether masked characters become BERT's mixture, or always masks.
    model_type, architecture: of config.json. head: prefix of the head's tensors.
    """

    network: Network
    width: int
    layers: int
    masks: Masks
    model_type: str
    architecture: str
    head: str


RECIPES: dict[Objective, Recipe] = {
    "mlm": Recipe("transformer", 192, 3, "mixed", "bert", "BertForMaskedLM", "cls.predictions"),
    "electra": Recipe(
        "transformer",
        192,
        3,
        "all",
        "electra",
        "ElectraForPreTraining",
        "discriminator_predictions",
    ),
    "lm": Recipe("lstm", 320, 1, "none", "spacy-flat-lstm", "TwoWayLM", "head"),
}
NETWORKS: dict[str, Network] = {each.model_type: each.network for each in RECIPES.values()}
