"""What `flat_ner` needs of the machine: the memory of very long texts and of many texts, and
worker processes beside the threads of torch."""

from learning import peak_megabytes
from spacy.language import Language

from spacy_flat.nn.optimizers import AdamW

from .conftest import Copy, char_example


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
