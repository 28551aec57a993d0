"""Numbers in Chinese texts, as English writes them."""

from __future__ import annotations

import pytest

from spacy_flat.translator.numbers import numbers, value

WRITTEN = """
出生于2020年1月5日 | January 5, 2020
二〇二〇年十月一日 | October 1, 2020
1998年3月和12月 | March 1998; December
一九四一年 | 1941
80年代和九十年代，二十一世纪 | 80s; 90s; 21st century
奥沙利文6比3丁俊晖 | 6-3
三比二赢了 | 3-2
百分之三点五 | 3.5%
五十块 | 50 yuan
一块钱一个 | 1 yuan
10,000日元，175万美元 | 10,000 yen; 1.75 million dollars
一点五万人，１.５万人，1.5万 | 15,000; 15,000; 15,000
14亿人 | 1.4 billion
一万二千零五十名，三百五十米 | 12,050; 350
20多万 | over 200,000
3~5万 | 30,000 to 50,000
气温-5度，零下二十度 | -5; -20
下午三点半到晚上8点 | 3:30 p.m.; 8 p.m.
上午9:00-11:30 | 9:00-11:30 a.m.
三点五十，9点05分 | 3:50; 9:05
9秒58，1分23秒45 | 9.58 seconds; 1:23.45
"""
# Words, what isn't one number, what the network knows, and what all languages write alike
LEFT = """
二三十个 十几个 三四百人 百万人 1.5万5 二十分之一 第二十个 千万不要 万一 十分高兴 三八妇女节 四川
三本书 五块蛋糕 三百块石头 三月 5比3大 13月40日 歼-20 GPT-4 9:00-17:00 2020-01-05 3.14 13800138000
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
    assert not any(
        map(value, ("二三", "十五百", "三千五万亿万", "零点", "点五", "", "十万" * 5000))
    )
