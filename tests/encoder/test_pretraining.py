"""Pretraining on raw text: what is read, what is masked, and that a killed training goes on."""

import inspect
import json
import math
import re
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from typer.testing import CliRunner

from spacy_flat.cli import app
from spacy_flat.cli.pretrain import pretrain as pretrain_command
from spacy_flat.encoder import training
from spacy_flat.encoder.blocks import HELD_OUT_EVERY, Place, RawText
from spacy_flat.encoder.featuriser import END, MARKS, MASK, START, UNKNOWN, CharacterFeaturiser
from spacy_flat.encoder.masking import Masking
from spacy_flat.encoder.network import EncoderSizes
from spacy_flat.encoder.objectives import PretrainBatch, ReplacedTokens, TwoWayLM
from spacy_flat.encoder.options import Budget, PretrainOptions
from spacy_flat.encoder.recipes import Objective
from spacy_flat.encoder.storage import WEIGHTS
from spacy_flat.encoder.training import CHECKPOINTS, RUN, TENSORS, Report, pretrain, rate_share
from spacy_flat.lexicon import Entry, Lexicon
from spacy_flat.util.files import locked

from .conftest import OBJECTIVES, WORDS, options, run, sentences
from .damage import full_disk


class KilledError(Exception):
    """What ends a training."""


def kill_at(step: int) -> object:
    def tell(progress: Report) -> None:
        if progress.step == step:
            raise KilledError

    return tell


# Learning


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_text_that_was_not_read_is_told_better(
    objective: Objective, raw_text: Path, tmp_path: Path
) -> None:
    of_network = {"learn_rate": 0.03, "layers": 1} if objective == "lm" else {"learn_rate": 0.01}
    wanted = options(objective, save_every=10, **of_network)
    run(raw_text, tmp_path, wanted, 100)
    history = json.loads((tmp_path / "pretraining.json").read_text("utf-8"))["history"]
    assert [row["step"] for row in history] == [*range(10, 101, 10)]
    assert history[-1]["held_out"] < 0.9 * history[0]["held_out"]


def test_the_rate_rises_and_falls() -> None:
    shares = [rate_share(spent, 0.1) for spent in (0.0, 0.05, 0.1, 0.55, 1.0)]
    assert shares == pytest.approx([0.01, 0.5, 1.0, 0.5, 0.0])


def test_gradients_are_clipped(raw_text: Path, tmp_path: Path) -> None:
    """To the norm 1, that of all parameters together; Adam's first mean is a tenth of it."""
    run(raw_text, tmp_path, options("electra"), 1)
    tensors = load_file(tmp_path / CHECKPOINTS / "000000001" / TENSORS)
    means = [tensor.flatten() for name, tensor in tensors.items() if name.startswith("exp_avg.")]
    assert torch.cat(means).norm().item() == pytest.approx(0.1, rel=1e-3)


def test_weight_decay_is_of_matrices_alone(raw_text: Path, tmp_path: Path) -> None:
    """Biases and normalisations learn as they do without it."""
    for decay in (0.0, 10.0):
        wanted = options("mlm", weight_decay=decay, warmup=0.0)
        run(raw_text, tmp_path / str(decay), wanted, 1)
    plain, decayed = (load_file(tmp_path / name / WEIGHTS) for name in ("0.0", "10.0"))
    assert {tensor.dim() for tensor in plain.values()} == {1, 2}
    for name, tensor in plain.items():
        if tensor.dim() == 1:
            assert torch.equal(decayed[name], tensor), name
        else:
            assert decayed[name].norm() < tensor.norm(), name


def test_a_budget_of_hours_ends(raw_text: Path, tmp_path: Path) -> None:
    seconds = iter(range(100_000))
    budget = Budget(hours=0.05)
    done = pretrain([raw_text], tmp_path, options("lm"), budget, clock=lambda: float(next(seconds)))
    assert done.spent == 1.0
    assert done.is_saved
    assert 180 <= done.seconds < 220


@pytest.mark.parametrize("kind", [str, Path])
def test_a_text_that_is_not_in_a_list(
    kind: type[str] | type[Path], raw_text: Path, tmp_path: Path
) -> None:
    with pytest.raises(TypeError, match="F026"):
        pretrain(kind(raw_text), tmp_path, options("lm"), Budget(steps=1))  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("code", "make"),
    [
        *(
            ("F380", lambda given=given: Budget(**given))
            for given in ({}, {"hours": 1, "steps": 1})
        ),
        *(("F341.*steps", lambda n=n: Budget(steps=n)) for n in (-1, 2.5, np.int64(2))),
        *(
            ("F341.*hours", lambda n=n: Budget(hours=n))
            for n in (-1.0, math.inf, math.nan, 10**400)
        ),
        *(("F341.*width", lambda n=n: options("mlm", width=n)) for n in (17, 2.5)),
        ("F341.*masked", lambda: options("mlm", masked=0.0)),
        ("F341.*length", lambda: options("mlm", length=4)),
        ("F341.*precision", lambda: options("mlm", precision="fp16")),
        ("F341.*learn_rate", lambda: options("mlm", learn_rate=math.inf)),
        ("F341.*seed", lambda: options("mlm", seed=2**64)),
    ],
)
def test_wrong_options(code: str, make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=code):
        make()


# Going on


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_killed_training_goes_on(objective: Objective, raw_text: Path, tmp_path: Path) -> None:
    """It ends with the weights of one that nobody killed. The text is read several times."""
    wanted = options(objective, save_every=30, dropout=0.1, batch=16)
    run(raw_text, tmp_path / "whole", wanted, 70)
    with pytest.raises(KilledError):
        run(raw_text, tmp_path / "killed", wanted, 70, tell=kill_at(50))
    done = run(raw_text, tmp_path / "killed", wanted, 70, resume=True)
    assert done.step == 70
    assert done.epoch > 0
    whole, killed = (load_file(tmp_path / name / WEIGHTS) for name in ("whole", "killed"))
    for name, tensor in whole.items():
        torch.testing.assert_close(killed[name], tensor, rtol=1e-5, atol=1e-6)
    files = [(tmp_path / name / "pretraining.json") for name in ("whole", "killed")]
    rows = [json.loads(file.read_text("utf-8"))["history"] for file in files]
    for before, after in zip(*rows, strict=True):
        assert after["held_out"] == pytest.approx(before["held_out"], rel=1e-5)


def test_a_finished_training_stays(raw_text: Path, tmp_path: Path) -> None:
    """Also with a budget that is spent at once, after one step."""
    budget = Budget(hours=1e-9)
    done = pretrain([str(raw_text)], str(tmp_path), options("lm"), budget)
    assert (done.step, done.is_saved) == (1, True)
    before = (tmp_path / WEIGHTS).read_bytes()
    assert pretrain([raw_text], tmp_path, options("lm"), budget, resume=True) == done
    assert (tmp_path / WEIGHTS).read_bytes() == before


def test_a_finished_training_has_its_encoder(
    raw_text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that was killed behind its last checkpoint, before the encoder was written."""

    def killed(*_: object) -> None:
        raise KilledError

    wanted = options("mlm")
    run(raw_text, tmp_path / "whole", wanted, 3)
    with monkeypatch.context() as context:
        context.setattr(training, "write_encoder", killed)
        with pytest.raises(KilledError):
            run(raw_text, tmp_path / "killed", wanted, 3)
    assert not (tmp_path / "killed" / WEIGHTS).exists()
    run(raw_text, tmp_path / "killed", wanted, 3, resume=True)
    whole, killed_ = (load_file(tmp_path / name / WEIGHTS) for name in ("whole", "killed"))
    for name, tensor in whole.items():
        torch.testing.assert_close(killed_[name], tensor, rtol=1e-5, atol=1e-6)
    history = json.loads((tmp_path / "killed" / RUN).read_text("utf-8"))["history"]
    assert [row["step"] for row in history] == [3]


def test_another_run_in_the_folder(raw_text: Path, tmp_path: Path) -> None:
    wanted, other = options("mlm"), tmp_path / raw_text.name
    other.write_text(raw_text.read_text("utf-8").replace("王", "赵"), "utf-8")
    run(raw_text, tmp_path / "run", wanted, 2)
    words = Lexicon(Entry(f"词{number}") for number in range(len(WORDS)))
    for changed, texts, steps, how in [
        ("options.*seed was 1, is 2", [raw_text], 2, {"options": options("mlm", seed=2)}),
        ("budget", [raw_text], 3, {}),
        ("texts", [other], 2, {}),  # of the same size
        ("texts", [raw_text, other], 2, {}),
        ("words", [raw_text], 2, {"words": words}),
    ]:
        given = {"options": wanted, "budget": Budget(steps=steps), "words": WORDS, **how}
        with pytest.raises(ValueError, match=f"F386.*{changed}"):
            pretrain(texts, tmp_path / "run", resume=True, **given)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="F441"):
        run(raw_text, tmp_path / "run", wanted, 2)
    with pytest.raises(NotADirectoryError, match="F138"):
        run(raw_text, other, wanted, 2)


@pytest.mark.parametrize(("save_every", "steps"), [(1000, 40), (1, 3)])
def test_what_diverged_is_not_saved(
    save_every: int, steps: int, raw_text: Path, tmp_path: Path
) -> None:
    wanted = options("mlm", learn_rate=1e30, save_every=save_every)
    with pytest.raises(ValueError, match="F387"):
        run(raw_text, tmp_path, wanted, steps)
    assert not (tmp_path / WEIGHTS).exists()


@pytest.mark.parametrize("killed_at", [0, 2])
def test_what_a_killed_run_had_begun_to_write(
    killed_at: int, raw_text: Path, tmp_path: Path
) -> None:
    wanted = options("lm", save_every=2)
    if killed_at:
        with pytest.raises(KilledError):
            run(raw_text, tmp_path, wanted, 6, tell=kill_at(killed_at))
    (tmp_path / ".gitkeep").touch()
    (tmp_path / "tmpabcd.tmp").mkdir()
    (tmp_path / "tmpabcd.tmp" / WEIGHTS).write_bytes(b"half")
    run(raw_text, tmp_path, wanted, 6, resume=bool(killed_at))
    assert not list(tmp_path.glob("*.tmp"))


def test_a_full_disk(raw_text: Path, tmp_path: Path) -> None:
    """It is told, and the training goes on where there is room again."""
    wanted = options("lm", save_every=1)
    with full_disk(), pytest.raises(OSError, match=rf"F042.*{CHECKPOINTS}"):
        run(raw_text, tmp_path, wanted, 1)
    assert run(raw_text, tmp_path, wanted, 1, resume=True).step == 1


def test_a_folder_of_another_process(raw_text: Path, tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(BlockingIOError, match="F043"):
        run(raw_text, tmp_path, options("lm"), 1)


def test_another_encoder_in_the_folder(raw_text: Path, tmp_path: Path) -> None:
    """A BERT of the user's is not written over."""
    (tmp_path / WEIGHTS).write_bytes(b"mine")
    with pytest.raises(ValueError, match=rf"F395.*{WEIGHTS}"):
        run(raw_text, tmp_path, options("lm"), 2)
    assert [path.name for path in tmp_path.iterdir()] == [WEIGHTS]
    assert (tmp_path / WEIGHTS).read_bytes() == b"mine"


def test_checkpoints_may_become_more_frequent(raw_text: Path, tmp_path: Path) -> None:
    with pytest.raises(KilledError):
        run(raw_text, tmp_path, options("lm", save_every=2), 4, tell=kill_at(2))
    assert run(raw_text, tmp_path, options("lm", save_every=1), 4, resume=True).step == 4


def test_checkpoints_that_are_gone(raw_text: Path, tmp_path: Path) -> None:
    """The encoder is not written over by a training that begins anew."""
    run(raw_text, tmp_path, options("lm"), 2)
    before = (tmp_path / WEIGHTS).read_bytes()
    shutil.rmtree(tmp_path / CHECKPOINTS)
    with pytest.raises(ValueError, match="F384"):
        run(raw_text, tmp_path, options("lm"), 2, resume=True)
    assert (tmp_path / WEIGHTS).read_bytes() == before


@pytest.mark.parametrize("text", ["{}", "[]", '{"options": 1', '{"options": null}'])
def test_a_damaged_run(raw_text: Path, tmp_path: Path, text: str) -> None:
    run(raw_text, tmp_path, options("lm"), 1)
    (tmp_path / RUN).write_text(text, "utf-8")
    with pytest.raises(ValueError, match=rf"F397.*{RUN}"):
        run(raw_text, tmp_path, options("lm"), 1, resume=True)


def test_what_is_known_is_told(
    raw_text: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = raw_text.read_text("utf-8")
    run(raw_text, tmp_path / "all", options("lm"), 1)
    assert "0.00 % of the text's are not" in caplog.text
    run(raw_text, tmp_path / "some", options("lm", vocabulary=3), 1)
    share = 1 - sum(n for _, n in Counter(text.replace("\n", "")).most_common(3)) / len(
        text.replace("\n", "")
    )
    assert f"{100 * share:.2f} % of the text's are not" in caplog.text


def test_one_long_line(raw_text: Path, tmp_path: Path) -> None:
    path = tmp_path / "line.txt"
    text = raw_text.read_text("utf-8").replace("\n", "") * 20
    path.write_text(text, "utf-8")
    assert RawText([path], 18, 1).count().sum() == len(text) > 60_000
    assert run(path, tmp_path / "out", options("lm"), 1).step == 1


def test_the_command_has_the_defaults_of_the_options() -> None:
    command = inspect.signature(pretrain_command).parameters
    found = {
        name: parameter.default.value if isinstance(parameter.default, Enum) else parameter.default
        for name, parameter in command.items()
        if name in vars(PretrainOptions())
    }
    assert len(found) > 10
    assert found == {name: getattr(PretrainOptions(), name) for name in found}


def test_nothing_to_resume(raw_text: Path, tmp_path: Path) -> None:
    """Another folder was meant: the command does not begin a training there."""
    out = tmp_path / "nowhere"
    arguments = ["pretrain", str(raw_text), "--out", str(out), "--steps", "1", "--resume"]
    result = CliRunner().invoke(app, [*arguments, "--objective", "lm"])
    assert result.exit_code == 1
    assert "F396" in result.output
    assert not out.exists()


# Texts


def test_reading_goes_on_from_any_place(raw_text: Path) -> None:
    texts = RawText([raw_text], 18, 1)
    batches = list(islice(texts.batches(4, Place()), 30))
    for number, (place, _) in enumerate(batches, 1):
        assert list(islice(texts.batches(4, place), 30 - number)) == batches[number:]


def test_each_epoch_has_its_own_order(raw_text: Path) -> None:
    """And each seed has others."""
    epochs: list[list[str]] = []
    for seed in (1, 2):
        for place, batch in RawText([raw_text], 18, seed).batches(4, Place()):
            if place.epoch == 3:
                break
            if place.batches == 1:
                epochs.append([])
            epochs[-1] += batch
    assert len({tuple(sorted(epoch)) for epoch in epochs}) == 1
    assert len({tuple(epoch) for epoch in epochs}) == 6


def test_what_is_held_out_is_never_learnt(tmp_path: Path) -> None:
    lines = [f"{number:04} {number:05}" for number in range(3 * HELD_OUT_EVERY)]
    path = tmp_path / "text.txt"
    # Skips empty lines; white space is one space.
    path.write_text("\n\n\u3000".join(lines).replace(" ", " \t\xa0") + "\n", "utf-8")
    raw = RawText([path], 11, 1)
    held_out = {block.strip() for block in raw.held_out()}
    assert held_out == set(lines[::HELD_OUT_EVERY])
    learnt = [
        block.strip()
        for place, batch in islice(raw.batches(7, Place()), 400)
        for block in batch
        if place.epoch == 0
    ]
    assert sorted(learnt) == sorted(set(lines) - held_out)
    assert learnt != sorted(learnt)


def test_texts_that_are_too_short(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    for text in ("", "短", "一行而已，没有第二行，" * 10):
        path.write_text(text, "utf-8")
        with pytest.raises(ValueError, match="F381"):
            run(path, tmp_path / "out", options("mlm"), 1)
    with pytest.raises(ValueError, match=r"F381.*\(none\)"):
        pretrain([], tmp_path / "none", options("lm"), Budget(steps=1))
    with pytest.raises(FileNotFoundError, match="F001"):
        run(tmp_path / "none.txt", tmp_path / "out", options("mlm"), 1)
    path.write_text("\n".join(sentences(400)), "utf-8")
    run(path, tmp_path / "out", options("mlm"), 1)  # what failed is not in its way


# Masks


def test_the_vocabulary_is_sorted_by_frequency() -> None:
    counts = np.bincount([ord(char) for char in "乙乙乙甲甲丙   "], minlength=0x110000)
    characters = CharacterFeaturiser.counted(counts, 10, 2)
    assert characters.pieces == [*MARKS, " ", "乙", "甲"]
    keys = characters.keys("甲 丙\n\u3000")
    assert [characters.pieces[key] for key in keys] == ["甲", " ", UNKNOWN, " ", " "]
    packed = characters.block_keys("甲\n乙")
    assert [characters.pieces[key] for key in packed] == ["甲", END, "乙"]
    assert CharacterFeaturiser.from_text(characters.to_text()).pieces == characters.pieces


def test_capital_letters() -> None:
    """An uncased vocabulary reads them as small ones, a cased one does not."""
    simplified = CharacterFeaturiser([*MARKS, " ", "爱", "国", "國"])
    assert simplified.keys("愛國國电電").tolist() == [6, 8, 8, 1, 1]
    small = CharacterFeaturiser([*MARKS, " ", "a", "b"])
    assert small.keys("AbC").tolist() == [6, 7, 1]
    assert CharacterFeaturiser([*MARKS, " ", "a", "B"]).keys("AbB").tolist() == [1, 1, 7]


def masking(objective: Objective = "mlm", masked: float = 0.3) -> tuple[Masking, list[str]]:
    text = "\n".join(sentences(300))
    counts = np.bincount([ord(char) for char in text], minlength=0x110000)
    characters = CharacterFeaturiser.counted(counts, 1000, 1)
    blocks = [text[start : start + 30] for start in range(0, len(text) - 30, 30)]
    return Masking(characters, options(objective, masked=masked), WORDS), blocks


def test_words_are_masked_whole() -> None:
    made, blocks = masking()
    _, places, _ = made.arrays(blocks, np.random.default_rng(1))
    masked = np.zeros((len(blocks), 32), dtype=bool)
    masked.ravel()[places] = True
    whole = 0
    for row, block in enumerate(blocks):
        for word in ("长江大桥", "重庆", "昨天"):
            if word in block:
                start = block.index(word) + 1
                assert len(set(masked[row, start : start + len(word)].tolist())) == 1
                whole += masked[row, start]
    assert whole > 10
    assert not masked[:, [0, -1]].any()
    characters = np.array([list(block) for block in blocks])
    assert not masked[:, 1:-1][characters == "\n"].any()
    assert masked.sum() / (characters != "\n").sum() == pytest.approx(0.3, abs=0.03)


def test_what_is_read_instead() -> None:
    """BERT: of ten masked characters eight are masks and one is another; ELECTRA: all are."""
    made, blocks = masking()
    keys, places, originals = made.arrays(blocks, np.random.default_rng(1))
    mask = made.characters.mark(MASK)
    assert (keys[:, 0] == made.characters.mark(START)).all()
    read = keys.ravel()[places]
    assert (read == mask).mean() == pytest.approx(0.8, abs=0.05)
    assert (read == originals).mean() == pytest.approx(0.1, abs=0.05)
    untouched = keys.copy()
    untouched.ravel()[places] = originals
    texts = ["".join(made.characters.pieces[key] for key in row[1:-1]) for row in untouched]
    assert texts == [block.replace("\n", END) for block in blocks]
    keys, places, _ = masking("electra")[0].arrays(blocks, np.random.default_rng(1))
    assert (keys.ravel()[places] == mask).all()


def test_no_mark_is_another_character() -> None:
    """With a vocabulary of two, a mark would be drawn most of the time."""
    characters = CharacterFeaturiser([*MARKS, " ", "甲"])
    made = Masking(characters, options("mlm", masked=0.9))
    keys, places, _ = made.arrays(["甲" * 20_000], np.random.default_rng(1))
    counts = np.bincount(keys.ravel()[places], minlength=len(characters))
    shares = dict(zip(characters.pieces, (counts / len(places)).tolist(), strict=True))
    assert {piece for piece in MARKS if shares[piece]} == {MASK}
    some = {piece: share for piece, share in shares.items() if share}
    assert some == pytest.approx({MASK: 0.8, " ": 0.05, "甲": 0.15}, abs=0.01)


@pytest.mark.parametrize("ways", [["--whole-words"], ["--characters"]])
def test_the_command_masks_words_whole(
    ways: list[str],
    few_words: None,
    raw_text: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those of the word list, which jieba doesn't know; unless characters are asked for."""
    words = {found[0] for line in sentences(400) if (found := re.match(".经理..在", line))}
    (tmp_path / "words.txt").write_text("\n".join(words), "utf-8")
    masked: set[int] = set()  # how many characters of a word
    arrays = Masking.arrays

    def watched(self: Masking, blocks: Sequence[str], rng: np.random.Generator) -> Any:
        keys, places, originals = arrays(self, blocks, rng)
        is_masked = np.zeros(keys.shape, dtype=np.bool_)
        is_masked.ravel()[places] = True
        for row, block in zip(is_masked[:, 1:-1], blocks, strict=True):
            for found in re.finditer("|".join(words), block):
                masked.add(int(row[found.start() : found.end()].sum()))
        return keys, places, originals

    monkeypatch.setattr(Masking, "arrays", watched)
    arguments = ["pretrain", str(raw_text), "--out", str(tmp_path / "out"), "--steps", "10"]
    arguments += f"--objective mlm --lexicon {tmp_path}/words.txt --width 12 --length 20".split()
    result = CliRunner().invoke(app, [*arguments, *ways])
    assert result.exit_code == 0, result.output
    if ways == ["--whole-words"]:
        assert masked == {0, 6}
    else:
        assert masked >= {0, 1, 2}


def test_a_language_model_masks_nothing() -> None:
    made, blocks = masking("lm")
    keys, places, _ = made.arrays(blocks, np.random.default_rng(1))
    assert len(places) == 0
    assert made.characters.mark(MASK) not in keys


def test_electra_has_one_table_of_embeddings() -> None:
    """The generator has none of its own, neither of characters nor of positions."""
    sizes = EncoderSizes("transformer", 500, 16, 2, 30, heads=2, ff=64)
    network = ReplacedTokens(sizes, PretrainOptions(objective="electra"))
    shapes = [tuple(parameter.shape) for parameter in network.parameters()]
    assert shapes.count((500, 16)) == 1
    assert shapes.count((30, 16)) == 1


def test_electra_tells_what_was_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three masked characters the generator writes one as it was. Where the generator finds all
    keys equally likely, and the discriminator gives all characters one score, the loss can be told
    by hand."""
    sizes = EncoderSizes("transformer", 500, 16, 2, 30, heads=2, ff=64)
    network = ReplacedTokens(sizes, PretrainOptions(objective="electra"))
    with torch.no_grad():
        for parameter in network.generator_head.parameters():
            parameter.zero_()
        network.head["dense_prediction"].weight.zero_()
        network.head["dense_prediction"].bias.fill_(-1.0)
    monkeypatch.setattr(torch, "multinomial", lambda *_: torch.tensor([[7], [8], [8]]))
    masks = torch.tensor([[2, 3, 5], [7, 9, 9]])
    batch = PretrainBatch(torch.ones(1, 10, dtype=torch.long), *masks)
    own, replaced = math.log1p(math.exp(-1)), math.log1p(math.exp(1))
    expected = math.log(500) + 50 * (8 * own + 2 * replaced) / 10
    assert network(batch).item() == pytest.approx(expected, rel=1e-5)


def test_sampled_softmax_leaves_the_target_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample that is the character to be told is not one to tell it from: as computed slowly for
    fixed samples."""
    n, samples, keys = 12, [0, 3, 3, 7, 1], [0, 3, 7, 5, 2, 3, 1, 11, 3]
    draws = [math.log(key + 1.5) / math.log(n + 1) for key in samples]
    monkeypatch.setattr(torch, "rand", lambda *_, **__: torch.tensor(draws))
    torch.manual_seed(1)
    sizes, none = EncoderSizes("lstm", n, 8, 1, 9), torch.zeros(0, dtype=torch.long)
    network = TwoWayLM(sizes, PretrainOptions(objective="lm", samples=len(samples)))

    def loss(scores: torch.Tensor, target: int) -> float:
        total = math.exp(scores[target])
        for key in samples:
            if key != target:
                times = len(samples) * math.log((key + 2) / (key + 1)) / math.log(n + 1)
                total += math.exp(scores[key]) / times
        return math.log(total) - float(scores[target])

    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(std=0.5)
        left, right = network.encoder(torch.tensor([keys]))[-1][0].split(8, dim=1)
        table = network.encoder.embeddings.weight
        following = network.forward_head(left) @ table.T + network.bias
        previous = network.backward_head(right) @ table.T + network.bias
        found = network.train()(PretrainBatch(torch.tensor([keys]), none, none))
    losses = [loss(scores, key) for scores, key in zip(following[:-1], keys[1:], strict=True)]
    losses += [loss(scores, key) for scores, key in zip(previous[1:], keys[:-1], strict=True)]
    assert found.item() == pytest.approx(sum(losses) / len(losses), rel=1e-5)
