"""The plain loop of the usual exercise: one poem at a time, and all characters computed again for
each one that is written. Nothing is kept, nothing runs side by side.

Shapes: C characters, D width, E width of embeddings, K keys.
"""

import torch
from torch import Tensor, nn

CELLS = {"lstm": nn.LSTM, "gru": nn.GRU}


class PlainLM(nn.Module):
    """Embeddings, one recurrent layer and an output layer, without dropout."""

    def __init__(self, n_keys: int, embed_width: int, width: int, cell: str) -> None:
        super().__init__()
        self.chars = nn.Embedding(n_keys, embed_width)
        self.layer = CELLS[cell](embed_width, width, batch_first=True)
        self.classify = nn.Linear(width, n_keys)

    def forward(self, keys: Tensor) -> Tensor:
        """[C] → [C, K] logits of the next key."""
        hidden, _ = self.layer(self.chars(keys[None]))
        scores: Tensor = self.classify(hidden[0])
        return scores

    def surprisal(self, keys: Tensor) -> Tensor:
        """The mean −ln P of the keys [C] behind the first."""
        return nn.functional.cross_entropy(self(keys[:-1]), keys[1:])


def train(model: PlainLM, texts: list[Tensor]) -> None:
    """A step of Adam after each text."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    for keys in texts:
        optimizer.zero_grad()
        model.surprisal(keys).backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def generate(model: PlainLM, start: int, length: int) -> Tensor:
    """The most probable character each time, whether or not the text ends with it."""
    keys = torch.tensor([start])
    with torch.no_grad():
        for _ in range(length):
            keys = torch.cat([keys, model(keys)[-1].argmax()[None]])
    return keys


def score(model: PlainLM, texts: list[Tensor]) -> list[float]:
    """The perplexity of each text."""
    with torch.no_grad():
        return [model.surprisal(keys).exp().item() for keys in texts]
