"""What the objectives of pretraining differ in, without torch."""

from dataclasses import dataclass
from typing import Literal

Objective = Literal["mlm", "electra", "lm"]
Network = Literal["transformer", "lstm"]
Masks = Literal["none", "mixed", "all"]


@dataclass(frozen=True)
class Recipe:
    """How an objective is trained, and what its encoder is called in Hugging Face form.

    width, layers: of the network, where the user chooses none.
    masks: whether characters are masked, and what is read in their place: BERT's mixture, or masks
        alone.
    model_type, architecture: of config.json.
    head: what the names of the tensors begin with that are not the encoder's.
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
