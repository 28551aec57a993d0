"""How far a list of names should be trusted: names in plain sentences, and ambiguous words.

    python benchmarks/trust.py PIPELINE

The list is added to the lexicon of PIPELINE, which has the labels PER, LOC and ORG, with several
`trust`s; and to spaCy's `entity_ruler` before it. Names: share found of the 100 names of
trust/names.tsv, in seven sentences each. Ambiguous words: P, R and F1 in the sentences of
trust/ambiguous.txt; "fitted" has the trust that is best on the other half of the sentences.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import spacy
from new_words import Mention, predict, with_ruler, with_words
from report import format_table
from spacy.language import Language

HERE = Path(__file__).parent / "trust"
TRUSTS = (0.0, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 1.0)
FRAMES = {
    "PER": (
        *("昨天下午{}在会上发了言。", "我认识{}已经十年了。", "{}今年三十二岁，是一名工程师。"),
        *("记者采访了{}和他的家人。", "大家都说{}很有才华。", "这本书的作者是{}。"),
        "由于生病，{}没有来上课。",
    ),
    "LOC": (
        *("我们下个月去{}旅行。", "{}今天有小雨，气温十五度。", "他出生在{}的一个农民家庭。"),
        *("从这里到{}要坐两个小时的车。", "{}的房价今年涨了不少。", "会议将在{}举行。"),
        "这家店开在{}附近。",
    ),
    "ORG": (
        *("{}昨天公布了第二季度财报。", "他从大学毕业后进入{}工作。"),
        *("{}的股价今天上涨了百分之三。", "两家公司都与{}签订了协议。", "她是{}的产品经理。"),
        *("监管部门约谈了{}。", "{}宣布将招聘五千名毕业生。"),
    ),
}

Texts = tuple[list[str], set[Mention]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipeline")
    arguments = parser.parse_args()
    lines = (HERE / "names.tsv").read_text(encoding="utf-8").splitlines()
    names = dict(line.split("\t") for line in lines)
    sentences, marked = read_ambiguous()
    words = {sentences[t][s:e]: label for t, s, e, label in marked if sentences[t][s:e] != "海南岛"}
    rows, scores = [], {}
    for way in ("as it is", *TRUSTS, "entity_ruler"):
        found = predict(with_list(arguments.pipeline, names, way), framed(names)[0])
        total = Counter(label for *_, label in framed(names)[1])
        right = Counter(label for *_, label in found & framed(names)[1])
        seen = predict(with_list(arguments.pipeline, words, way), sentences)
        scores[way] = [prf(half(seen, n), half(marked, n)) for n in (0, 1)]
        shares = [right[label] / total[label] for label in FRAMES]
        rows.append([shown(way), *map(percent, (*shares, *prf(seen, marked)))])
    best = [max(TRUSTS, key=lambda trust: scores[trust][n][2]) for n in (1, 0)]
    both = [scores[trust][n] for n, trust in enumerate(best)]
    # Of two halves of the same size the mean is near enough to the whole.
    means = [sum(each) / 2 for each in zip(*both, strict=True)]
    rows.append([f"fitted: {best[0]}, {best[1]}", *[""] * 3, *map(percent, means)])
    print(format_table(["", *FRAMES, "P", "R", "F1"], rows))


def framed(names: Mapping[str, str]) -> Texts:
    """Seven sentences for each name."""
    texts, gold = [], set()
    for name, label in names.items():
        for frame in FRAMES[label]:
            start = frame.index("{")
            gold.add((len(texts), start, start + len(name), label))
            texts.append(frame.format(name))
    return texts, gold


def read_ambiguous() -> Texts:
    texts, gold = [], set()
    for line in (HERE / "ambiguous.txt").read_text(encoding="utf-8").splitlines():
        marked, _, label = line.partition("\t")
        text = ""
        for piece in marked.split("【"):
            name, bracket, rest = piece.partition("】")
            if bracket:
                gold.add((len(texts), len(text), len(text) + len(name), label))
            text += name + rest
        texts.append(text)
    return texts, gold


def with_list(pipeline: str, names: Mapping[str, str], way: str | float) -> Language:
    if way == "entity_ruler":
        return with_ruler(pipeline, names)
    return with_words(pipeline, names, way) if isinstance(way, float) else spacy.load(pipeline)


def half(mentions: Iterable[Mention], number: int) -> set[Mention]:
    return {mention for mention in mentions if mention[0] % 2 == number}


def prf(found: set[Mention], gold: set[Mention]) -> tuple[float, float, float]:
    right = len(found & gold)
    return right / max(1, len(found)), right / len(gold), 2 * right / (len(found) + len(gold))


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def shown(way: object) -> str:
    return f"trust {way}" if isinstance(way, float) else str(way)


if __name__ == "__main__":
    main()
