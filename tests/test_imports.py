"""What an import brings with it: users pay for it in every pipeline, ours or not."""

from __future__ import annotations

import subprocess
import sys

import pytest

NETWORKS = [
    *("ner.flat.network", "ner.tener.network", "similarity.network", "generator.network"),
    "translator.network",
    *("encoder.network", "encoder.objectives"),
]


def imported_by(module: str, *, blocked: tuple[str, ...] = ()) -> set[str]:
    """The modules that are loaded after an import in a new process."""
    code = (
        "import sys\n"
        f"for name in {blocked!r}: sys.modules[name] = None\n"
        f"import {module}\n"
        "print(*(name for name, module in sys.modules.items() if module is not None))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_package_itself_brings_nothing() -> None:
    heavy = {"torch", "spacy", "thinc", "numpy", "jieba", "daachorse", "safetensors"}
    assert not heavy & imported_by("spacy_flat")


@pytest.mark.parametrize("network", NETWORKS)
def test_networks_are_plain_torch(network: str) -> None:
    """They can be used, tested and exported without spaCy, thinc and a lexicon."""
    loaded = imported_by(f"spacy_flat.{network}", blocked=("spacy", "thinc"))
    assert "torch" in loaded
    assert not any(name.startswith("spacy_flat.lexicon") for name in loaded)


@pytest.mark.parametrize(
    "module",
    [
        "ner.flat.component",
        "ner.tener.component",
        "similarity.component",
        "generator.component",
        "encoder.model",
        "cli.pretrain",
        "translator.component",
        "nn.optimizers",
    ],
)
def test_what_spacy_imports_at_every_start(module: str) -> None:
    """Entry points are imported by every `Language()`. (thinc itself may import torch.)"""
    heavy = {
        *("daachorse", "safetensors", "jieba", "gensim"),
        *("spacy_transformers", "pypinyin", "bm25s", "tokenizers", "sacrebleu"),
    }
    assert not heavy & imported_by(f"spacy_flat.{module}")
    assert "spacy_flat.nn.shim" not in imported_by(f"spacy_flat.{module}")
