"""One piece a character, and windows over long texts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ner.conftest import blank
from spacy.tokens import Doc

from spacy_flat.similarity.pairs import join_pair
from spacy_flat.transformer.options import CharacterTransformerOptions
from spacy_flat.transformer.pieces import PieceFeaturiser, Pieces, make_windows, strided_spans

from .conftest import WIDTH, add_transformer, make, save_encoder, start

ODD = "2021年NBA\n\t 😀👨‍👩‍👧\u200b\u0007é龘İﷺ上海"


def encoder_of(folder: Path) -> PieceFeaturiser:
    from transformers import AutoTokenizer

    return PieceFeaturiser.of(AutoTokenizer.from_pretrained(folder), str(folder))


def test_each_character_is_a_piece(tiny_bert: Path) -> None:
    """The stock tokenizer joins 2021 and NBA and leaves white space out."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    assert tokenizer.tokenize("2021 NBA\n") == ["2021", "nba"]
    pieces = encoder_of(tiny_bert).ids(ODD)
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
    found = encoder.ids("上海龘 上")
    assert tokenizer.convert_ids_to_tokens(found.tolist()) == ["上", "▁海", "<unk>", "<unk>", "上"]


@given(st.integers(0, 2000), st.integers(1, 600), st.data())
def test_strided_windows_cover_a_text(length: int, width: int, data: Any) -> None:
    overlap = data.draw(st.integers(0, width // 2))
    windows = make_windows(strided_spans(length, width, overlap))
    taken = [place for window in windows for place in range(window.first, window.last)]
    assert taken == list(range(length))
    for start_, end, first, last in windows:
        assert end - start_ == min(width, length)
        assert 0 <= start_ <= first < last <= end <= length
        # Nothing is taken from near a border that another window reads further into.
        assert start_ == 0 or first - start_ >= overlap // 2
        assert end == length or end - last >= overlap // 2


def docs_of(*texts: str) -> list[Doc]:
    return [*map(blank().make_doc, texts)]


def read_texts(pieces: Pieces, text: str) -> list[str]:
    """What is read at once, where the pieces are the characters of a text."""
    return [text[window.start : window.end] for window in pieces.windows]


def test_texts_are_split_after_sentences(tiny_bert: Path) -> None:
    """Else within a sentence, with an overlap. The texts of a pair are read separately."""
    options = CharacterTransformerOptions(window=8, overlap=3)
    text = "上海。北京，南京。上海北京南京上海"
    pieces = encoder_of(tiny_bert).read(docs_of(text), options)
    assert read_texts(pieces, text) == ["上海。", "北京，南京。", "上海北京南京上海"]
    longer = "上海北京南京上海北京"
    pieces = encoder_of(tiny_bert).read(docs_of(longer), options)
    assert read_texts(pieces, longer) == ["上海北京南京上海", "京上海北京"]
    pair = encoder_of(tiny_bert).read(docs_of(join_pair("上海", "北京")), options)
    assert read_texts(pair, "上海北京") == ["上海", "北京"]
    assert pair.of_characters.tolist() == [0, 1, 4, 2, 3]


def test_every_character_of_a_token_has_its_own_vector(tiny_bert: Path) -> None:
    nlp = make(tiny_bert, "jieba")
    start(nlp)
    doc = nlp(ODD + " 在 南京市长江大桥")
    (vectors,) = doc._.trf_data.model_output.last_hidden_state
    assert vectors.shape == (sum(map(len, doc)), WIDTH)
    assert len(np.unique(vectors, axis=0)) == len(vectors)
    pieces = encoder_of(tiny_bert).read(docs_of("上\u200b海\ufeff"), CharacterTransformerOptions())
    assert pieces.of_characters.tolist() == [0, 2, 1, 2]


def test_batches_hold_each_piece_once(tiny_bert: Path) -> None:
    encoder = encoder_of(tiny_bert)
    options = CharacterTransformerOptions(window=20, overlap=8)
    docs = docs_of("上海", "", "北京大学" * 30, "南", "重庆开业" * 9)
    pieces = encoder.read(docs, options)
    batches = list(encoder.batches(pieces, 50))
    assert len(batches) > 3
    places = np.concatenate([batch.pieces for batch in batches])
    assert sorted(places.tolist()) == list(range(len(pieces.ids)))
    for batch in batches:
        assert batch.ids.ravel()[batch.places].tolist() == pieces.ids[batch.pieces].tolist()
        lengths = batch.mask.sum(1)
        assert (batch.ids[np.arange(len(lengths)), lengths - 1] == encoder.end).all()
        assert len(lengths) == 1 or (lengths.max() - 2) * len(lengths) <= 50


def test_pieces_of_whole_texts(tiny_bert: Path) -> None:
    """A character has the vector of its piece. Lines in capitals are read in lower case."""
    nlp = blank("jieba")
    add_transformer(nlp, tiny_bert, tokenize="text")
    transformer: Any = nlp.get_pipe("transformer")
    transformer.model.initialize()
    (vectors,) = nlp("2021年NBA 上海")._.trf_data.model_output.last_hidden_state
    assert vectors.shape == (10, WIDTH)
    assert len(np.unique(vectors.round(5), axis=0)) == 5
    assert (vectors[:4] == vectors[0]).all()
    (alone,) = nlp("2021年nba上海")._.trf_data.model_output.last_hidden_state
    np.testing.assert_allclose(vectors, alone, atol=1e-5)
    featuriser = transformer.model.attrs["featuriser"]
    options = transformer.model.attrs["options"]
    lost = featuriser.read(docs_of("上\x07海"), options)  # in no piece
    assert lost.of_characters.tolist() == [0, 2, 1]
    capitals = transformer.model.attrs["featuriser"].read(docs_of("İNK LED NBA"), options)
    assert len(capitals.of_characters) == 9


def test_window_beyond_the_encoder(tmp_path: Path) -> None:
    folder = save_encoder(tmp_path / "bert", max_position_embeddings=64)
    with pytest.raises(ValueError, match=r"F363.*64 pieces.*window = 63"):
        start(make(folder, window=63, overlap=8))
    nlp = make(folder, window=62, overlap=8)
    start(nlp)
    assert nlp("上海" * 100)._.trf_data.model_output.last_hidden_state.shape == (1, 200, WIDTH)


def test_what_is_no_encoder(tiny_bert: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    with pytest.raises(OSError, match=r"F364.*nowhere"):
        start(make(tmp_path / "nowhere"))
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    tokenizer.unk_token = None
    with pytest.raises(ValueError, match=r"F362.*BertTokenizerFast"):
        PieceFeaturiser.of(tokenizer, "mine")
