"""Cut raw modern Chinese into texts for zh_char_news: train.spacy and dev.spacy.

python assets/release/news.py FOLDER WIKI NEWS

WIKI and NEWS have a paragraph per line, neighbours in a row (plain, .gz or .xz). Of Wikipedia,
every third run of 500 paragraphs is taken, as much as of the news. The dev part is apart from
training: one run in a hundred, and the last 2 % of the news, its latest days.
"""

import html
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from spacy.vocab import Vocab

from spacy_flat.corpora.docs import make_doc, new_docs
from spacy_flat.util.files import read_text_lines, replacing

RUN = 500  # paragraphs
SHORTEST, LONGEST = 8, 120  # characters of a text
N_DEV = 1_000  # texts of each source

# Most tags have lost their ">".
_TAG = re.compile(r"</?[a-z]+[0-9]?(?:\s+[a-z]+=\"[^\"]*\")*\s*/?>?", re.IGNORECASE | re.ASCII)
_EMPTY = re.compile(r"[（(]\s*[)）]|^\s*央视网消息\s*(?:（新闻联播）)?[：:]?")
_SENTENCE = re.compile(r"[^。！？；]*[。！？；]+[”」』）]*|[^。！？；]+$")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_CODE = re.compile(r"[<>{}\[\]|=]")


def main() -> None:
    folder, wiki, news = map(Path, sys.argv[1:])
    train, dev = [], []
    for path, is_news in ((wiki, False), (news, True)):
        own_train, own_dev = split(read(path), is_news)
        train += own_train
        dev += random.Random(1).sample(own_dev, min(N_DEV, len(own_dev)))
    known = set(train)
    random.Random(1).shuffle(train)
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "dev.spacy", [text for text in dev if text not in known])
    write(folder / "train.spacy", train)


def read(path: Path) -> list[str]:
    """The paragraphs without what is left of markup."""
    return [
        _EMPTY.sub("", html.unescape(_TAG.sub("", line)).replace("\xa0", " ")).strip()
        for _, line in read_text_lines(path)
    ]


def split(paragraphs: list[str], is_news: bool) -> tuple[list[str], list[str]]:
    """The texts of the training and of the dev part, none twice."""
    train: dict[str, None] = {}
    dev: dict[str, None] = {}
    latest = len(paragraphs) * 98 // 100
    for number, paragraph in enumerate(paragraphs):
        run = number // RUN
        is_dev = number >= latest if is_news else run % 100 == 50
        if is_dev or is_news or run % 3 == 1:
            (dev if is_dev else train).update(dict.fromkeys(texts(paragraph)))
    return list(train), list(dev)


def texts(paragraph: str) -> Iterator[str]:
    """Whole sentences together, at most `LONGEST` characters, of which most are Chinese."""
    text = ""
    for sentence in [*_SENTENCE.findall(paragraph), ""]:
        if text and (not sentence or len(text) + len(sentence) > LONGEST):
            is_chinese = 2 * len(_CHINESE.findall(text)) > len(text)
            if len(text) >= SHORTEST and is_chinese and not _CODE.search(text):
                yield text
            text = ""
        text += sentence


def write(path: Path, texts: list[str]) -> None:
    vocab = Vocab()
    docs = new_docs()
    for text in texts:
        docs.add(make_doc(vocab, text))
    with replacing(path) as temporary:
        docs.to_disk(temporary)
    print(f"{path}: {len(texts)} texts, {sum(map(len, texts))} characters")


if __name__ == "__main__":
    main()
