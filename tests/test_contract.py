"""What the design demands of every component, for all five of them."""

import json
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any

import generator.conftest as generators
import ner.conftest as ners
import pytest
import similarity.conftest as pairs
import spacy
import spacy.cli
import srsly
import torch
import translator.conftest as translators
from blocks import blocks, pipe_config
from copies import copies_of
from learning import peak_megabytes
from spacy.cli._util import app as spacy_app
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.util import load_config, registry
from thinc.api import fix_random_seed
from typer.testing import CliRunner

import spacy_flat
from spacy_flat.compress.compactor import Compactor
from spacy_flat.nn.optimizers import AdamW
from spacy_flat.similarity.pairs import join_pair
from spacy_flat.text.scripts import converter

ODD = [
    *("", " ", "\n\u3000", "京", "a", "😀", "\0上海\0", "\u200b上海\ufeff"),
    *("１２３ＡＢＣ", "𠮷野家在上海", "上海\r\n 上海\t上海  "),
    *("👨\u200d👩\u200d👧\u200d👦在北京", "e\u0301cole 學校 школа مدرسة"),
]
Written = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Kind:
    """One of the components, with tiny networks."""

    factory: str
    texts: list[str]
    long: str  # is repeated
    add: Callable[..., Any]
    examples: Callable[[Language], list[Example]]
    written: Callable[[Doc], Written]  # what it writes to a Doc; of the whole text first
    steps: int
    rate: float
    labels: tuple[str, ...] = ()
    arguments: str = ""  # of its initialize

    def make(self, nlp: Language | None = None, name: str = "", steps: int = 0) -> Language:
        """Add it to a pipeline, with a network."""
        nlp = nlp or ners.blank()
        self.add(nlp, name=name or self.factory)
        return self.initialise(nlp, steps)

    def initialise(self, nlp: Language, steps: int = 0) -> Language:
        if self.arguments:
            block = {self.arguments: {"@misc": f"test.{self.arguments}"}}
            nlp.config["initialize"]["components"] = dict.fromkeys(nlp.pipe_names, block)
        fix_random_seed(0)
        examples = self.examples(nlp)
        sgd = nlp.initialize(lambda: examples, sgd=AdamW(self.rate))
        for _ in range(steps):
            nlp.update(examples, sgd=sgd)
        return nlp

    @cache  # noqa: B019
    def trained(self) -> Language:
        """Not to be changed."""
        return self.make(steps=self.steps)

    def found(self, nlp: Language, texts: list[str] | None = None, **options: Any) -> list[Written]:
        return [self.written(doc) for doc in nlp.pipe(texts or self.texts + ODD, **options)]

    def losses(self, nlp: Language, steps: int, sgd: Any = False) -> list[float]:
        examples = self.examples(nlp)
        fix_random_seed(0)
        return [nlp.update(examples, sgd=sgd, losses={})[self.factory] for _ in range(steps)]


def add_tener(nlp: Language, name: str, unit: str = "char", **options: Any) -> Any:
    network = {key: value for key, value in ners.NETWORK.items() if key[:4] not in ("latt", "word")}
    sequence = {"embed_width": 16, "unit": unit}
    config = pipe_config("tener_ner", {"network": network | options, "sequence": sequence})
    return nlp.add_pipe("tener_ner", name=name, config=config)


def add_flat(nlp: Language, name: str) -> Any:
    model = pipe_config("flat_ner", ners.TINY["model"])
    return nlp.add_pipe("flat_ner", name=name, config=model)


def entities(doc: Doc) -> Written:
    return str(doc._.char_ents), str(ners.entities(doc))


def translations(doc: Doc) -> Written:
    found = doc._.translation, doc._.translation_ents
    return tuple(map(str, found))


def classes(doc: Doc) -> Written:
    return tuple(doc.cats.values())


PAIRS = [join_pair(*pair) for pair in pairs.TEXTS] + [join_pair(odd, "退款") for odd in ODD]
LABELS = ("LOC", "ORG", "PER")
CALLED = "王小明昨天去了上海"
KINDS = [
    Kind(
        *("flat_ner", ners.TEXTS, CALLED, add_flat, ners.examples_of, entities),
        *(30, 0.02, LABELS, "lexicon"),
    ),
    Kind(
        *("tener_ner", ners.TEXTS, CALLED, add_tener, ners.examples_of, entities),
        *(40, 0.02, LABELS),
    ),
    Kind(
        *("re2_similarity", PAIRS, "怎么退款，", pairs.add_re2),
        *(pairs.examples_of, classes, 6, 0.01, ("different", "same")),
    ),
    Kind(
        *("char_generator", generators.TEXTS, "床前明月光，", generators.add),
        *(generators.examples_of, generators.written, 40, 0.02),
    ),
    Kind(
        "seq2seq_translator",
        [*translators.TEXTS, "北京书茶，王芳三本NBA。" * 4, "我喜欢书。他喜欢茶。"],
        *("我喜欢茶，", translators.add, translators.examples_of, translations, 100, 0.01),
    ),
]


# Other networks, and what else is saved with them
VARIANTS = [
    replace(KINDS[at], add=partial(KINDS[at].add, **options))
    for at, options in (
        (1, {"unit": "token", "char_width": 12}),
        (1, {"unit": "token", "char_width": 12, "char_encoder": "lstm"}),
        (3, {"network": {"cell": "gru", "layers": 2}}),
        (3, {"network": {"ngrams": 30}}),
    )
]


def check_same(found: list[Written], expected: list[Written]) -> None:
    """But for how numbers are rounded."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        numbers = any(isinstance(each, float) for each in other)
        assert one == (pytest.approx(other, rel=1e-4, abs=1e-4) if numbers else other)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.factory)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def trained(kind: Kind) -> Language:
    return kind.trained()


# Making


def test_in_any_pipeline(kind: Kind, trained: Language) -> None:
    for lang in ("zh", "en"):
        assert spacy.blank(lang).add_pipe(kind.factory) is not None
    nlp = ners.blank("jieba")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe(kind.factory, source=trained)
    nlp.add_pipe("span_ruler").add_patterns(  # type: ignore[attr-defined]
        [{"label": "ANY", "pattern": [{}]}]
    )
    for text in kind.texts:
        doc = nlp(text)
        assert doc.has_annotation("SENT_START")
        assert len(doc.spans["ruler"]) == len(doc)
        check_same([kind.written(doc)[:1]], [kind.written(trained(text))[:1]])


def test_not_initialised(kind: Kind, tmp_path: Path) -> None:
    nlp = ners.blank()
    pipe = kind.add(nlp, name=kind.factory)
    labels = ("NEW",)[: len(kind.labels)]
    for label in labels:
        pipe.add_label(label)
    nlp.to_disk(tmp_path)
    same = spacy.util.load_model_from_config(nlp.config).from_bytes(nlp.to_bytes())
    for again in (nlp, same, spacy.load(tmp_path), pickle.loads(pickle.dumps(nlp)), deepcopy(nlp)):
        for use in (lambda: again(kind.texts[0]), lambda: again.update(kind.examples(again))):  # noqa: B023
            with pytest.raises(ValueError, match=rf"F303.*{kind.factory}"):
                use()
        assert getattr(again.get_pipe(kind.factory), "labels", ()) == labels
    again.remove_pipe(kind.factory)
    assert kind.found(kind.make(again), kind.texts[:1])


def test_initialised_without_examples(kind: Kind, tmp_path: Path) -> None:
    """As by `spacy assemble` with the config of a trained pipeline."""
    kind.make().to_disk(tmp_path / "trained")
    with pytest.warns(UserWarning, match=rf"W306.*{kind.factory}"):
        spacy_command("assemble", tmp_path / "trained" / "config.cfg", tmp_path / "assembled")
    nlp = spacy.load(tmp_path / "assembled")
    with pytest.raises(ValueError, match=rf"F303.*{kind.factory}"):
        nlp(kind.texts[0])
    if kind.factory != "char_generator":  # which only reads the text
        with pytest.raises(ValueError, match=r"F301|F323|F403"):
            nlp.initialize(lambda: [Example.from_dict(nlp.make_doc("a b c"), {})])


def test_labels_are_given_or_found(kind: Kind) -> None:
    if not kind.labels:
        pytest.skip("has no labels")
    nlp = kind.make()
    pipe: Any = nlp.get_pipe(kind.factory)
    assert pipe.labels == kind.labels
    assert (pipe.add_label("NEW"), pipe.add_label("NEW")) == (1, 0)
    assert pipe.labels == (*kind.labels, "NEW")
    pipe = kind.add(nlp, name="other")
    arguments = {kind.arguments: ners.lexicon()} if kind.arguments else {}
    pipe.initialize(lambda: kind.examples(nlp), nlp=nlp, labels=kind.labels[::-1], **arguments)
    assert pipe.labels == kind.labels[::-1]


def test_added_labels_leave_the_others(kind: Kind, tmp_path: Path) -> None:
    nlp = deepcopy(kind.trained())
    if not kind.factory.endswith("_ner"):
        return
    found, pipe = kind.found(nlp), nlp.get_pipe(kind.factory)
    nlp.resume_training()
    pipe.add_label("NEW")
    with pytest.warns(UserWarning, match="W308"):
        nlp.update(kind.examples(nlp), sgd=AdamW(0.01))
    assert kind.found(nlp) == found
    compactor = Compactor(nlp)
    compactor.count(kind.texts)
    compactor.apply(min_count=1)
    for same in copies_of(nlp, kind.factory, tmp_path):
        assert kind.found(same) == found
        assert len(same.get_pipe(kind.factory).model.shims[0].module.branches) == 1


def test_two_under_different_names(kind: Kind, trained: Language, tmp_path: Path) -> None:
    nlp = deepcopy(trained)
    alone = kind.make(name="other", steps=1)
    nlp.add_pipe("other", source=alone)
    assert set(nlp.update(kind.examples(nlp), sgd=False, losses={})) == {kind.factory, "other"}
    nlp.to_disk(tmp_path)
    for both in (nlp, spacy.load(tmp_path)):
        for name, only in ((kind.factory, trained), ("other", alone)):
            with both.select_pipes(enable=[name]):
                check_same(kind.found(both), kind.found(only))


def test_traditional_characters_are_read_as_simplified(
    kind: Kind, trained: Language, tmp_path: Path
) -> None:
    def respelled(value: Any, script: str) -> Any:
        return converter(script).convert(value) if isinstance(value, str) else value

    texts = [respelled(text, "s2t") for text in kind.texts]
    assert texts != kind.texts
    trained.to_disk(tmp_path)
    rows = kind.found(spacy.load(tmp_path), texts)
    found = [tuple(respelled(value, "t2s") for value in row) for row in rows]
    check_same(found, kind.found(trained, kind.texts))


# Saving


def components_of(nlp: Language) -> str:
    """As JSON, which has lists for tuples."""
    return json.dumps(nlp.config["components"], sort_keys=True)


@pytest.mark.parametrize("kind", [*KINDS, *VARIANTS], ids=lambda kind: kind.factory)
def test_copies_find_the_same(kind: Kind, trained: Language, tmp_path: Path) -> None:
    expected = kind.found(trained)
    for nlp in copies_of(trained, kind.factory, tmp_path):
        assert kind.found(nlp) == expected
        assert components_of(nlp) == components_of(trained)


def test_a_copy_is_apart(kind: Kind, trained: Language) -> None:
    expected = kind.found(trained)
    nlp = deepcopy(trained)
    kind.losses(nlp, 1, AdamW(0.1))
    assert kind.found(trained) == expected
    assert kind.found(nlp) != expected


def test_settings_are_checked_and_saved(kind: Kind, trained: Language, tmp_path: Path) -> None:
    """Once they are written into the config, an edit of it counts."""
    nlp = deepcopy(trained)
    pipe: Any = nlp.get_pipe(kind.factory)
    names = [own.name for own in pipe.settings() if isinstance(own.default, bool)]
    switches = {name: getattr(pipe, name) for name in names}
    for name, value in switches.items():
        with pytest.raises(ValueError, match=rf"F310.*{kind.factory}.*{name}"):
            setattr(pipe, name, int(value))
        setattr(pipe, name, not value)
    nlp.to_disk(tmp_path)
    edited = {"components": {kind.factory: switches}}
    loaded = spacy.load(tmp_path, config=edited)
    assert kind.found(loaded) == kind.found(nlp)
    for name, value in switches.items():
        assert getattr(loaded.get_pipe(kind.factory), name) is not value
    pipe.write_settings(nlp.get_pipe_config(kind.factory))
    nlp.to_disk(tmp_path)
    written = load_config(tmp_path / "config.cfg")["components"][kind.factory]
    loaded = spacy.load(tmp_path, config=edited)
    for name, value in switches.items():
        assert written[name] is not value
        assert getattr(loaded.get_pipe(kind.factory), name) is value


def test_loading_executes_nothing_from_the_files(
    kind: Kind, trained: Language, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained.to_disk(tmp_path)

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("loading unpickles")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    monkeypatch.setattr(torch, "load", refuse)
    assert kind.found(spacy.load(tmp_path)) == kind.found(trained)


def test_what_the_weights_rely_on_cannot_be_changed(
    kind: Kind, trained: Language, tmp_path: Path
) -> None:
    trained.to_disk(tmp_path)
    model = trained.config["components"][kind.factory]["model"]
    for name, block in model.items():
        if isinstance(block, dict) and "@misc" in block:
            fixed = registry.resolve({"options": block})["options"].fixed()
            option = next(each for each in fixed if type(fixed[each]) is int)
            changed = blocks(kind.factory, {name: {option: 2 * fixed[option]}})
            config = {"components": {kind.factory: {"model": changed}}}
            with pytest.raises(ValueError, match=rf"F309.*F307.*model.{name}: .* {option} = "):
                spacy.load(tmp_path, config=config)


def test_damaged_files(kind: Kind, trained: Language, tmp_path: Path) -> None:
    """A flipped bit or a lost end anywhere is noticed, and the folder named."""
    folder = tmp_path / kind.factory
    pipe: Any = deepcopy(trained).get_pipe(kind.factory)
    pipe.to_disk(folder)
    whole, cfg = (folder / "model").read_bytes(), (folder / "cfg").read_text()
    for share in (0.0, 0.3, 0.999):
        place = int(share * len(whole))
        flipped = bytes([whole[place] ^ 4])
        for data in (whole[:place], whole[:place] + flipped + whole[place + 1 :], whole + b" "):
            (folder / "model").write_bytes(data)
            with pytest.raises(ValueError, match=rf"F309.*{kind.factory}.*F200"):
                pipe.from_disk(folder)
    (folder / "model").write_bytes(whole)
    for damaged in ("", "{}", '{"changed": []}'):
        (folder / "cfg").write_text(damaged)
        with pytest.raises(ValueError, match=rf"F309.*{kind.factory}"):
            pipe.from_disk(folder)
    for fields in ({"cfg": "{}", "model": whole}, {"model": whole}):
        with pytest.raises(ValueError, match=rf"F309.*{kind.factory}"):
            pipe.from_bytes(srsly.msgpack_dumps(fields))
    (folder / "cfg").unlink()
    with pytest.raises(ValueError, match=rf"F309.*{kind.factory}"):
        pipe.from_disk(folder)
    (folder / "cfg").write_text(cfg)
    pipe.from_disk(folder)


def test_weights_that_are_not_numbers(kind: Kind, trained: Language) -> None:
    """Also where there were predictions before."""
    nlp = deepcopy(trained)
    nlp(kind.texts[0])
    weights = next(nlp.get_pipe(kind.factory).shim.module.parameters())  # type: ignore[attr-defined]
    with torch.no_grad():
        weights.view(-1)[0] = float("nan")
    with pytest.raises(ValueError, match="F240"):
        nlp(kind.texts[0])


@pytest.mark.parametrize("bits", [4, 8, 16])
def test_in_few_bits(kind: Kind, trained: Language, tmp_path: Path, bits: Any) -> None:
    """It finds much the same, the more the more bits; what is saved is small and finds the same as
    what was compressed; and training goes on."""
    nlp = deepcopy(trained)
    Compactor(nlp).apply(bits=bits)
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    assert kind.found(loaded) == kind.found(nlp)
    sizes = [len(each.get_pipe(kind.factory).to_bytes()) for each in (nlp, loaded, trained)]  # type: ignore[attr-defined]
    assert sizes[0] == sizes[1] < sizes[2] * (0.75 if bits == 16 else 0.6)
    if bits > 4:
        losses = [kind.losses(each, 1)[0] for each in (loaded, trained)]
        assert losses[0] == pytest.approx(losses[1], rel=0.1, abs=0.1)
    kind.losses(loaded, 1, AdamW(0.01))
    again = deepcopy(loaded)
    assert again.to_bytes() == loaded.to_bytes() != nlp.to_bytes()
    assert kind.found(again) == kind.found(loaded)


# Running


def test_odd_texts(kind: Kind, trained: Language) -> None:
    for nlp in (trained, ners.blank("jieba"), spacy.blank("en")):
        if nlp is not trained:
            nlp.add_pipe(kind.factory, source=trained)
        for text in ODD:
            doc = nlp(text)
            assert doc.text == text
            kind.written(doc)
            if kind.labels == LABELS:
                ends = [end for _, end, _ in doc._.char_ents]
                starts = [start for start, _, _ in doc._.char_ents]
                assert all(map(int.__le__, [0, *ends], [*starts, len(doc.text)]))
                assert all(token.ent_iob_ != "" for token in doc)


def test_a_hundred_thousand_characters(kind: Kind, trained: Language) -> None:
    """Without the end of a sentence; memory stays bounded."""
    nlp = deepcopy(trained)
    pipe: Any = nlp.get_pipe(kind.factory)
    if kind.factory == "seq2seq_translator":
        pipe.max_ratio = 0.1
    text = kind.long * (100_000 // len(kind.long) + 1)
    if kind.factory == "re2_similarity":
        text = join_pair(text, kind.long)
    before = peak_megabytes()
    doc = nlp(text)
    assert peak_megabytes() - before < 400
    assert doc.text == text
    assert kind.written(doc)
    if kind.labels == LABELS:
        assert len(doc.ents) > 20_000  # at the borders of forced cuts, too


def test_pipe_is_one_by_one(kind: Kind, trained: Language) -> None:
    texts = kind.texts + ODD
    expected = [kind.written(trained(text)) for text in texts]
    for batch_size in (1, 3, 100):
        check_same(kind.found(trained, texts, batch_size=batch_size), expected)
    pairs = list(
        trained.pipe([(text, number) for number, text in enumerate(texts)][::-1], as_tuples=True)
    )  # type: ignore[call-overload]
    check_same([kind.written(doc) for doc, _ in pairs], expected[::-1])
    assert [number for _, number in pairs] == [*range(len(texts))][::-1]


def test_threads(kind: Kind, trained: Language) -> None:
    expected = kind.found(trained)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: kind.found(trained), range(4)):
            check_same(found, expected)


# Settings, and values for them that change what is predicted
CHANGES: dict[str, dict[str, Any]] = {
    "flat_ner": {"threshold": {"PER": 1.0}, "overwrite": True},
    "tener_ner": {"label_map": {"PER": "", "LOC": "PLACE"}, "confidence": True, "alternatives": 2},
    "re2_similarity": {"cosine": 9.0, "temperature": 9.0, "positive_label": "different"},
    "char_generator": {"suspicion": 0.1},
    "seq2seq_translator": {"carry_names": False, "names": {"我喜": "Xanadu"}},
}


def test_another_thread_changes_a_setting(kind: Kind) -> None:
    """At any moment of a prediction, which has one state of it."""
    nlp = deepcopy(kind.trained())
    pipe: Any = nlp.get_pipe(kind.factory)
    odd = join_pair("茶", "茶"), "床前名月光"  # equal texts, and a homophone
    docs = [nlp.make_doc(text) for text in (*kind.texts[:3], *odd)]
    for doc in docs[:2]:
        doc.set_ents([Span(doc, 0, 2, "LOC")])
    due: list[Any] = []  # the reads of attributes before a change, a setting, its new value

    class Watched(type(pipe)):  # type: ignore[misc]
        def __getattribute__(self, name: str) -> Any:
            if due:
                due[0] -= 1
                if due[0] == 0:
                    setattr(self, *due[1:])
            return super().__getattribute__(name)

    pipe.__class__ = Watched
    for name, value in CHANGES[kind.factory].items():
        values, allowed = [getattr(pipe, name), value], []
        for each in values:
            setattr(pipe, name, each)
            allowed.append(repr(pipe.predict(docs)))
        assert allowed[0] != allowed[1]
        for old, new in (values, values[::-1]):
            for moment in count(1):
                due.clear()
                setattr(pipe, name, old)
                due[:] = moment, name, new
                assert repr(pipe.predict(docs)) in allowed, (name, moment)
                if due[0] > 0:
                    break
            due.clear()
        setattr(pipe, name, values[0])


def test_memory_zone(kind: Kind, trained: Language) -> None:
    expected = kind.found(trained)
    size = len(trained.vocab.strings)
    with trained.memory_zone():
        check_same(kind.found(trained, [*kind.texts, *ODD, "编号12345"])[:-1], expected)
    assert len(trained.vocab.strings) == size


def test_docs_are_saved_with_user_data(kind: Kind, trained: Language) -> None:
    docs = list(trained.pipe(kind.texts))
    data = DocBin(docs=docs, store_user_data=True).to_bytes()
    again = list(DocBin().from_bytes(data).get_docs(ners.blank().vocab))
    again += pickle.loads(pickle.dumps(docs))
    again += [Doc(trained.vocab).from_bytes(doc.to_bytes()) for doc in docs]
    assert list(map(kind.written, again)) == 3 * list(map(kind.written, docs))


WORKERS = """
import multiprocessing, pickle, sys
import torch

def main():
    torch.set_num_threads(2)
    torch.rand(500, 500) @ torch.rand(500, 500)  # torch now has threads, which no fork copies
    with open(sys.argv[1], "rb") as file:
        nlp, texts = pickle.load(file)
    multiprocessing.set_start_method(sys.argv[2])
    with open(sys.argv[3], "wb") as file:
        runs = nlp.pipe(texts), nlp.pipe(texts, n_process=2, batch_size=3)
        pickle.dump([[doc.to_bytes() for doc in run] for run in runs], file)

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_worker_processes(tmp_path: Path, method: str) -> None:
    """All components in one pipeline."""
    if method == "fork" and sys.platform != "linux":
        pytest.skip("fork is for Linux")
    nlp = ners.blank()
    for kind in KINDS:
        nlp.add_pipe(kind.factory, source=kind.trained())
    data, script, out = (tmp_path / name for name in ("data", "workers.py", "out"))
    # In a row of characters that are all unknown, taggings have equal probabilities.
    texts = [text for kind in KINDS[1:] for text in kind.texts if "１２３" not in text]
    data.write_bytes(pickle.dumps((nlp, texts)))
    script.write_text(WORKERS, encoding="utf-8")
    subprocess.run([sys.executable, script, data, method, out], check=True, timeout=200)
    here, there = (
        [Doc(nlp.vocab).from_bytes(doc) for doc in docs] for docs in pickle.loads(out.read_bytes())
    )
    assert any(doc.ents for doc in here)
    for kind in KINDS:
        check_same(list(map(kind.written, there)), list(map(kind.written, here)))


# Training


def test_gold_of_other_tokens(kind: Kind, trained: Language) -> None:
    """The gold standard is of characters, whatever the tokens are."""
    same = deepcopy(trained)
    nlp = ners.blank("jieba")
    nlp.add_pipe(kind.factory, source=same)
    examples = kind.examples(nlp)
    assert any(len(example.predicted) < len(example.predicted.text) for example in examples)
    assert kind.losses(nlp, 1) == pytest.approx(kind.losses(same, 1), rel=1e-4)


def test_gradient_is_the_same_in_any_batches(kind: Kind) -> None:
    found = []
    for batch_size in (1, 60, 10**5):
        nlp = kind.make()
        pipe: Any = nlp.get_pipe(kind.factory)
        pipe.placeholder_rate = 0.0  # which is drawn for each batch
        featuriser = pipe.model.attrs["featuriser"]
        options = replace(featuriser.options, batch_size=batch_size)
        pipe.model.attrs["featuriser"] = replace(featuriser, options=options)
        kind.losses(nlp, 1)
        parameters = pipe.shim.module.named_parameters()
        found.append({name: each.grad.to_dense() for name, each in parameters})
    for gradients in found[:-1]:
        torch.testing.assert_close(gradients, found[-1], atol=1e-5, rtol=1e-3)


def test_frozen_annotating_and_disabled(
    kind: Kind, trained: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    nlp = deepcopy(trained)
    other: Any = nlp.add_pipe("other", source=kind.make(name="other"))
    seen: list[Written] = []
    monkeypatch.setattr(
        other,
        "update",
        lambda examples, **_: seen.extend(kind.written(each.predicted) for each in examples),
    )
    options = {"exclude": [kind.factory], "annotates": [kind.factory]}
    examples = kind.examples(nlp)
    nlp.update(examples, sgd=AdamW(0.1), **options)
    check_same(seen, kind.found(trained, [example.text for example in examples]))
    nlp.remove_pipe("other")
    check_same(kind.found(nlp), kind.found(trained))
    with nlp.select_pipes(disable=[kind.factory]):
        for text in kind.texts:
            assert nlp(text).to_bytes() == nlp.make_doc(text).to_bytes()


def test_dropouts_are_for_training(kind: Kind) -> None:
    """With the default settings."""
    nlp = ners.blank()
    nlp.add_pipe(kind.factory)
    kind.initialise(nlp)
    assert kind.found(nlp, kind.texts[:2]) == kind.found(nlp, kind.texts[:2])
    assert len({*kind.losses(nlp, 2)}) == 2


def test_an_update_that_fails_leaves_no_gradients(kind: Kind) -> None:
    nlp = kind.make()
    pipe: Any = nlp.get_pipe(kind.factory)
    backward = pipe.backward

    def fail(*arguments: Any) -> None:
        backward(*arguments)
        raise KeyboardInterrupt

    pipe.backward = fail
    with pytest.raises(KeyboardInterrupt):
        nlp.update(kind.examples(nlp), sgd=AdamW(0.1))
    parameters = pipe.shim.module.parameters()
    assert all(each.grad is None or not each.grad.to_dense().any() for each in parameters)


# Commands


def spacy_command(*arguments: object) -> None:
    result = CliRunner().invoke(spacy_app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, (result.output, result.exception)


def test_commands_of_spacy(kind: Kind, trained: Language, tmp_path: Path) -> None:
    pipeline, data, texts = (tmp_path / name for name in ("pipeline", "data.spacy", "texts.jsonl"))
    trained.to_disk(pipeline)
    docs = [example.reference for example in kind.examples(trained)]
    DocBin(docs=docs, store_user_data=True).to_disk(data)
    srsly.write_jsonl(texts, [{"text": text} for text in kind.texts])

    spacy_command("apply", pipeline, texts, tmp_path / "out.spacy")
    applied = DocBin().from_disk(tmp_path / "out.spacy").get_docs(ners.blank().vocab)
    check_same(list(map(kind.written, applied)), kind.found(trained, kind.texts))
    spacy_command("evaluate", pipeline, data, "--output", tmp_path / "metrics.json")
    scores = trained.evaluate(kind.examples(trained))
    found = srsly.read_json(tmp_path / "metrics.json")
    assert found.keys() & scores.keys() > {"speed"}
    if kind.labels:
        metric = "ents_f" if kind.labels == LABELS else "pairs_f"
        spacy_command("find-threshold", pipeline, data, kind.factory, "threshold", metric)
    spacy_command(
        *("benchmark", "speed", pipeline, data, "--batches", 30, "--batch-size", 4, "--no-shuffle")
    )

    (tmp_path / "base.cfg").write_text(
        f'[nlp]\nlang = "zh"\npipeline = ["{kind.factory}"]\n'
        f'[components]\n[components.{kind.factory}]\nfactory = "{kind.factory}"\n'
    )
    spacy_command("init", "fill-config", tmp_path / "base.cfg", tmp_path / "config.cfg")
    config = spacy.util.load_config(tmp_path / "config.cfg")
    assert config["components"][kind.factory]["model"]["network"]["variant"] is None
    nlp = ners.blank()
    kind.add(nlp, name=kind.factory)
    config["components"] = nlp.config["components"]
    config["paths"] |= {"train": str(data), "dev": str(data)}
    if kind.arguments:
        block = {kind.arguments: {"@misc": f"test.{kind.arguments}"}}
        config["initialize"]["components"] = {kind.factory: block}
    config["training"].update(max_steps=4, eval_frequency=2, patience=0)
    config.to_disk(tmp_path / "config.cfg")
    spacy_command("debug", "config", tmp_path / "config.cfg")
    if kind.labels:
        spacy_command("init", "labels", tmp_path / "config.cfg", tmp_path)
        path = tmp_path / f"{kind.factory}.json"
        assert tuple(srsly.read_json(path)) == kind.labels
        labels = {"@readers": "spacy.read_labels.v1", "path": str(path)}
        initialised = config["initialize"]["components"].setdefault(kind.factory, {})
        initialised["labels"] = labels
        config.to_disk(tmp_path / "config.cfg")
    spacy_command("train", tmp_path / "config.cfg", "--output", tmp_path)
    best = spacy.load(tmp_path / "model-best")
    assert best.meta["performance"].keys() & scores.keys()
    assert getattr(best.get_pipe(kind.factory), "labels", ()) == kind.labels
    config["components"] = {kind.factory: {"source": str(pipeline)}}
    config.to_disk(tmp_path / "config.cfg")
    spacy_command("assemble", tmp_path / "config.cfg", tmp_path / "assembled")
    check_same(kind.found(spacy.load(tmp_path / "assembled")), kind.found(trained))


# Errors


def test_each_code_of_the_package_has_one_text_and_each_text_is_used() -> None:
    folder = Path(spacy_flat.__file__).parent
    package = "".join(path.read_text("utf-8") for path in folder.rglob("*.py"))
    written = re.findall(r"^    ([FW]\d+) = .\[\1\] ", package, re.MULTILINE)
    used = set(re.findall(r"\b(?:Errors|Warnings)\.([FW]\d+)", package))
    assert written == sorted(used)
