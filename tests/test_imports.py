"""What an import brings with it: users pay for it in every pipeline, ours or not."""

import subprocess
import sys

import pytest

NETWORKS = [
    *("ner.flat.network", "ner.tener.network", "similarity.network", "generator.network"),
    "translator.network",
    "transformer.network",
]


ENTRY_POINTS = [
    *("ner.flat.component", "ner.tener.component", "similarity.component", "generator.component"),
    *("transformer.model", "translator.component"),
]


def imported_by(modules: list[str], *, blocked: tuple[str, ...] = ()) -> dict[str, set[str]]:
    """What is loaded after each of some imports, one after the other, in a new process."""
    code = (
        "import importlib, sys\n"
        f"for name in {blocked!r}: sys.modules[name] = None\n"
        f"for module in {modules!r}:\n"
        "    importlib.import_module(module)\n"
        "    print(*(name for name, module in sys.modules.items() if module is not None))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {
        module: set(line.split())
        for module, line in zip(modules, done.stdout.splitlines(), strict=True)
    }


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        (["spacy_flat"], "torch spacy thinc numpy jieba"),
        (["spacy_flat.lexicon.readers", "spacy_flat.vectors"], "torch spacy jieba"),
        (["spacy_flat.cli"], "ray pyarrow pandas safetensors"),
        (  # Entry points are imported by every `Language()`. (thinc itself may import torch.)
            [f"spacy_flat.{name}" for name in ENTRY_POINTS],
            "jieba gensim spacy_transformers pypinyin tokenizers sacrebleu safetensors",
        ),
    ],
)
def test_what_is_not_brought(modules: list[str], heavy: str) -> None:
    for module, loaded in imported_by(modules).items():
        assert not loaded.intersection(heavy.split()), module


def test_networks_are_plain_torch() -> None:
    """They can be used, tested and exported without spaCy, thinc and a lexicon."""
    networks = [f"spacy_flat.{name}" for name in NETWORKS]
    for network, loaded in imported_by(networks, blocked=("spacy", "thinc")).items():
        assert "torch" in loaded
        assert not any(name.startswith("spacy_flat.lexicon") for name in loaded), network
