"""Pretraining on raw text: what is read, what is masked, and that a killed training goes on."""

import gzip
import json
import lzma
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from typer.testing import CliRunner

from spacy_flat.cli import app
from spacy_flat.encoder import training
from spacy_flat.encoder.blocks import HELD_OUT_EVERY, Place, RawText
from spacy_flat.encoder.masking import Masking
from spacy_flat.encoder.options import Budget, Objective, PretrainOptions
from spacy_flat.encoder.storage import WEIGHTS
from spacy_flat.encoder.training import CHECKPOINTS, RUN, Progress, pretrain, rate_share
from spacy_flat.encoder.vocabulary import END, MARKS, MASK, START, UNKNOWN, Characters

from .conftest import OBJECTIVES, WORDS, one_thread, options, run, sentences
from .damage import damage


class KilledError(Exception):
    """What ends a training."""


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with one_thread():
        yield


def kill_at(step: int) -> object:
    def tell(progress: Progress) -> None:
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


def test_a_budget_of_hours_ends(raw_text: Path, tmp_path: Path) -> None:
    seconds = iter(range(100_000))
    budget = Budget(hours=0.05)
    done = pretrain([raw_text], tmp_path, options("lm"), budget, clock=lambda: float(next(seconds)))
    assert done.spent == 1.0
    assert done.is_saved
    assert 180 <= done.seconds < 220


@pytest.mark.parametrize("given", [{}, {"hours": 1.0, "steps": 1}, {"steps": -1}])
def test_budgets(given: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="F380"):
        Budget(**given)  # type: ignore[arg-type]


def test_a_loss_that_is_not_finite(raw_text: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="F387"):
        run(raw_text, tmp_path, options("mlm", learn_rate=1e30), 40)
    assert not (tmp_path / WEIGHTS).exists()


@pytest.mark.parametrize(("name", "value"), [("width", 17), ("masked", 0.0), ("length", 4)])
def test_wrong_options(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"F341\] {name} = {value}"):
        options("mlm", **{name: value})


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
    done = run(raw_text, tmp_path, options("lm"), 3)
    before = (tmp_path / WEIGHTS).read_bytes()
    assert run(raw_text, tmp_path, options("lm"), 3, resume=True) == done
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


def test_the_last_two_checkpoints_are_kept(raw_text: Path, tmp_path: Path) -> None:
    run(raw_text, tmp_path, options("lm", save_every=1), 5)
    names = sorted(path.name for path in (tmp_path / CHECKPOINTS).iterdir())
    assert names == ["000000004", "000000005"]


@pytest.mark.parametrize("name", ["state.json", "tensors.safetensors", "checksums.json"])
@pytest.mark.parametrize("how", ["cut", "flipped", "missing"])
def test_damaged_checkpoints(name: str, how: str, raw_text: Path, tmp_path: Path) -> None:
    wanted = options("lm", save_every=2)
    run(raw_text, tmp_path, wanted, 6)
    before = load_file(tmp_path / WEIGHTS)
    damage(tmp_path / CHECKPOINTS / "000000006" / name, how)
    with pytest.warns(UserWarning, match=r"W380.*000000006"):
        run(raw_text, tmp_path, wanted, 6, resume=True)
    after = load_file(tmp_path / WEIGHTS)
    assert all(torch.allclose(after[name], before[name], atol=1e-6) for name in before)
    for step in (4, 6):
        damage(tmp_path / CHECKPOINTS / f"{step:09}" / name, how)
    with pytest.warns(UserWarning, match="W380"), pytest.raises(ValueError, match="F384"):
        run(raw_text, tmp_path, wanted, 6, resume=True)


def test_another_run_in_the_folder(raw_text: Path, tmp_path: Path) -> None:
    run(raw_text, tmp_path / "run", options("lm"), 2)
    with pytest.raises(ValueError, match="F385"):
        run(raw_text, tmp_path / "run", options("lm"), 2)
    with pytest.raises(ValueError, match="F386"):
        run(raw_text, tmp_path / "run", options("lm", seed=2), 2, resume=True)
    with pytest.raises(ValueError, match="F386"):
        run(raw_text, tmp_path / "run", options("lm"), 3, resume=True)
    other = tmp_path / raw_text.name
    other.write_text("别的文章\n" * 1000, "utf-8")
    with pytest.raises(ValueError, match="F386"):
        run(other, tmp_path / "run", options("lm"), 2, resume=True)
    with pytest.raises(NotADirectoryError, match="F138"):
        run(raw_text, other, options("lm"), 2)


def test_another_encoder_in_the_folder(raw_text: Path, tmp_path: Path) -> None:
    """A BERT of the user's is not written over."""
    (tmp_path / WEIGHTS).write_bytes(b"mine")
    with pytest.raises(ValueError, match=rf"F395.*{WEIGHTS}"):
        run(raw_text, tmp_path, options("lm"), 2)
    assert [path.name for path in tmp_path.iterdir()] == [WEIGHTS]
    assert (tmp_path / WEIGHTS).read_bytes() == b"mine"


def test_nothing_to_resume(raw_text: Path, tmp_path: Path) -> None:
    """Another folder was meant: the command does not begin a training there."""
    out = tmp_path / "nowhere"
    arguments = ["pretrain", str(raw_text), "--out", str(out), "--steps", "1", "--resume"]
    result = CliRunner().invoke(app, [*arguments, "--objective", "lm"])
    assert result.exit_code == 1
    assert "F396" in result.output
    assert not out.exists()


# Texts


def test_packed_texts_are_read_as_plain_ones(raw_text: Path, tmp_path: Path) -> None:
    data = raw_text.read_bytes()
    (tmp_path / "t.gz").write_bytes(gzip.compress(data))
    (tmp_path / "t.xz").write_bytes(lzma.compress(data))
    paths = [raw_text, tmp_path / "t.gz", tmp_path / "t.xz"]
    batches = [list(islice(RawText([path], 18, 1).batches(4, Place()), 30)) for path in paths]
    assert batches[0] == batches[1] == batches[2]
    for place, _ in batches[0]:
        going_on = RawText([raw_text], 18, 1).batches(4, place)
        rest = batches[0][[each for each, _ in batches[0]].index(place) + 1 :]
        assert list(islice(going_on, len(rest))) == rest


def test_what_is_held_out_is_never_learnt(tmp_path: Path) -> None:
    lines = [f"{number:010}" for number in range(3 * HELD_OUT_EVERY)]
    path = tmp_path / "text.txt"
    path.write_text("\n\n".join(lines) + "\n", "utf-8")  # empty lines are none
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
    with pytest.raises(FileNotFoundError, match="F001"):
        run(tmp_path / "none.txt", tmp_path / "out", options("mlm"), 1)
    path.write_text("\n".join(sentences(400)), "utf-8")
    run(path, tmp_path / "out", options("mlm"), 1)  # what failed is not in its way


# Characters and masks


def test_the_vocabulary_is_sorted_by_frequency() -> None:
    counts = np.bincount([ord(char) for char in "乙乙乙甲甲丙   "], minlength=0x110000)
    characters = Characters.counted(counts, 10, 2)
    assert characters.pieces == [*MARKS, " ", "乙", "甲"]
    keys = characters.keys("甲 丙\n\u3000")
    assert [characters.pieces[key] for key in keys] == ["甲", " ", UNKNOWN, " ", " "]
    packed = characters.block_keys("甲\n乙")
    assert [characters.pieces[key] for key in packed] == ["甲", END, "乙"]
    assert Characters.from_text(characters.to_text()).pieces == characters.pieces


def test_capital_letters() -> None:
    """An uncased vocabulary reads them as small ones, a cased one does not."""
    small = Characters([*MARKS, " ", "a", "b"])
    assert small.keys("AbC").tolist() == [6, 7, 1]
    assert Characters([*MARKS, " ", "a", "B"]).keys("AbB").tolist() == [1, 1, 7]


def masking(objective: Objective = "mlm", masked: float = 0.3) -> tuple[Masking, list[str]]:
    text = "\n".join(sentences(300))
    counts = np.bincount([ord(char) for char in text], minlength=0x110000)
    characters = Characters.counted(counts, 1000, 1)
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


def test_a_language_model_masks_nothing() -> None:
    made, blocks = masking("lm")
    keys, places, _ = made.arrays(blocks, np.random.default_rng(1))
    assert len(places) == 0
    assert made.characters.mark(MASK) not in keys


def test_sampled_softmax_is_close_to_the_whole() -> None:
    """With many samples the loss in training comes near that over all characters."""
    from spacy_flat.encoder.network import EncoderSizes
    from spacy_flat.encoder.objectives import PretrainBatch, TwoWayLM

    torch.manual_seed(1)
    none = torch.zeros(0, dtype=torch.long)
    batch = PretrainBatch(torch.randint(0, 500, (8, 30)), none, none)
    network = TwoWayLM(
        EncoderSizes("lstm", 500, 16, 1, 30), PretrainOptions(objective="lm", samples=499)
    )
    with torch.no_grad():
        network.bias.normal_(std=0.5)
        whole = network.eval()(batch)
        sampled = torch.stack([network.train()(batch) for _ in range(100)]).mean()
    assert sampled.item() == pytest.approx(whole.item(), rel=0.03)
