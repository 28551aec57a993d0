"""Updating `flat_ner`: optimizers, loss and gradient, and the examples it learns from."""

import numpy as np
import pytest
from spacy.language import Language
from spacy.training import Example

from spacy_flat.ner.emissions import Gold
from spacy_flat.ner.spans import Annotation
from spacy_flat.ner.tags import TagSet
from spacy_flat.nn.optimizers import AdamW
from spacy_flat.text.segments import Segment
from spacy_flat.text.spans import EntitySpan, Units

from .conftest import Copy, char_example, flat


def test_losses_add_up_over_updates_and_batches(trained: Language, copy_of: Copy) -> None:
    """As spaCy's components add them: `losses` is what an epoch has cost."""
    nlp = copy_of(trained)
    examples = [
        char_example(nlp, "王小明在上海", [(0, 3, "ORG")]),
        char_example(nlp, "他在北京大学", [(2, 4, "PER")]),
    ]
    losses: dict[str, float] = {}
    flat(nlp).update(examples, losses=losses)
    once = losses["flat_ner"]
    flat(nlp).update(examples, losses=losses)  # no optimizer, no step
    assert losses["flat_ner"] == pytest.approx(2 * once, rel=1e-4)
    assert once > 1
    twice = flat(nlp).update(examples * 2)["flat_ner"]  # the loss is a mean
    assert twice == pytest.approx(once, rel=1e-4)
    one_by_one = flat(copy_of(trained, batch_size=1))  # a batch for each
    assert one_by_one.update(examples)["flat_ner"] == pytest.approx(once, rel=1e-4)


def test_examples_without_annotation_teach_nothing(trained: Language, copy_of: Copy) -> None:
    nlp = copy_of(trained)
    before = flat(nlp).model.to_bytes()
    silent = [
        Example(nlp.make_doc(text), nlp.make_doc(text)) for text in ("上海", "", "上海在北京")
    ]
    unknown = silent[-1].reference
    unknown.set_ents([], default="outside")
    unknown.spans["unknown"] = [unknown[:]]
    assert nlp.update(silent, sgd=AdamW(0.1, weight_decay=0.1)) == {"flat_ner": 0.0}
    assert flat(nlp).model.to_bytes() == before


def test_unannotated_labels_count_where_a_corpus_has_them(trained: Language, copy_of: Copy) -> None:
    """The setting is of the corpus that the pipeline was trained on."""
    nlp = copy_of(trained)
    flat(nlp).unannotated_labels = ["PER"]
    texts = ("张三来了。", "李四来了。")
    gold = [char_example(nlp, texts[0], [(0, 2, "PER")]), char_example(nlp, texts[1], [])]
    examples = [Example(nlp(each.text), each.reference) for each in gold]
    assert [doc.text for each in examples for doc in each.predicted.ents] == ["张三", "李四"]
    assert flat(nlp).score(examples)["chars_p"] == 0.5
    assert flat(nlp).score(examples[1:])["chars_p"] is None


def test_an_entity_that_is_cut_is_unknown() -> None:
    spans = [EntitySpan(1, 3, "A"), EntitySpan(8, 12, "B")]
    segments = [Segment(0, 0, 10), Segment(0, 7, 17)]
    annotations = [Annotation(spans, [EntitySpan(15, 17, "")])]
    tags = TagSet(["A", "B"])
    gold = Gold.of(annotations, [Units.visible_characters("一" * 17)], segments, tags)
    assert gold.n_known == 2
    first, second = (gold.allowed[segment] for segment in segments)
    assert np.flatnonzero(first.all(1)).tolist() == [8, 9]
    assert np.flatnonzero(second.all(1)).tolist() == [8, 9]
    assert [tags.names[tag] for tag in second[:6].argmax(1)] == [
        "O",
        "B-B",
        "I-B",
        "I-B",
        "E-B",
        "O",
    ]
