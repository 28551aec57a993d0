"""What `flat_ner` needs of the machine: the memory of very long texts and of many texts, and
worker processes beside the threads of torch."""

import pickle
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from spacy.language import Language

from spacy_flat.nn.optimizers import AdamW

from .conftest import GOLD, TEXTS, Copy, char_example, found


def test_a_hundred_thousand_characters_without_punctuation(trained: Language) -> None:
    before = peak_megabytes()
    text = "王小明昨天去了上海" * 11_112
    doc = trained(text)
    assert len(doc) == len(text)
    # Forced cuts, too: at every border between two of them both are found.
    assert len(doc.ents) > 20_000
    assert peak_megabytes() - before < 400


def peak_megabytes() -> float:
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / 1024 if sys.platform == "linux" else size / 1024**2


def test_memory_of_training_does_not_grow_with_the_text(trained: Language, copy_of: Copy) -> None:
    nlp = copy_of(trained)
    sentence = "王小明昨天去了上海。"
    text = sentence * 5000
    spans = [
        (start + 10 * number, end + 10 * number, label)
        for number in range(5000)
        for start, end, label in [(0, 3, "PER"), (7, 9, "LOC")]
    ]
    example = char_example(nlp, text, spans)
    nlp.update([char_example(nlp, sentence, spans[:2])], sgd=AdamW(0.001))
    before = peak_megabytes()
    losses = nlp.update([example], sgd=AdamW(0.001), losses={})
    assert losses["flat_ner"] < 20  # an untrained network has 400
    assert peak_megabytes() - before < 300


def test_memory_zone(trained: Language) -> None:
    texts = [f"编号{number}的人去了上海。" for number in range(50)]
    expected = found(trained, texts)
    size = len(trained.vocab.strings)
    for _ in range(2):
        with trained.memory_zone():
            assert found(trained, texts) == expected
    assert len(trained.vocab.strings) == size
    assert found(trained) == GOLD


WORKERS = """
import multiprocessing, pickle, sys
import torch

def main():
    torch.set_num_threads(2)
    torch.rand(500, 500) @ torch.rand(500, 500)  # torch now has threads, which no fork copies
    with open(sys.argv[1], "rb") as file:
        nlp, texts = pickle.load(file)
    multiprocessing.set_start_method(sys.argv[2])
    here = [doc._.char_ents for doc in nlp.pipe(texts)]
    docs = list(nlp.pipe(texts, n_process=2, batch_size=2))
    assert [doc._.char_ents for doc in docs] == here
    assert any(doc.ents for doc in docs)

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_worker_processes(trained: Language, tmp_path: Path, method: str) -> None:
    if method == "fork" and sys.platform != "linux":
        pytest.skip("fork is for Linux")
    data, script = tmp_path / "data", tmp_path / "workers.py"
    data.write_bytes(pickle.dumps((trained, TEXTS)))
    script.write_text(WORKERS, encoding="utf-8")
    subprocess.run([sys.executable, script, data, method], check=True, timeout=200)
