"""What English writes otherwise or alike: numbers, dates, times, scores and sums of money; words in
Latin letters."""

import re
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from functools import partial

from .names import Placeholder

FULL_WIDTH = str.maketrans("０１２３４５６７８９．％－−＄￥￡", "0123456789.%--$¥£")
DIGITS = dict(zip("零一二三四五六七八九〇两", [*range(10), 0, 2], strict=True))
UNITS = {"亿": 10**8, "万": 10**4, "千": 1000, "百": 100, "十": 10}
MAX_LENGTH = 24  # of a numeral with Chinese characters
LARGE = {10**12: "trillion", 10**9: "billion", 10**6: "million"}
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)


def _table(lines: str) -> dict[str, str]:
    return dict(each.strip().split(" ", 1) for each in lines.split(","))


MONEY = _table(
    "美元 dollars, 日元 yen, 日圆 yen, 欧元 euros, 英镑 pounds, 港元 Hong Kong dollars, 韩元 won, "
    "卢布 rubles, 卢比 rupees, 人民币 yuan, 块钱 yuan, 元 yuan"
)
THINGS = MONEY | _table(
    "个人 people, 人 people, 年 years, 个月 months, 天 days, 个小时 hours, 小时 hours, "
    "分钟 minutes, 秒 seconds, 米 meters, 公里 kilometers, 岁 years old"
)
TENTHS = _table(
    "个半小时 hours, 个半月 months, 个半星期 weeks, 年半 years, 天半 days, 岁半 years old, "
    "米 meters, 块 yuan"
)
CHAPTERS = _table("章 Chapter, 节课 Lesson, 节 Section, 课 Lesson, 页 page, 集 Episode")
NEIGHBOURS = "一二三四五六七八九 一两三 三五"  # 五六年 is five to six years
# First characters of words that follow a number of things
MEASURES = "个位名人岁年天日周小分秒米公英斤吨克里度倍次遍本只条张辆座家所间层楼户套件台种亩平页元"

_HAN = "零〇一二两三四五六七八九"
_ANY = rf"[{_HAN}十百千万亿\d]"
_NUMBER = rf"({_ANY}(?:{_ANY}|点(?={_ANY})|[.,](?=\d)){{0,24}})"  # as long as possible
_SMALL = rf"(\d{{1,2}}|[{_HAN}十]{{1,3}})"  # such as a day
_YEAR = rf"(\d{{4}}|[{_HAN}]{{4}})年"
_NOON = "(上午|早上|清晨|凌晨|中午|下午|傍晚|晚上)"
_START = rf"(?<![A-Za-z])(?<!\d[.,:/~-])(?<!{_ANY})(?<![第几数之])"
_END = rf"(?!{_ANY}|点{_ANY}|[.:]\d)"
_DEGREES = "(?:%|℃|°C?)?"
_MINUTES = rf"{_SMALL}分|(\d\d|[二三四五]?十[一二三四五六七八九]?){_END}"
_CURRENCY, _THING = "|".join(MONEY), "|".join(THINGS)
_UNIT = "([百千万亿]+)"
_FEW = _HAN[2:]
_PRICE_END = r"(?=[的了吗吧呢一]|\W|$)"
_SIGNED = r"(?:(?<![\w)])|(?<=[是到至为温约达低高损]))"

# Words in Latin letters and numbers, with marks within: 3.14, 10:30, New York, tom@example.com.
# All languages write these alike.
LATIN_LETTERS = "0-9A-Za-zÀ-ÖØ-öø-ɏ"
_WORD = rf"[$€£¥]?[{LATIN_LETTERS}]+(?:[-+@._:/&'’,=?#~%]{{1,3}}[{LATIN_LETTERS}]+)*%?"
LATIN = re.compile(rf"{_WORD}(?:,? {_WORD})*")
# Digits beside Chinese numerals that couldn't be read together (20几万) aren't copied alone.
PART_OF_NUMERAL = re.compile(r"(?<=[十百千万亿])\d[\d.,]*|\d[\d.,]*(?=[多余几]?[十百千万亿])")


def numbers(text: str) -> list[Placeholder]:
    """The numbers that English writes otherwise, in order. Leaves out numerals that aren't one
    number as a whole, and Chinese ones without anything that they count."""
    found: list[Placeholder] = []
    taken = bytearray(len(text))
    text = half_width(text)
    for rule, write in RULES:
        for match in rule.finditer(text):
            start, end = match.span()
            if not any(taken[start:end]) and (written := write(*match.groups())):
                found.append(Placeholder(start, end, written))
                taken[start:end] = b"1" * (end - start)
    return sorted(found, key=lambda number: number.start)


def latin_words(text: str) -> Iterator[Placeholder]:
    """Words in Latin letters and numbers, which English writes alike."""
    for word in LATIN.finditer(half_width(text)):
        part = PART_OF_NUMERAL.match(text, word.start())
        if part is None or part.end() < word.end():
            yield Placeholder(*word.span(), word[0])


def half_width(text: str) -> str:
    """A text of the same length with digits, and marks between them, as English has them."""
    return re.sub(r"(?<=\d)：(?=\d)", ":", text.translate(FULL_WIDTH))


def value(numeral: str) -> Decimal | None:
    """1.5万 → 15000, 三百五 → 350; None if it isn't one number."""
    if re.fullmatch(r"\d[\d,]*(\.\d+)?", numeral):
        return Decimal(numeral.replace(",", ""))
    if len(numeral) > MAX_LENGTH:
        return None
    if numeral in DIGITS:
        return Decimal(DIGITS[numeral])
    if parts := re.fullmatch(rf"(.+)点([{_HAN}\d]+)([百千万亿]*)", numeral):
        whole, tenths, units = parts.groups()
        number = value(whole)
        if number is not None:
            number = Decimal(f"{number}.{_digits(tenths)}")
            for unit in units:
                number *= UNITS[unit]
        return number
    for unit, size in UNITS.items():
        if unit in numeral:
            left, _, right = numeral.partition(unit)
            many = value(left) if left or unit != "十" else Decimal(1)
            rest = _rest(right, size)
            if many is None or rest is None or (many % 1 and right) or (size < 10**4 and many > 9):
                return None
            return many * size + rest
    return None


def _rest(numeral: str, size: int) -> Decimal | None:
    """The value of what follows a unit; a last digit counts tenths of it (三百五)."""
    if not numeral:
        return Decimal(0)
    if numeral in DIGITS and size > 10:
        return Decimal(DIGITS[numeral] * size // 10)
    found = value(numeral[numeral[0] in "零〇" :])
    return found if found is not None and found < size else None


def spelled(numeral: str) -> str:
    """In digits, with words for millions and more; "" if it isn't one number."""
    number = value(numeral)
    if number is None or numeral.isascii():
        return "" if number is None else numeral
    for size, word in LARGE.items():
        if number >= size and number * 1000 % size == 0:
            return f"{(number / size).normalize():,f} {word}"
    return f"{number.normalize():,f}"


# How a rule's groups are written; "" leaves them to the network


def _digits(numeral: str) -> str:
    return "".join(str(DIGITS.get(each, each)) for each in numeral)


def _date(year: str | None, month: str, day: str = "") -> str:
    m, d, y = value(month), value(day or "1"), _digits(year or "")
    try:
        date(int(y or 2000), int(m or 0), int(d or 0))
    except ValueError:  # one that doesn't exist
        return ""
    written = MONTHS[int(m or 0) - 1] + f" {d}" * bool(day)
    return f"{written}{',' * bool(day)} {y}" if y else written


def _time(noon: str | None, hour: str, half: str | None, *minutes: str | None) -> str:
    """Hours alone are times only with 整 or a time of the day."""
    at, given = value(hour), next(filter(None, minutes), "")
    past = {"半": 30, "一刻": 15, "三刻": 45}.get(half or "", _rest(given, 60))
    if at is None or past is None or at > 24 or past > 59 or not (noon or half or given):
        return ""
    written = f"{at}" if noon and not past else f"{at}:{int(past):02}"
    return _with_noon(noon, written) if noon and at <= 12 else written


def _with_noon(noon: str, time: str) -> str:
    """11 at noon (中午) is before it, 12 to 4 in the evening (晚上) after midnight."""
    hour = int(time.split(":")[0])
    is_late = noon in ("下午", "傍晚") or (noon == "中午" and hour not in (10, 11))
    is_late = is_late or (noon == "晚上" and 5 <= hour < 12)
    return f"{time} {'p.m.' if is_late else 'a.m.'}"


def _fraction(low: str, high: str, of: str | None) -> str:
    """A unit alone is one of it: 百分之百, 万分之一."""
    above, below = (spelled(each) or spelled(f"一{each}") for each in (high, low))
    if not (above and below):
        return ""
    return f"{above}%" if low == "百" else f"{above}/{below}{' of the' if of else ''}"


def _nth(numeral: str, kind: str | None = None) -> str:
    """第3章 → "Chapter 3", 第3名 → "3rd". Small ones in Chinese alone are left to the network."""
    number = value(numeral)
    if number is None or number % 1:
        return ""
    if kind:
        return f"{CHAPTERS[kind]} {number}"
    return _ordinal(number) if numeral.isascii() or number > 10 else ""


def _ordinal(number: Decimal) -> str:
    end = {1: "st", 2: "nd", 3: "rd"}.get(int(number % 10 if number // 10 % 10 != 1 else 0), "th")
    return f"{number:f}{end}"


def _century(numeral: str, tens: str | None) -> str:
    """20世纪90年代 → "the 1990s", 20世纪 → "the 20th century"."""
    number = value(numeral) or Decimal(1)
    return f"the {number - 1}{_digits(tens)}0s" if tens else f"the {_ordinal(number)} century"


def _with_tenths(numeral: str, unit: str, tenths: str = "5") -> str:
    number = value(numeral)
    is_whole = number is not None and not number % 1
    return f"{number:,f}.{_digits(tenths)} {TENTHS[unit]}" if is_whole else ""


def _discount(share: str) -> str:
    """八五折, 8.5折 → "15% off"; "" for 零折 and 10折."""
    if share[0] in "零〇0" or share in ("10", "十"):
        return ""
    return f"{100 - int(_digits(share).replace('.', '').ljust(2, '0'))}% off"


def _money(numeral: str, currency: str = "元") -> str:
    amount, word = spelled(numeral), MONEY[currency]
    return amount and f"{amount} {word.removesuffix('s') if amount == '1' else word}"


def _range(low: str, high: str, currency: str | None) -> str:
    """3到5万 → "30,000 to 50,000". What 五十到一百万 begins with depends on the context."""
    few = high.rstrip("百千万亿")
    if few < high and low[-1] not in "百千万亿":
        if (value(few) or 0) > (value(low) or 0):
            low += high[len(few) :]
        elif not low.isascii():
            return ""
    return _formatted(f"{{}} to {{}} {MONEY[currency] if currency else ''}".rstrip(), low, high)


def _neighbours(start: str, low: str, high: str, unit: str, thing: str | None) -> str:
    """一百五六十人 → "150 to 160 people"."""
    if low + high not in NEIGHBOURS:
        return ""
    return _formatted("{} to {}" + _of(thing), start + low + unit, start + high + unit)


def _over(numeral: str, unit: str | None, thing: str | None) -> str:
    is_many = unit or (value(numeral) or 0) >= 10
    return _formatted("over {}" + _of(thing), numeral + (unit or "")) if is_many else ""


def _of(thing: str | None) -> str:
    return f" {THINGS[thing]}" if thing else ""


def _formatted(pattern: str, *numerals: str) -> str:
    """The pattern with numerals in digits; "" if one isn't a number."""
    amounts = [spelled(each) for each in numerals]
    return pattern.format(*amounts) if all(amounts) else ""


def _count(numeral: str, thing: str | None) -> str:
    """Small whole ones, and those in digits alone, stay as they are."""
    number = value(numeral) or 0
    is_left = numeral.isascii() or (number <= 10 and not number % 1)
    return "" if is_left else _formatted("{}" + _of(thing), numeral)


# The first rule that fits counts.
_RULES: dict[str, Callable[..., str]] = {
    rf"{_START}(?:{_YEAR})?{_SMALL}月{_SMALL}[日号]": _date,
    rf"{_START}{_YEAR}{_SMALL}月": _date,
    rf"{_START}()(\d{{1,2}})月": _date,
    rf"{_START}([{_HAN}]{{4}})(?=年)": _digits,
    rf"{_START}(?!两){_SMALL}世纪(?:([{_HAN}\d])[十0]年代)?": _century,
    rf"{_START}(\d{{2,4}}|[{_HAN}]十)年代": partial(_formatted, "{}s"),
    rf"{_START}{_NOON}?{_SMALL}点(?:(半|[一三]刻|整)|{_MINUTES}|(?!{_ANY}))": _time,
    rf"{_NOON}(\d+:\d\d(?:[-~]\d+:\d\d)?)": _with_noon,
    rf"{_START}{_NUMBER}比{_NUMBER}{_END}(?![大小多少高低长短重轻贵])": partial(
        _formatted, "{}-{}"
    ),
    rf"{_START}{_NUMBER}分之{_NUMBER}{_END}(的(?=\w))?": _fraction,
    rf"第{_NUMBER}{_END}(?![-~到至])({'|'.join(CHAPTERS)})?": _nth,
    rf"{_START}{_NUMBER}(?:到|至|[-~](?=[\d.]+{_UNIT[1:-1]})){_NUMBER}{_END}"
    rf"(?:({_CURRENCY})|(?<=[百千万亿])|(?=[{MEASURES}]))": _range,
    rf"{_START}{_SMALL}([年天岁]半|个半(?:小时|月|星期))(?![年天夜载价工自决信数路])": _with_tenths,
    rf"{_START}([1-3一二两三])(米)([{_HAN}\d]{{1,2}})(?![几多{MEASURES}]|{_ANY})": _with_tenths,
    rf"{_START}{_NUMBER}(块)([{_HAN}\d])(?:[毛角]钱?)?{_PRICE_END}": _with_tenths,
    rf"(?:打|(?<!波){_START})([{_HAN}\d]{{1,2}}|\d\.\d)折(?![扣叠磨腾合戏画页屏幕子])": _discount,
    rf"{_START}((?:{_ANY}*[十百千万])?)([{_FEW}])([{_FEW}])([十百千万亿]*)(?!年[级代])"
    rf"(?:({_THING})|(?=[{MEASURES}]))": _neighbours,
    rf"{_START}{_NUMBER}({_CURRENCY})": _money,
    rf"{_START}{_NUMBER}块{_PRICE_END}": _money,
    rf"零下{_NUMBER}{_END}": partial(_formatted, "-{}"),
    rf"{_SIGNED}负{_NUMBER}{_END}(?=[度米层分]|\W|$)": partial(_formatted, "-{}"),
    rf"{_SIGNED}-(\d[\d.]*{_DEGREES}){_END}(?![A-Za-z-])": "-{}".format,
    rf"{_START}{_NUMBER}[多余几]{_UNIT}?(?!{_ANY}|号)({_THING})?": _over,
    rf"{_START}(\d[\d.,]*{_ANY}+){_END}({_THING})?": _count,
    rf"{_START}{_NUMBER}{_END}(?!分之)(?:({_THING})|(?=[{MEASURES}]))": _count,
}
RULES = [(re.compile(pattern), write) for pattern, write in _RULES.items()]
