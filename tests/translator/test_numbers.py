"""The values of numerals, and that no part of one is read alone, beside a slow reference: all
spellings of a number."""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_flat.translator.numbers import numbers, value

DIGITS = "零一二三四五六七八九"
UNITS = {"亿": 10**8, "万": 10**4, "千": 1000, "百": 100, "十": 10}
FULL_WIDTH = str.maketrans("0123456789.,", "０１２３４５６７８９．，")


@cache
def spellings(number: int, has_tenths: bool = True) -> set[str]:
    """In Chinese and Arabic digits and both. has_tenths: also as 三百五 and 1万5."""
    found = {str(number), f"{number:,}"}
    if number < 10:
        return found | {DIGITS[number], {0: "〇", 2: "两"}.get(number, DIGITS[number])}
    for unit, size in UNITS.items():  # 0.5万 and 150万, but neither 0.005亿 nor 15千
        if 10 < size <= 2 * number and (number < 10 * size or size >= 10**4):
            found.add(f"{number / size:.12g}{unit}")
    unit, size = next(each for each in UNITS.items() if number >= each[1])
    many, rest = divmod(number, size)
    heads = {each + unit for each in spellings(many, False) if unit not in each} - {"两十"}
    if number < 20:
        heads.add("十")
    if not rest:
        return found | heads
    rests = spellings(rest, has_tenths) - {"两"}
    # A single digit would count tenths, 2亿50 may be 2亿50万, and 一亿五千 150 million.
    ends = {each for each in rests if rest * (100 if each.isascii() else 10**4) >= size}
    if size > 10:
        ends = {each for each in ends if len(each) > 1 or each == "十"}
    ends |= {zero + each for zero in "零〇" for each in rests}
    if has_tenths and size > 10 and rest * 10 % size == 0:
        ends |= spellings(rest * 10 // size) - {"两"}
    return found | {head + end for head, end in product(heads, ends)}


def with_few_digits(digits: str, length: int) -> Iterator[int]:
    for each in product(digits, repeat=length):
        if length - each.count("0") <= 3:
            yield int("".join(each))


def test_all_short_numerals() -> None:
    known = {each: number for number in with_few_digits("015", 8) for each in spellings(number)}
    for length in (1, 2, 3, 4):
        for numeral in map("".join, product("零一五十百千万15.", repeat=length)):
            if not numeral.isascii():
                assert value(numeral) == known.get(numeral), numeral


def test_what_may_leave_out_a_unit_is_no_number() -> None:
    assert [value(each) for each in ("一亿五千", "3亿2百", "2亿50", "1万05")] == [None] * 4
    assert value("一亿零五千") == 100_005_000


@st.composite
def spelled_numbers(draw: st.DrawFn) -> tuple[str, Decimal]:
    """Of up to three digits that aren't 0, some with a 点."""
    places = st.dictionaries(st.integers(0, 11), st.integers(1, 9), min_size=1, max_size=3)
    number = sum(digit * 10**place for place, digit in draw(places).items())
    tenths, written = draw(st.sampled_from([("0", ""), ("5", "点五"), ("05", "点零5")]))
    numeral = draw(st.sampled_from(sorted(spellings(number, not written))))
    if written and "." in numeral:
        return numeral, Decimal(number)
    return numeral + written, Decimal(f"{number}.{tenths}")


def amount(written: str) -> Decimal:
    number, *size = written.replace(",", "").split()
    sizes = {"million": 10**6, "billion": 10**9, "trillion": 10**12}
    return Decimal(number) * (sizes[size[0]] if size else 1)


@settings(max_examples=300, deadline=None)
@given(spelled=spelled_numbers(), is_wide=st.booleans())
def test_prices_in_all_spellings(spelled: tuple[str, Decimal], is_wide: bool) -> None:
    numeral, number = spelled
    text = f"有{numeral.translate(FULL_WIDTH) if is_wide else numeral}元"
    (found,) = numbers(text)
    assert (found.start, found.end) == (1, len(text))
    assert amount(found.text.rpartition(" ")[0]) == number


@settings(max_examples=300, deadline=None)
@given(first=spelled_numbers(), second=spelled_numbers(), is_wide=st.booleans())
def test_signs_and_fractions(
    first: tuple[str, Decimal], second: tuple[str, Decimal], is_wide: bool
) -> None:
    """They are right or stay as they are."""
    (low, lower), (high, higher) = first, second
    wanted = {
        f"零下{low}度": [-lower],
        f"负{low}米": [-lower],
        f"百分之{low}": [lower],
        f"{low}分之{high}": [higher, lower],
        f"{low}比{high}": [lower, higher],
    }
    for text, amounts in wanted.items():
        wide = text.translate(FULL_WIDTH) if is_wide else text
        for found in numbers(wide):
            parts = re.findall(r"^-?[\d.,]+[ a-z]*|[\d.,]+[ a-z]*", found.text)
            assert [amount(part) for part in parts] == amounts, text


# No part of what is in brackets is a number of its own.
WHOLE = (
    "[零下{}到{}]度 今天[负{}至{}]度 [第{}到{}]名 约[{}到{}分之一] [{}点{}分之一] [{}又{}分之一] "
    "[{}元5]。 [{}公里半] [第{}月] 亏损[-{}]元 [{}几万]人 [第{}几]名 [百分之{}到{}] [A{}]个"
)


@settings(max_examples=500, deadline=None)
@given(low=spelled_numbers(), high=spelled_numbers(), pattern=st.sampled_from(WHOLE.split()))
def test_no_half_is_read(low: tuple[str, Decimal], high: tuple[str, Decimal], pattern: str) -> None:
    before, inside, after = re.split(r"[\[\]]", pattern.format(low[0], high[0]))
    for found in numbers(before + inside + after):
        assert found.start <= len(before)
        assert found.end >= len(before + inside)


# What the hours from 0 to 24 are: a.m., p.m., of 24, or none
NOONS = {
    "": "=" * 25,
    "凌晨": "a" * 13 + "-" * 12,
    "上午": "a" * 12 + "-" * 13,
    "中午": "p" * 10 + "aap" + "=" * 12,
    "下午": "p" * 13 + "=" * 12,
    "晚上": "a" * 5 + "p" * 7 + "a" + "=" * 12,
}


def test_times() -> None:
    for (noon, halves), hour, minute in product(NOONS.items(), range(26), (5, 30, 59, 60)):
        half = halves[hour] if hour < 24 and minute < 60 else "-"
        written = f"{12 if noon and hour == 0 else hour}:{minute:02}"
        wanted = [] if half == "-" else [written + {"a": " a.m.", "p": " p.m."}.get(half, "")]
        texts = [f"{noon}{hour}点{minute}分", f"{noon}{hour}:{minute:02}"]
        for text in texts if noon else texts[:1]:
            assert [found.text for found in numbers(text)] == wanted, text


@settings(max_examples=1000, deadline=None)
@given(
    numeral=st.text("零一五两十百千万亿15０萬", min_size=1, max_size=8),
    thing=st.sampled_from(["元", "个人", "米", "折", "点", "分"]),
    before=st.sampled_from(["有", "第", "零下", "百分之"]),
)
def test_no_part_is_read_alone(numeral: str, thing: str, before: str) -> None:
    for found in numbers(before + numeral + thing):
        assert found.start <= len(before)
        assert found.end >= len(before + numeral)
