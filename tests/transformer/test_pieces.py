"""One piece a character, and windows over long texts."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_flat.text.windows import spread_windows
from spacy_flat.transformer.options import CharacterTransformerOptions
from spacy_flat.transformer.pieces import PieceFeaturiser

from .conftest import WIDTH, make, save_encoder, start

ODD = "2021年NBA\n\t 😀👨‍👩‍👧\u200b\u0007é龘İﷺ上海"


def encoder_of(folder: Path) -> PieceFeaturiser:
    from transformers import AutoTokenizer

    return PieceFeaturiser.of(AutoTokenizer.from_pretrained(folder), str(folder))


def test_each_character_is_a_piece(tiny_bert: Path) -> None:
    """The stock tokenizer joins 2021 and NBA and leaves white space out."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    assert tokenizer.tokenize("2021 NBA\n") == ["2021", "nba"]
    pieces = encoder_of(tiny_bert).keys(ODD)
    expected = [*"2021", "年", *"nba"]
    found = tokenizer.convert_ids_to_tokens(pieces.tolist())
    assert len(found) == len(ODD)
    known = ["[UNK]" if piece not in tokenizer.vocab else piece for piece in expected]
    assert found[:8] == known
    assert known[:4] == ["2", "0", "2", "1"]
    assert known[5] == "n"
    assert found[8:11] == ["[UNK]"] * 3  # "\n", "\t", " "
    assert found[-2:] == ["上", "海"]
    assert found[ODD.index("é")] == "e"


def test_encoder_is_saved(tiny_bert: Path) -> None:
    encoder = encoder_of(tiny_bert)
    again = PieceFeaturiser().from_bytes(encoder.to_bytes())
    assert again == encoder
    assert again.keys(ODD).tolist() == encoder.keys(ODD).tolist()


def test_a_character_of_several_pieces_is_unknown(tiny_bert: Path) -> None:
    """BERT's tokenizer takes accents off, and so a Korean syllable apart."""
    encoder = encoder_of(tiny_bert)
    tokenizer = json.loads(encoder.tokenizer)
    vocabulary = tokenizer["model"]["vocab"]
    vocabulary |= {"\u1100": len(vocabulary), "##\u1161": len(vocabulary) + 1}
    encoder = replace(encoder, tokenizer=json.dumps(tokenizer))
    assert len(encoder._tokenizer.encode("가", add_special_tokens=False).ids) == 2
    assert encoder.keys("가").tolist() == [encoder.unknown]


def test_the_piece_before_a_word_is_no_character() -> None:
    """SentencePiece puts "▁" before a text: joined to the first character, or as a piece."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    pieces = ["<s>", "</s>", "<unk>", "<pad>", "▁", "上", "▁海"]
    unigram = Tokenizer(models.Unigram([(piece, -1.0) for piece in pieces], unk_id=2))
    unigram.pre_tokenizer = pre_tokenizers.Metaspace()
    special = {"cls_token": "<s>", "sep_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=unigram, **special)
    assert tokenizer.tokenize("上") == ["▁", "上"]
    encoder = PieceFeaturiser.of(tokenizer, "mine")
    found = encoder.keys("上海龘 上")
    assert tokenizer.convert_ids_to_tokens(found.tolist()) == ["上", "▁海", "<unk>", "<unk>", "上"]


def test_settings_of_the_tokenizer_do_not_matter(tiny_bert: Path) -> None:
    """Padding and truncation that a tokenizer was saved with are not a character's."""
    encoder = encoder_of(tiny_bert)
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(encoder.tokenizer)
    tokenizer.enable_padding(length=8)
    other = PieceFeaturiser(tokenizer.to_str(), encoder.begin, encoder.end, encoder.unknown)
    assert other.keys("上海").tolist() == encoder.keys("上海").tolist()


@given(st.integers(0, 2000), st.integers(1, 600), st.data())
def test_windows_cover_a_text(length: int, width: int, data: Any) -> None:
    overlap = data.draw(st.integers(0, width // 2))
    windows = spread_windows([length], width, overlap)
    taken = [place for window in windows for place in range(window.first, window.last)]
    assert taken == list(range(length))
    for start_, end, first, last in windows:
        assert end - start_ == min(width, length)
        assert 0 <= start_ <= first < last <= end <= length
        # Nothing is taken from near a border that another window reads further into.
        assert start_ == 0 or first - start_ >= overlap // 2
        assert end == length or end - last >= overlap // 2


def test_batches_hold_each_character_once(tiny_bert: Path) -> None:
    encoder = encoder_of(tiny_bert)
    texts = ["上海", "", "北京大学" * 30, "南", "重庆开业" * 9]
    options = CharacterTransformerOptions(window=20, overlap=8, batch_size=50)
    flat = encoder.keys("".join(texts))
    windows = spread_windows([len(text) for text in texts], options.window, options.overlap)
    batches = list(encoder.batches(encoder.keys("".join(texts)), windows, options.batch_size))
    assert len(batches) > 3
    places = np.concatenate([batch.pieces for batch in batches])
    assert sorted(places.tolist()) == list(range(len(flat)))
    for batch in batches:
        assert batch.keys.ravel()[batch.places].tolist() == flat[batch.pieces].tolist()
        assert (batch.keys[:, 0] == encoder.begin).all()
        lengths = batch.present.sum(1)
        assert (batch.keys[np.arange(len(lengths)), lengths - 1] == encoder.end).all()
        assert not batch.keys[~batch.present].any()
        assert len(lengths) == 1 or (lengths.max() - 2) * len(lengths) <= 50
    assert list(encoder.batches(encoder.keys(""), spread_windows([0, 0], 20, 8), 50)) == []


@pytest.mark.parametrize("segmenter", ["char", "jieba"])
def test_every_character_of_a_token_has_its_own_vector(tiny_bert: Path, segmenter: str) -> None:
    nlp = make(tiny_bert, segmenter)
    start(nlp)
    doc = nlp(ODD + " 在 南京市长江大桥")
    (vectors,) = doc._.trf_data.model_output.last_hidden_state
    assert vectors.shape == (sum(map(len, doc)), WIDTH)
    assert len(np.unique(vectors, axis=0)) == len(vectors)


def test_long_text(tiny_bert: Path) -> None:
    """Of 1,500 characters each has its vector, and those around a border of windows differ little
    from those that the encoder gives where the border is elsewhere."""
    nlp = make(tiny_bert)
    start(nlp)
    text = ("王小明昨天去了上海李雷和韩梅梅住在北京" * 90)[:1500]
    (vectors,) = nlp(text)._.trf_data.model_output.last_hidden_state
    assert vectors.shape == (1500, WIDTH)
    windows = spread_windows([1500], 510, 128)
    assert len(windows) == 4
    network = nlp.get_pipe("transformer").model  # type: ignore[attr-defined]
    for first, end, start_, last in windows:
        alone = network.predict([nlp.make_doc(text[first:end])]).doc_data[0]
        (expected,) = alone.model_output.last_hidden_state
        taken = expected[start_ - first : last - first]
        np.testing.assert_allclose(vectors[start_:last], taken, atol=1e-5)


def test_an_overlap_is_at_most_half_a_window() -> None:
    assert spread_windows([100], 10, 9) == spread_windows([100], 10, 5)


@pytest.mark.parametrize(
    ("kind", "places", "of_tokenizer", "pieces"),
    [
        ("bert", 64, 512, 64),
        # Its positions begin at padding + 1: the padding here is 0, and of 64 places 63 are read.
        ("roberta", 64, 512, 63),
        ("bert", 512, 64, 64),
    ],
)
def test_window_beyond_the_encoder(
    tmp_path: Path, kind: str, places: int, of_tokenizer: int, pieces: int
) -> None:
    from transformers import AutoTokenizer

    folder = save_encoder(tmp_path / kind, kind, max_position_embeddings=places)
    tokenizer = AutoTokenizer.from_pretrained(folder, model_max_length=of_tokenizer)
    tokenizer.save_pretrained(folder)
    with pytest.raises(ValueError, match=rf"F363.*{pieces} pieces.*window = {pieces - 1}"):
        start(make(folder, window=pieces - 1, overlap=8))
    nlp = make(folder, window=pieces - 2, overlap=8)
    start(nlp)
    assert nlp("上海" * 100)._.trf_data.model_output.last_hidden_state.shape == (1, 200, WIDTH)


def test_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"F364.*nowhere"):
        start(make(tmp_path / "nowhere"))


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json", "sizes"])
def test_damaged_folder(tiny_bert: Path, tmp_path: Path, name: str) -> None:
    path = shutil.copytree(tiny_bert, tmp_path / "damaged") / name.replace("sizes", "config.json")
    data = path.read_bytes()
    # Sizes of other weights, or half a file.
    other = data.replace(b'"hidden_size": 16', b'"hidden_size": 32')
    path.write_bytes(other if name == "sizes" else data[:50])
    with pytest.raises(OSError, match=r"F364.*damaged"):
        start(make(path.parent))


def test_vocabulary_of_bert_beneath_an_albert(tmp_path: Path) -> None:
    folder = save_encoder(tmp_path / "albert", "albert")
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        (folder / name).unlink()
    nlp = make(folder)
    transformer = nlp.get_pipe("transformer").model  # type: ignore[attr-defined]
    transformer.attrs["tokenizer_config"] = {"tokenizer_type": "bert"}
    start(nlp)
    assert transformer.attrs["featuriser"].unknown not in transformer.attrs["featuriser"].keys(
        "上海"
    )


def test_tokenizer_without_unknown_piece(tiny_bert: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    tokenizer.unk_token = None
    with pytest.raises(ValueError, match=r"F362.*BertTokenizerFast"):
        PieceFeaturiser.of(tokenizer, "mine")
