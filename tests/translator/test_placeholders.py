"""What is carried through comes out exactly once, whatever the network, which here has learnt
nothing; numbers as English writes them; how names join the text around them."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc

from spacy_flat.translator.names import Placeholder
from spacy_flat.translator.numbers import numbers, value
from spacy_flat.translator.splitting import Translation, with_names

from .conftest import make, translator

# Translations that hold others, one that two names share, and one in punctuation
NAMES = {
    "甲": "Xqjz",
    "乙己": "Xqjz Zvwk",
    "丙": "Zvwk",
    "丁丁": "Łódźq-Xqjz",
    "戊": "Zvwk",
    "辛": "Ø",
    "庚": ".Jvkq!",
}
MARK = "\ue000"
FILLERS = ["茶", "我喜欢", "他住在北京。", "，", " ", "NBA", "😀", "！”", "\n", "【", "】"]


@pytest.fixture(scope="module")
def untrained() -> Language:
    nlp = make()
    translator(nlp).names = NAMES
    return nlp


def texts_with_names() -> st.SearchStrategy[list[str]]:
    """Texts in pieces, of which some are names: side by side, at both ends, the same one twice."""
    names = st.lists(st.sampled_from(list(NAMES)), max_size=5)
    fillers = st.lists(st.sampled_from(FILLERS), max_size=12)
    mixed = st.tuples(names, fillers).flatmap(lambda both: st.permutations(both[0] + both[1]))
    return mixed.filter(lambda pieces: 1 <= len("".join(pieces)) <= 60)


def doc_of(nlp: Language, pieces: list[str]) -> Doc:
    doc = nlp.make_doc("".join(pieces))
    ends = [len("".join(pieces[: number + 1])) for number in range(len(pieces))]
    doc.ents = [
        doc.char_span(end - len(piece), end, "PER")
        for end, piece in zip(ends, pieces, strict=True)
        if piece in NAMES
    ]
    return doc


def check(doc: Doc, translation: Translation) -> None:
    ents = sorted(translation.ents, key=lambda ent: ent.source)
    assert [ent.source for ent in ents] == [(ent.start_char, ent.end_char) for ent in doc.ents]
    assert [ent.text for ent in ents] == [NAMES[ent.text] for ent in doc.ents]
    assert all(translation.text[ent.start : ent.end] == ent.text for ent in ents)
    # As words of their own, without overlaps, and nowhere else
    rest, end = "", 0
    for ent in translation.ents:  # in order
        assert ent.start >= end
        rest, end = f"{rest}{translation.text[end : ent.start]}{MARK}", ent.end
    rest += translation.text[end:]
    assert not re.search(rf"[^\W_]{MARK}|{MARK}[^\W_]|{MARK}{MARK}", rest)
    assert not any(ent.text in rest for ent in ents)


@pytest.mark.parametrize("beam", [1, 4])
@settings(max_examples=10, deadline=None)
@given(batch=st.lists(texts_with_names(), min_size=1, max_size=8))
def test_each_name_exactly_once(untrained: Language, beam: int, batch: list[list[str]]) -> None:
    docs = [doc_of(untrained, pieces) for pieces in batch]
    translator(untrained).beam = beam
    for doc, translation in zip(docs, translator(untrained).translate(docs), strict=True):
        check(doc, translation)


@pytest.mark.parametrize(
    ("stretches", "written"),
    [
        ([0, 1], "Dr. Li"),
        ([1, 0], "Li Dr."),
        ([3, 2, 2], "Yahoo! .NET .NET"),
        ([0, "lives with", 2], "Dr. lives with .NET"),
        ([" ", 2, " and ", 3], ".NET and Yahoo!"),
        # In brackets and quotation marks, and before what ends a sentence
        (["(", 0, 1, "), ", 2, "!"], "(Dr. Li), .NET!"),
        (["“", 2, "” ", '"', 3, '"'], '“.NET” "Yahoo!"'),
        # 4, 5 and 6 are no entities, but were copied.
        ([4, 1, 5], "《Li》"),
        ([6, 1, 6, 0, 6], "NASA Li NASA Dr. NASA"),
        (["He said:", 1, ",", 6], "He said: Li, NASA"),
        (["  It   is", " ", "  ", 1, "  "], "It is Li"),
        # The full stop of a name also ends the sentence.
        (["tea ", 0, "."], "tea Dr."),
        # 7 has brackets.
        (["I am", 7, "or ", 7, "."], "I am [Mo] or [Mo]."),
    ],
)
def test_names_are_apart_from_what_is_around_them(stretches: list[str | int], written: str) -> None:
    texts = ["Dr.", "Li", ".NET", "Yahoo!", "《", "》", "NASA"]
    names = [Placeholder(0, 1, text, "" if text in "《》NASA" else "X") for text in texts]
    names.append(Placeholder(1, 2, "Mo", around="[]"))
    found, places = with_names(stretches, names)
    assert found == written
    for number in {each for each in stretches if isinstance(each, int)}:
        assert found[slice(*places[number])] == names[number].text


# Numbers

WRITTEN = """
出生于2020年1月5日 | January 5, 2020
二〇二〇年十月一日 | October 1, 2020
1998年3月和12月 | March 1998; December
一九四一年 | 1941
2024年2月29日 | February 29, 2024
80年代和九十年代 | 80s; 90s
奥沙利文6比3丁俊晖 | 6-3
三比二赢了 | 3-2
百分之三点五，百分之百，百分之一百二十 | 3.5%; 100%; 120%
三分之一，４分之３，二十分之一，万分之一 | 1/3; 3/4; 1/20; 1/10,000
三分之一的人，百分之五的 | 1/3 of the; 5%
五十块 | 50 yuan
一块钱一个，1美元 | 1 yuan; 1 dollar
10,000日元，175万美元 | 10,000 yen; 1.75 million dollars
50到80元，1至2块钱 | 50 to 80 yuan; 1 to 2 yuan
一点五万人，１.５万人，1.5万 | 15,000 people; 15,000 people; 15,000
14亿人，一百二十三亿四千五百六十七万元 | 1.4 billion people; 12,345.67 million yuan
一万二千零五十名，三百五十米 | 12,050; 350 meters
20多万，3000多，三千余人 | over 200,000; over 3000; over 3,000 people
900多万美元，十一个人，第十一个 | over 9 million dollars; 11 people; 11th
十几个，十几块钱，二十几万人 | over 10; over 10 yuan; over 200,000 people
五六年，二三十个，一百五六十人 | 5 to 6 years; 20 to 30; 150 to 160 people
一个半小时，三年半，3岁半，两个半月 | 1.5 hours; 3.5 years; 3.5 years old; 2.5 months
一米八五，1米8，零点五秒，二点五倍 | 1.85 meters; 1.8 meters; 0.5 seconds; 2.5
三块五，10块5一斤，三块五毛 | 3.5 yuan; 10.5 yuan; 3.5 yuan
打八折，8.5折，打七五折 | 20% off; 15% off; 25% off
20世纪90年代，二十世纪九十年代，21世纪 | the 1990s; the 1990s; the 21st century
3~5万，3到5万人，3到5个，100到1万人 | 30,000 to 50,000; 30,000 to 50,000; 3 to 5; 100 to 10,000
60—80元 | 60 to 80 yuan
三到五万元，二十至三十万人 | 30,000 to 50,000 yuan; 200,000 to 300,000
气温-5度，零下二十度，负5度，为负三 | -5; -20; -5; -3
最低-8℃，利润为-3.5%，他说-5元，下降了-3%，温度-10℃ | -8℃; -3.5%; -5; -3%; -10℃
3月5号到8号，2020年3月5日-8日 | March 5 to 8; March 5 to 8, 2020
2020年12月28日至1月3日 | December 28, 2020 to January 3
2020年3月到5月，2023年1—4月，今年1—3月 | March to May 2020; January to April 2023; January to March
5月到8月10日，3月2.5万，3月3、4日 | May; August 10; March; 25,000; March
上午8点到10点半，上午8-10点，上午00:30，晚上24:00 | 8 a.m.; 10:30; 8-10 a.m.; 12:30 a.m.; 24:00
三到五千人，三千零五年，两千年 | 3,000 to 5,000; 3,005 years; 2,000 years
2月29，3月5-8日，6月-8月 | February 29; March 5 to 8; June to August
上午8点到10点，凌晨零点至2点，上午9:00～11:30 | 8-10 a.m.; 12-2 a.m.; 9:00-11:30 a.m.
3公里半，38度5，零下五到十度，千分之三点五 | 3.5 kilometers; 38.5 degrees; -5 to -10; 3.5/1,000
第3章，第3节课，第3名，第二十个，第11次 | Chapter 3; Lesson 3; 3rd; 20th; 11th
下午三点半到晚上8点，9点整 | 3:30 p.m.; 8 p.m.; 9:00
上午9:00-11:30，下午12:30-1:30，上午9点整 | 9:00-11:30 a.m.; 12:30-1:30 p.m.; 9 a.m.
三点五十，9点05分，十点零五分 | 3:50; 9:05; 10:05
中午12点，中午11点半 | 12 p.m.; 11:30 a.m.
晚上12点，晚上1:30，七点一刻 | 12 a.m.; 1:30 a.m.; 7:15
8点零5分，三点五分，3点3刻，下午13点，晚上20:15 | 8:05; 3:05; 3:45; 13:00; 20:15
晚上8点05分09秒，十点零分三十秒，1—10月 | 8:05:09 p.m.; 10:00:30; January to October
8亿3,820万韩圆，2万3032.8美元，1万米两次 | 838.2 million; 23,032.8 dollars; 10,000 meters
三点五分钟，七点四十五分钟，12点99元 | 3.5 minutes; 7:45; 12.99 yuan
一点二五倍，三点五六米 | 1.25; 3.56 meters
十元三角八分，三块二毛五，10元零5分，五元三角形 | 10.38 yuan; 3.25 yuan; 10.05 yuan; 5 yuan
1万5，2万3人，3千2块，1亿2 | 15,000; 23,000 people; 3,200 yuan; 120 million
１，２３４元，二0二0年3月5日，八点五折 | 1,234 yuan; March 5, 2020; 15% off
五千到一万人，1万5到2万 | 5,000 to 10,000; 15,000 to 20,000
一万五，两千零五，0点五，-5元 | 15,000; 2,005; 0.5; -5
百分之三到百分之五，零下五到零下十度，负三到负五 | 3%; 5%; -5; -10; -3; -5
123万4千元 | 1.234 million yuan
减负1760亿元，p2020年5月25日 | 176 billion yuan; May 25
"""
# Words, what isn't one number, what the network knows, and what all languages write alike
LEFT = """
三五成群 五六年级 两天半夜 一波三折 几百 十几号 百万人
1.5万5 千万不要 万一 十分高兴 三八妇女节 四川 几分之一 一多半
三点 2点到5点 三本书 五块蛋糕 三百块石头 三月 5比3大 歼-20 GPT-4 9:00-17:00 2020-01-05 3.14
13800138000 零五月 三月二五日 13月5日 第一名 第3-5章 胜3负2 负责
担负一定的责任 肩负三大使命 身负两处伤 负一定责任
2024年2月30日 12点60分 25点30分 上午13点 上午11:00-1:30 下午1:75 二二世纪 零世纪
1，234元 1,2,3元 1.5点5元 三点五点五元 三百两银子 2万35人 1亿5000元 三萬五千元 叁拾五元 十几萬人
十二个半苹果 十二米五 十五个亿 3又二分之一 百分之三十到五十 第二十几名 第3、4章 第1，234次
一块10.1英寸 一万五点五元 三三年半 三三块五 三分之二三 零折 10折 第十名 8点5分60秒 晚上11:00-1:00
第三十到五十名 三到五分之一 3点5分之一 10元5 第35月 两千零五年 二百五 三千
两十元 三百两个 1万零05元 上午9:00-9:00 第1.5个 三到三万人
10%-20% 5℃-10℃ 10°-10° 五度-10度 1米8到2米 一米八到两米 3块5到6元
1月1日到2月30日 3月25号到8号 3月8号到8号 上午8点到8点 晚上二三点到5点
三月三， 北纬30度5分 三百15.5元 2亿150.5元
一元一次方程 一元二次方程 一元论 三元里 切成十块。 分成三块， 三分之一点五 二点五分之一
五百到一千万 三到五萬人 七八折 1234567890123456789012亿元 123456789012345678点5万亿元
"""


@pytest.mark.parametrize("line", WRITTEN.strip().splitlines())
def test_numbers_as_english_writes_them(line: str) -> None:
    text, written = line.split(" | ")
    assert "; ".join(number.text for number in numbers(text)) == written


@pytest.mark.parametrize("text", LEFT.split())
def test_what_stays_as_it_is(text: str) -> None:
    assert numbers(text) == []


def test_values() -> None:
    known = {"十": 10, "一百零五": 105, "三百五": 350, "一亿二千万": 120_000_000, "一万亿": 10**12}
    assert {numeral: value(numeral) for numeral in known} == known
    assert not any(map(value, ("二三", "十五百", "三千五万亿万", "零点", "点五")))
