"""Augmentation of corpora of Chinese entities, for `[corpora.train.augmenter]` of a config."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Dict, List, Optional  # noqa: UP035  (thinc validates configs by these)

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from ..errors import Errors, Warnings
from ..lexicon import NOT_ENTITY, WordList
from ..ner.spans import meaning
from ..util.arguments import require
from .docs import read_docs
from .edits import Edit, can_edit, can_insert, composed, edited, is_free, respelled

# Surnames, the commonest first, and characters of given names.
SURNAMES = (
    *"王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林郑谢罗梁宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏"
    "魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵"
    "万钱严覃武戴莫孔向汤常温康施文牛樊葛邢安齐易乔伍庞颜倪庄聂章鲁岳翟殷詹申欧耿关兰焦俞左柳甘"
    "祝包宁尚符舒阮柯纪梅童凌毕单季裴霍涂成苗谷盛曲翁冉骆蓝路游辛靳管柴蒙鲍华喻祁蒲房滕屈饶解牟"
    "艾尤阳时穆农司卓古吉缪简车项连芦麦褚娄窦戚岑景党宫费卜冷晏席卫米柏宗瞿桂全佟应臧闵苟邬边卞",
)
COMPOUND = re.findall(
    "..",
    "上官东方东郭令狐公冶公孙公羊单于南宫南郭司徒司马呼延夏侯太史宇文完颜宗政尉迟慕容拓跋欧阳淳于澹台"
    "濮阳独孤申屠百里皇甫端木西门诸葛轩辕钟离长孙闻人",
)
GIVEN = (
    "伟芳娜敏静丽强磊军洋勇艳杰娟涛明超秀霞平刚桂英华玉兰红梅建国文志海永春晓雪云飞鹏宇浩轩子涵梓"
    "欣怡嘉佳俊博思雨诗琪雅婷慧颖晨阳天泽辰睿哲瑞凯峰林森源清波江河山川岩石松柏竹青蓝紫丹彤彩虹"
    "光辉耀亮星月琳璐瑶珊珍珠宝金银福贵祥康健安宁乐和顺义仁礼信诚正德忠良贤才"
)
# What precedes or follows a surname without a given name
PREFIXES = ("小", "老", "阿")
TITLES = (
    *("总", "工", "哥", "姐", "叔", "主任", "经理", "老师", "教授", "博士", "医生", "大夫"),
    *("护士", "律师", "师傅", "队长", "局长", "处长", "校长", "先生", "女士", "小姐", "阿姨"),
    *("奶奶", "同学"),
)  # fmt: skip
TITLED = 0.1  # share of persons
# Kinds of names, by the first letters of their labels.
KINDS = {"PER": "PER", "NAM": "PER", "LOC": "LOC", "GPE": "LOC", "ADD": "LOC", "SCE": "LOC"} | {
    "ORG": "ORG", "COM": "ORG", "GOV": "ORG"
}  # fmt: skip

SEPARATORS = ("、", "，", ", ", ",", "；", ";", " ", "/", " / ", "\n", "\t", "|", "")
FRAMES = (
    "{}",
    "{}。",
    "名单：{}",
    "名单如下：{}。",
    "其中有{}等。",
    "包括{}。",
    "分别是{}。",
    "{}等",
)
FRAMES_OF = {
    "PER": ("出席会议的有{}等。", "{}获一等奖。", "主演：{}", "感谢{}的支持！", "记者{}报道"),
    "LOC": ("途经{}等地。", "{}等地有雨。", "活动在{}同时举行。", "从{}出发", "覆盖{}等地区。"),
    "ORG": ("参加单位有{}。", "{}等发布了公告。", "与{}签署协议。", "{}联合主办", "{}等机构认为，"),
}
FIELDS = {
    "PER": ("姓名", "联系人", "负责人", "作者", "主持人", "教练"),
    "LOC": ("地点", "籍贯", "城市", "产地", "目的地", "住址"),
    "ORG": ("单位", "公司", "机构", "主办方", "供应商", "毕业院校"),
    "": ("名称", "内容"),
}
TABLE_ROW = ("| ", " | ", " |")  # of Markdown
ROWS = (TABLE_ROW, ("", "\t", ""), ("", ",", ""), ("<tr><td>", "</td><td>", "</td></tr>"))
FORMS = (("", "：", ""), ("", ": ", ""), ("- ", "：", ""), ('"', '": "', '",'), *ROWS)

PUNCTUATION = frozenset("，。；！？：、,;!?")
BREAKS = ("\n", "\n", "\n\n", "<br>", "\t", " | ")
AROUND_TEXT = (
    *(("<p>", "</p>"), ("<li>", "</li>"), ("<td>", "</td>"), ("| ", " |"), ("\t", ""), ("", "\n")),
    *(("　　", ""), ("- ", ""), ("1. ", ""), ("## ", ""), ("> ", ""), ("“", "”"), ("【快讯】", "")),
)
AROUND_NAMES = (("**", "**"), ("<b>", "</b>"), ("[", "]"), (" ", " "), ("“", "”"), ("\n", "\n"))
TOPICS = ("#今日话题#", "#热搜#", "#早安#", "#周末去哪儿#", "#转发抽奖#", "【投票】", "")
HANDLES = ("@小确幸_2020 ", "@追风的少年 ", "//@吃货日记:", "回复@Momo酱: ", "转发微博 ", "RT ", "")
ENDINGS = (
    *("😂😂", "👍", "🙏🙏🙏", "❤️", "[doge]", "[泪][泪]", "~", "！！！", "…全文", " 网页链接", ""),
    *(" http://t.cn/A6xk2Lp", " https://b23.tv/av170001", "（来自iPhone客户端）"),
)

TO_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
TO_PLAIN = {full: code for code, full in TO_FULL_WIDTH.items()}
LONGEST_LIST = 12
MOST_WORDS = 3  # at most, to write in English in a text


def ner_augmenter(
    width: float = 0.0,
    exchange: float = 0.0,
    layout: float = 0.0,
    social: float = 0.0,
    mixed: float = 0.0,
    lists: float = 0.0,
    tables: float = 0.0,
    corpora: Dict[str, Optional[Path]] = {},  # noqa: B006, UP006, UP045
    names: Dict[str, WordList] = {},  # noqa: B006, UP006
    persons: List[str] = [],  # noqa: B006, UP006
    words: Dict[str, WordList] = {},  # noqa: B006, UP006
) -> NerAugmenter:
    """`spacy-flat.ner_augmenter.v1`: variants of Chinese texts with entities.

    width: share of texts to write with full-width letters, digits and punctuation, or with plain
        ones if the text has full-width letters or digits.
    exchange: share of texts in which to replace names by others with the same label.
    layout: share of texts to write with line breaks, markup or table cells around text or names.
    social: share of texts to write with a topic, a handle, emoji or a URL.
    mixed: share of texts in which to write ordinary words in English, and names in Latin letters.
    lists: number of lists of names to add per text, at most 1.
    tables: number of forms and tables to add per text, at most 1.
    corpora: .spacy files whose entities are names to choose from, by any key;
        null leaves one out. With coarse labels, a name only replaces names whose labels stand for
        the same.
    names: word lists with more names, by any key; the type of a word is its label.
    persons: labels for which to also make names from surnames and given names.
    words: lists of ordinary words, by any key, for `mixed` and the cells of tables; the type of a
        word is its English translation. Of equal words the first counts; those that are names in
        `corpora` or `names` don't.

    Raises ValueError (F341) for a rate outside 0 to 1, or `mixed` without words in English; at the
    first text if there are no names to choose from (F149). Warns (W161) of `persons` that are
    labels of no name in `corpora` and `names`.
    """
    rates = {
        "width": width,
        "exchange": exchange,
        "layout": layout,
        "social": social,
        "mixed": mixed,
        "lists": lists,
        "tables": tables,
    }
    for name, rate in rates.items():
        require(name, rate, lambda: 0 <= rate <= 1, "a number from 0 to 1")  # noqa: B023
    english: dict[str, str] = {}
    for entry in chain.from_iterable(words.values()):
        if entry.type:
            english.setdefault(entry.word, entry.type)
    wanted = "0 unless a list in `words` has words with their English translations"
    require("mixed", mixed, lambda: bool(english) or not mixed, wanted)
    paths = [Path(path) for path in corpora.values() if path]
    return NerAugmenter(rates, paths, names, persons, english)


@dataclass(eq=False)
class NerAugmenter:
    """See `ner_augmenter`. Yields each text or a variant, and then its lists and tables; only the
    text if it has annotation that can't be moved (`can_edit`)."""

    rates: Mapping[str, float]
    corpora: Sequence[Path]
    lists: Mapping[str, WordList]
    persons: Sequence[str]
    english: Mapping[str, str]  # of words

    def __call__(self, nlp: Language, example: Example) -> Iterator[Example]:
        doc = example.reference
        if doc.has_unknown_spaces or not len(doc) or not can_edit(doc):
            yield example
            return
        variant = doc
        for change in (self.exchange, self.mixed, layout, social):
            if self.happens(change.__name__):
                variant = change(variant)
        added = [
            make(doc)
            for rate, make in (("lists", self.add_list), ("tables", self.add_table))
            if self.happens(rate) and self.labels(doc)
        ]
        for new in (variant, *added):
            if self.happens("width"):
                new = width(new)
            yield example if new is doc else Example(nlp.make_doc(new.text), new)

    def happens(self, name: str) -> bool:
        return random.random() < self.rates[name]

    @cached_property
    def pools(self) -> dict[tuple[str, ...], list[list[str]]]:
        """Lists of names, by the labels that their label stands for."""
        sources: list[Iterable[tuple[str, tuple[str, ...]]]] = [
            ((word.word, (word.type,)) for word in words if word.type not in ("", NOT_ENTITY))
            for words in self.lists.values()
        ]
        sources += map(read_names, self.corpora)
        pools: dict[tuple[str, ...], list[list[str]]] = {}
        known: set[str] = set()
        for source in sources:
            found: dict[tuple[str, ...], set[str]] = {}
            for text, labels in source:
                known.update(labels)
                if len(text) > 1 and text == " ".join(text.split()):
                    found.setdefault(labels, set()).add(text)
            for labels, texts in found.items():
                pools.setdefault(labels, []).append(sorted(texts))
        unknown = [label for label in self.persons if label not in known]
        if unknown and known:
            warnings.warn(Warnings.W161.format(persons=unknown), stacklevel=2)
        for label in self.persons:
            pools.setdefault((label,), []).append([])
        if not pools:
            raise ValueError(Errors.F149)
        return pools

    def labels(self, doc: Doc) -> list[str]:
        """The labels of the Doc's corpus that there are names for."""
        labels = [*(doc._.coarse_labels or {}), *(of[0] for of in self.pools if len(of) == 1)]
        return [label for label in dict.fromkeys(labels) if meaning(label, doc) in self.pools]

    def name(self, label: str, doc: Doc) -> str:
        """Some name of a label. Each list is as likely as any other."""
        names = random.choice(self.pools[meaning(label, doc)])
        return random.choice(names) if names else made_up()

    def mention(self, label: str, doc: Doc, titled: float = TITLED) -> tuple[str, str, str]:
        """Some name of a label, with what stands before and after it. A share of the persons is a
        surname with a title outside of it."""
        labels = meaning(label, doc)
        is_person = len(labels) == 1 and labels[0] in self.persons
        if is_person and random.random() < titled:
            return self.titled()
        return "", self.name(label, doc), ""

    def exchange(self, doc: Doc) -> Doc:
        """Other names of the same labels, the same for one name all over the text; some persons
        become a surname with a title outside of the name. Abbreviations of one character stay."""
        text = doc.text  # spaCy builds it on each access
        chosen: dict[tuple[str, str], tuple[str, str, str]] = {}
        edits = []
        for ent in doc.ents:
            labels = meaning(ent.label_, doc)
            if len(ent.text) == 1 or labels not in self.pools:
                continue
            start, end = ent.start_char, ent.end_char
            has_title = text.endswith((*PREFIXES, *TITLES), 0, start) or text.startswith(
                TITLES, end
            )
            titled = 0.0 if has_title else TITLED
            new = self.mention(ent.label_, doc, titled)
            before, name, after = chosen.setdefault((ent.text, ent.label_), new)
            edits += [Edit(start, start, before), Edit(start, end, name), Edit(end, end, after)]
        return edited(doc, edits)

    def mixed(self, doc: Doc) -> Doc:
        """A few ordinary words in English, and about half of the names in Latin letters."""
        chosen: dict[tuple[str, str], str] = {}  # forms of names, the same all over the text
        edits = []
        for ent in doc.ents:
            names = self._latin.get(meaning(ent.label_, doc))
            if names and len(ent.text) > 1:
                new = random.choice(names) if random.random() < 0.5 else ent.text
                form = chosen.setdefault((ent.text, ent.label_), new)
                if form != ent.text:
                    edits.append(Edit(ent.start_char, ent.end_char, form))
        text = doc.text
        found = [place for place in self._ordinary_in(text) if is_free(doc, *place)]
        some = random.sample(found, min(len(found), random.randint(1, MOST_WORDS)))
        space = random.choice(("", " "))
        touched = {place for edit in edits for place in edit[:2]}
        for start, end in some:
            if start in touched or end in touched:
                continue  # two words would become one
            touched |= {start, end}
            more = random.choices(self._ordinary_words, k=random.choice((0, 0, 0, 1, 2)))
            phrase = cased(" ".join(self.ordinary[word] for word in (text[start:end], *more)))
            before, after = (
                space or " " * (char.isascii() and char.isalnum())
                for char in (text[start - 1 : start], text[end : end + 1])
            )
            edits.append(Edit(start, end, before + phrase + after))
        return edited(doc, edits)

    @cached_property
    def _latin(self) -> dict[tuple[str, ...], list[str]]:
        """Names in Latin letters, by the labels that their label stands for."""
        pools = self.pools if self.names else {}
        latin = {
            labels: [name for names in lists for name in names if _is_latin(name)]
            for labels, lists in pools.items()
        }
        return {labels: names for labels, names in latin.items() if names}

    @cached_property
    def names(self) -> frozenset[str]:
        """All names of the corpora and lists, in lower case."""
        if not (self.corpora or self.lists):
            return frozenset()
        return frozenset(
            name.lower() for lists in self.pools.values() for names in lists for name in names
        )

    @cached_property
    def ordinary(self) -> dict[str, str]:
        """Ordinary words, each in English. A word may be a name in a corpus, such as a title."""
        return {
            word: english
            for word, english in self.english.items()
            if self.names.isdisjoint((word, english.lower()))
        }

    @cached_property
    def _ordinary_words(self) -> list[str]:
        return [*self.ordinary]

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self.ordinary), default=0)

    def _ordinary_in(self, text: str) -> Iterator[tuple[int, int]]:
        """Ordinary words of two characters or more, at each place the longest, from left to
        right."""
        start = 0
        while start < len(text):
            longest = min(self._longest, len(text) - start)
            ends = range(start + longest, start + 1, -1)
            end = next((end for end in ends if text[start:end] in self.ordinary), start + 1)
            if end > start + 1:
                yield start, end
            start = end

    def titled(self) -> tuple[str, str, str]:
        """What stands before a surname, the surname, and what stands after it: a prefix such as 小,
        or a title that isn't a name in a corpus."""
        surname = random.choice(SURNAMES)
        if not self._titles or random.random() < 0.3:
            return random.choice(PREFIXES), surname, ""
        return "", surname, random.choice(self._titles)

    @cached_property
    def _titles(self) -> list[str]:
        return [title for title in TITLES if title not in self.names]

    def cell(self, label: str, doc: Doc) -> list[tuple[str, str]]:
        """A name of a label, or without a label another word: pieces with their labels."""
        if not label:
            return [(self.word(), "")]
        before, name, after = self.mention(label, doc)
        return [(before, ""), (name, label), (after, "")]

    def word(self) -> str:
        """An ordinary word or a number, for a cell that is not a name."""
        if not self.ordinary or random.random() < 0.4:
            return str(random.randrange(10 ** random.randint(1, 8)))
        word = random.choice(self._ordinary_words)
        return word if random.random() < 0.8 else cased(self.ordinary[word])

    def field(self, label: str) -> str:
        """The header of a column of names, or of other cells."""
        fields = FIELDS.get(kind_of(label), FIELDS[""])
        is_usual = not self.ordinary or random.random() < (0.8 if label else 0.3)
        return random.choice(fields if is_usual else self._ordinary_words)

    def add_list(self, doc: Doc) -> Doc:
        """A list of names of a label."""
        label = random.choice(self.labels(doc))
        names = [self.name(label, doc) for _ in range(random.randint(2, LONGEST_LIST))]
        # A space or nothing doesn't separate names like "Tim Cook".
        spaced = any(map(str.isascii, names))
        separator = random.choice([each for each in SEPARATORS if each.strip() or not spaced])
        frames = FRAMES + FRAMES_OF.get(kind_of(label), ())
        before, after = random.choice(frames).split("{}")
        pieces = [piece for name in names for piece in ((separator, ""), (name, label))]
        return composed(doc, [(before, ""), *pieces[1:], (after, "")])

    def add_table(self, doc: Doc) -> Doc:
        """A form, with a field and a value a line, or a table, with a line of fields above."""
        labels = self.labels(doc)
        columns = [
            random.choice(labels) if random.random() < 0.6 else ""
            for _ in range(random.randint(1, 4))
        ]
        is_form = random.random() < 0.5
        begin, between, end = style = random.choice(FORMS if is_form else ROWS)
        rows = [[[(self.field(label), "")] for label in columns]]
        if style == TABLE_ROW and not is_form and random.random() < 0.5:
            rows.append([[("---", "")]] * len(columns))
        for _ in range(1 if is_form else random.randint(1, 4)):
            rows.append([self.cell(label, doc) for label in columns])
        pieces = []
        for row in zip(*rows, strict=True) if is_form else rows:
            cells = [piece for cell in row for piece in ((between, ""), *cell)][1:]
            pieces += [("\n", ""), (begin, ""), *cells, (end, "")]
        return composed(doc, pieces[1:])


def read_names(path: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The entities of a .spacy file, and the labels that each one's label stands for."""
    for doc in read_docs(path, Vocab()):
        for ent in doc.ents:
            yield ent.text, meaning(ent.label_, doc)


def kind_of(label: str) -> str:
    return KINDS.get(label[:3].upper(), "")


def made_up() -> str:
    """A name of a person, of two to four characters."""
    surname: str = random.choice(SURNAMES if random.random() < 0.95 else COMPOUND)
    return surname + "".join(random.choices(GIVEN, k=random.randint(1, 2)))


def cased(word: str) -> str:
    """An English word, sometimes with a capital, or in capitals."""
    return random.choices((word, word[:1].upper() + word[1:], word.upper()), (17, 1, 2))[0]


def _is_latin(name: str) -> bool:
    return name.isascii() and any(map(str.isalpha, name))


def layout(doc: Doc) -> Doc:
    """Markup or cells around the text or its names, or line breaks at its punctuation."""
    begin, end = random.choice(AROUND_TEXT)
    edits = [Edit(0, 0, begin), Edit(len(doc.text), len(doc.text), end)]
    places = [
        place
        for place, char in enumerate(doc.text, 1)
        if char in PUNCTUATION and place < len(doc.text) and can_insert(doc, place)
    ]
    choice = random.random()
    if choice < 0.4 and places:
        text = random.choice(BREAKS)
        chosen = random.sample(places, random.randint(1, len(places)))
        edits = [Edit(place, place, text) for place in chosen]
    elif choice < 0.6 and doc.ents:
        begin, end = random.choice(AROUND_NAMES)
        edits = []
        for ent in doc.ents:
            if can_insert(doc, ent.start_char) and can_insert(doc, ent.end_char):
                edits.append(Edit(ent.start_char, ent.start_char, begin))
                edits.append(Edit(ent.end_char, ent.end_char, end))
    return edited(doc, edits)


def social(doc: Doc) -> Doc:
    """A topic, a handle, emoji or a URL around the text."""
    before = random.choice(TOPICS) + random.choice(HANDLES)
    length = len(doc.text)
    return edited(doc, [Edit(0, 0, before), Edit(length, length, random.choice(ENDINGS))])


def width(doc: Doc) -> Doc:
    """Full-width letters, digits and punctuation, or plain ones for full-width ones."""
    has_full = any("\uff10" <= char <= "\uff5a" and char.isalnum() for char in doc.text)
    return respelled(doc, doc.text.translate(TO_PLAIN if has_full else TO_FULL_WIDTH))
