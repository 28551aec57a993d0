"""Names beside brackets and quotes, and companies with a place in brackets.

    python benchmarks/brackets.py zh_flat_general zh_flat_msra

Ten names in each of 31 templates: in how many of the texts a predicted entity overlaps the name but
has other borders, and in how many nothing is found. 240 invented companies with (上海) or （上海）:
how many are one entity.
"""

import argparse
from collections.abc import Iterator
from itertools import product

import spacy
from spacy.language import Language

# fmt: off
NAMES = [
    "张三", "李小明", "王建国", "欧阳娜娜", "刘洋", "陈志远", "赵丽颖", "孙悦", "周杰伦",
    "马化腾",
]
TEMPLATES = [
    "【{}】：你好", "（{}）来了", "({})来了", "“{}”来了", "「{}」来了", "『{}』来了",
    "《{}》来了", "〈{}〉来了", "[{}]来了", '"{}"来了', "‘{}’来了", "`{}`来了",
    "'{}'来了", '{{"n":"{}"}}', "name='{}'", "{}(销售部)昨天来了", "{}（销售部）说",
    "（{}）", "（记者{}）", "(记者 {})", "（{}摄）", "【记者{}】报道", "“{}，你好。”",
    "作者：{}】", "联系人:{})", "{}）来了", "昨天（{}）和同事去了北京", "[{}]: 收到",
    "@{}(在线)", "<{}>说", "{}【官方】发布",
]
COMPANIES = [
    "赢创", "华信", "博世", "联合利华", "安永", "德尔福", "西门子", "普华", "欧莱雅",
    "恒信",
]
# fmt: on
PLACES = ["上海", "中国", "北京", "天津"]
KINDS = ["投资管理有限公司", "汽车部件有限公司", "贸易有限公司"]
FRAME = "昨天，{}发布了公告。"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pipelines", nargs="+")
    parser.add_argument("--show", action="store_true", help="print what is wrong")
    arguments = parser.parse_args()
    for name in arguments.pipelines:
        nlp = spacy.load(name)
        names = list(borders(nlp, names_in_templates(), arguments.show))
        whole = [kind == "right" for kind in borders(nlp, companies(), arguments.show)]
        print(
            f"{name}: of {len(names)} names {names.count('wrong')} with wrong borders, "
            f"{names.count('missed')} missed; {sum(whole)} of {len(whole)} companies whole"
        )


def names_in_templates() -> list[tuple[str, str]]:
    return [(each.format(name), name) for each, name in product(TEMPLATES, NAMES)]


def companies() -> list[tuple[str, str]]:
    brackets = "({})", "（{}）"
    parts = product(COMPANIES, brackets, PLACES, KINDS)
    names = [name + bracket.format(place) + kind for name, bracket, place, kind in parts]
    return [(FRAME.format(name), name) for name in names]


def borders(nlp: Language, cases: list[tuple[str, str]], show: bool) -> Iterator[str]:
    """For each text and name: right, wrong or missed."""
    for doc, (text, name) in zip(nlp.pipe([text for text, _ in cases]), cases, strict=True):
        start = text.index(name)
        end = start + len(name)
        found = [each for each in doc._.char_ents if each.start < end and start < each.end]
        is_right = any((each.start, each.end) == (start, end) for each in found)
        kind = "right" if is_right else "wrong" if found else "missed"
        if show and kind != "right":
            print(text, [(text[each.start : each.end], each.label) for each in found])
        yield kind


if __name__ == "__main__":
    main()
