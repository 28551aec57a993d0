"""What English writes otherwise or alike: numbers, dates, times, money; words in Latin letters."""

import re
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from functools import partial
from math import prod

from ..text.scripts import HALF_WIDTH, LATIN_RANGES
from .names import Placeholder

FULL_WIDTH = {code: char for code, char in HALF_WIDTH.items() if char in "0123456789.%-$"}
FULL_WIDTH |= zip(map(ord, "−￥￡"), "-¥£", strict=True)
DIGITS = dict(zip("零一二三四五六七八九〇两", [*range(10), 0, 2], strict=True))
UNITS = {"亿": 10**8, "万": 10**4, "千": 1000, "百": 100, "十": 10}
PAST = {"半": 30, "一刻": 15, "1刻": 15, "三刻": 45, "3刻": 45}  # an hour
MOST = 10**12  # of 万 and of 亿, and before 点
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
    "个人 people, 人 people, 年 years, 个月 months, 个星期 weeks, 天 days, 个小时 hours, "
    "小时 hours, 分钟 minutes, 秒 seconds, 米 meters, 公里 kilometers, 岁 years old"
)
CHAPTERS = _table("章 Chapter, 节课 Lesson, 节 Section, 课 Lesson, 页 page, 集 Episode")
NEIGHBOURS = "一二三四五六七八九 一两三 三五"  # 五六年 is five to six years
# First characters of words that follow a number of things
MEASURES = "个位名人岁年天日周小分秒米公英斤吨克里度倍次遍本只条张辆座家所间层楼户套件台种亩平页元"

_HAN = "零〇一二两三四五六七八九"
_OTHER = "拾佰仟萬億兆"  # characters of numerals that aren't read
_ANY = rf"[{_HAN}十百千万亿\d]"
_MORE = rf"(?:{_ANY}|点(?={_ANY})|[.,](?=\d)){{0,24}}"  # as long as possible
_NUMBER, _SHARE = rf"([{_HAN}十\d]{_MORE})", rf"({_ANY}{_MORE})"
_DIGIT = rf"[{_HAN}\d]"
_SMALL = rf"(\d{{1,2}}|[{_HAN}十]{{1,3}}|[零〇]\d)"  # such as a day
_YEAR = rf"({_DIGIT}{{4}})年"
MORNINGS = ("凌晨", "清晨", "早上", "上午")
_NOON = f"({'|'.join(MORNINGS)}|中午|下午|傍晚|晚上)"
_DASHES, _TO = "~～〜—–-", "[到至~～〜—–-]"
_NO_WORD = "(?![论里化组数素桥催锂对]|[一二三]次)"  # 一元论, 三元里, 一元二次方程
_CURRENCY, _THING = "|".join(MONEY) + _NO_WORD, "|".join(THINGS)
_MINUTES = (
    rf"{_SMALL}分(?!之|钟)(?:{_SMALL}秒)?"
    rf"|([0-5]\d|[二三四五]?十[一二三四五六七八九]?)(?:分钟|(?!{_CURRENCY}|[块倍米公度分]))"
)
_UNIT, _FEW = "([百千万亿]+)", _HAN[2:]
_COIN = "[角毛分](?![钟之形洲铁])"
_PRICE_END = rf"(?![.,{_DASHES}]\d)(?=[的了吗吧呢一]|\W|$)"
_SIGNED = r"(?:(?<![\w)%℃°-])|(?<=[是到至为温约达低高损]))"

# All that may belong to one number, or to a range. Both ends of 百分之三到百分之五 are numbers of
# their own; those of 百分之三到五 and 三到五分之一 aren't. 1，234 may be one number.
_LIKE = rf"[{_HAN}十百千万亿\d{_OTHER}]"
# 歼-20 and 5度-10度 have no sign.
_MINUS = rf"{_SIGNED}|(?<![A-Za-z)%℃°{_LIKE[1:-1]}-])(?<!{_LIKE}[度元米])(?=-[\d.]+[%℃°度元米])"
_WITH_SIGN = rf"零下|(?<![减担肩背抱胜])负|(?<!-)-(?!\d+年)|{_LIKE}+分之"
_RUN = re.compile(
    rf"[A-Za-z第几幾数之.]?({_WITH_SIGN})?{_LIKE}(?:{_LIKE}|[几幾多余]|(?:[点點又比]|分之)(?={_LIKE})"
    rf"|[.,:/](?=\d)|[ ，](?<=\d.)(?=\d{{3}}(?!\d))"
    rf"|[到至{_DASHES}](?(1)(?!{_WITH_SIGN}))(?=(?:零下|[负-])?{_LIKE}))*"
    rf"(?:月|个[万亿]|(?:{_THING}|[{MEASURES}])半(?![天夜价])"
    rf"|(?:{_THING}|块)[零〇]?{_DIGIT}{{1,2}}(?:{_COIN}|{_PRICE_END}))?"
)
_THOUSANDS = re.compile("(?<![０-９])[０-９]{1,3}(?:，[０-９]{3})+(?![０-９])")
_ARABIC = re.compile(r"(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?")
_WITH_POINT = re.compile(rf"([^点.]+)点((?!.*两){_DIGIT}+)([百千]?[万亿]*)")

# Words in Latin letters and numbers, with marks within: 3.14, 10:30, New York, tom@example.com.
# All languages write these alike.
LATIN_LETTERS = f"0-9{LATIN_RANGES}"
_WORD = rf"[$€£¥]?[{LATIN_LETTERS}]+(?:[-+@._:/&'’,=?#~%]{{1,3}}[{LATIN_LETTERS}]+)*%?"
LATIN = re.compile(rf"{_WORD}(?:,? {_WORD})*")
# Digits beside Chinese numerals that couldn't be read together (20几万) aren't copied alone.
PART_OF_NUMERAL = re.compile(
    rf"(?<=[十百千万亿{_OTHER}])\d[\d.,]*|\d[\d.,]*(?=[多余几]?[十百千万亿{_OTHER}])"
)


def numbers(text: str) -> list[Placeholder]:
    """The numbers that English writes otherwise, in order. Leaves out numerals that aren't one
    number as a whole, with what they are a part of, such as an impossible date, and short Chinese
    ones without anything that they count."""
    found: list[Placeholder] = []
    taken, text = bytearray(len(text)), half_width(text)
    within = {at for run in _RUN.finditer(text) for at in range(run.start() + 1, run.end())}
    for rule, write in RULES:
        at = 0
        while match := rule.search(text, at):
            start, end = match.span()
            is_part = start in within or end in within
            at = start + 1 if is_part else end
            if not is_part and not any(taken[start:end]):
                if written := write(*match.groups()):
                    found.append(Placeholder(start, end, written))
                taken[start:end] = b"1" * (end - start)  # so that no part of it is read
    return sorted(found, key=lambda number: number.start)


def latin_words(text: str) -> Iterator[Placeholder]:
    """Words in Latin letters and numbers, which English writes alike."""
    for word in LATIN.finditer(half_width(text)):
        part = PART_OF_NUMERAL.match(text, word.start())
        if part is None or part.end() < word.end():
            yield Placeholder(*word.span(), word[0])


def half_width(text: str) -> str:
    """A text of the same length with digits, and marks between them, as English has them."""
    text = _THOUSANDS.sub(lambda number: number[0].replace("，", ","), text)
    return re.sub(r"(?<=\d)：(?=\d)", ":", text.translate(FULL_WIDTH))


def value(numeral: str, has_tenths: bool = True) -> Decimal | None:
    """1.5万 → 15000, 三百五 → 350; None if it isn't one number.

    has_tenths: whether a last digit may count tenths of the unit before it, as in 三百五.
    """
    if _ARABIC.fullmatch(numeral):
        return Decimal(numeral.replace(",", ""))
    if numeral in DIGITS:
        return Decimal(DIGITS[numeral])
    if parts := _WITH_POINT.fullmatch(numeral):
        whole, tenths, units = parts.groups()
        number = value(whole, False)
        if number is None or number >= MOST:
            return None
        return Decimal(f"{number:f}.{_digits(tenths)}") * prod(UNITS[unit] for unit in units)
    for unit, size in UNITS.items():
        if unit in numeral:
            left, _, right = numeral.partition(unit)
            many = value(left, False) if left or unit != "十" else Decimal(1)
            rest = _rest(right, size, has_tenths)
            if many is None or rest is None or not 0 < many < (10 if size < 10**4 else MOST):
                return None
            if (many % 1 and (right or size == 10)) or re.match(r"0\d|两十", numeral):
                return None
            return many * size + rest
    return None


def _rest(numeral: str, size: int, has_tenths: bool) -> Decimal | None:
    """The value of what follows a unit."""
    if not numeral:
        return Decimal(0)
    plain = numeral.lstrip("零〇")
    found = value(plain, has_tenths)
    if found is None or not 0 < found < size or len(numeral) > len(plain) + 1 or plain[-1] == "两":
        return None
    if len(numeral) == 1 and found < 10 < size:
        return found * size / 10 if has_tenths else None
    # 2亿50 may be 2亿50万, 一亿五千 150 million, and 1万05 10,500.
    is_ascii = plain.isascii()
    least = size / 10**4 if not is_ascii else max(size / 10, 100) if found % 1 else size / 100
    is_short = plain == numeral and found < least
    return None if is_short or (is_ascii and plain[0] == "0") else found


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


def _date(year: str | None, month: str, *others: str | None) -> str:
    """三月 may be three months."""
    day, last_month, last = (*others, None, None)[:3]
    if last_month:
        years = (year, "") if (value(month) or 0) > (value(last_month) or 0) else ("", year)
        ends = _date(years[0], month, day), _date(years[1], last_month, last)
        return " to ".join(ends) if all(ends) else ""
    m, y = int(value(month) or 0), _digits(year or "")
    try:  # such as one or two days of a month that have no others
        days = [date(int(y or 2000), m, int(value(d) or 0)).day for d in (day or "1", last) if d]
    except ValueError:
        return ""
    if days != sorted(set(days)) or not (year or day or month.isascii()):
        return ""
    written = MONTHS[m - 1] + f" {' to '.join(map(str, days))}" * bool(day)
    return f"{written}{',' * bool(day)} {y}" if y else written


def _time(noon: str | None, hour: str, half: str | None, *others: str | None) -> str:
    """Hours alone are times only with 整 or a time of the day."""
    minute, second, minute_alone = others
    at, past, more = value(hour), _sixtieths(minute or minute_alone), _sixtieths(second)
    past = PAST.get(half or "", past)
    if at is None or past is None or more is None or not (noon or half or minute or minute_alone):
        return ""
    written = f"{at}" if noon and not past and at <= 12 else f"{at}:{past:02}"
    return _with_noon(noon, f"{written}:{more:02}" if second else written)


def _sixtieths(numeral: str | None) -> int | None:
    """零5 and 05 → 5"""
    number = value((numeral or "").lstrip("零〇0") or "0")
    return int(number) if number is not None and number < 60 else None


def _with_noon(noon: str | None, *times: str | None) -> str:
    """11 at noon (中午) is before it, 12 to 4 in the evening (晚上) after midnight; "" for what is
    no time, and from one half of a day to the other."""
    written, ends, last = [], set(), -1
    for each in filter(None, times):
        hour, minute = map(int, f"{each}:0".split(":")[:2])
        is_whole_day = noon is None or (hour > 12 and noon not in MORNINGS)
        is_late = noon in ("下午", "傍晚") or (noon == "中午" and hour not in (10, 11))
        is_late = is_late or (noon == "晚上" and 5 <= hour < 12)
        written.append(each if hour or is_whole_day else re.sub("^0+", "12", each))
        ends.add("" if is_whole_day else " p.m." if is_late else " a.m.")
        at = 60 * (hour if is_whole_day else hour % 12) + minute
        is_wrong = hour > (24 if is_whole_day else 12) or (hour == 12 and noon in MORNINGS[1:])
        if is_wrong or minute > 59 or at > 24 * 60 or at <= last:
            return ""
        last = at
    return "-".join(written) + ends.pop() if len(ends) == 1 else ""


def _fraction(low: str, high: str, of: str | None) -> str:
    """A unit alone is one of it: 百分之百, 万分之一. 三分之一点五 isn't one number."""
    above, below = (spelled(each) or spelled(f"一{each}") for each in (high, low))
    if not above or not below or "." in below or ("." in above and low not in UNITS):
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
    number = value(numeral)
    if number and tens:
        return f"the {number * 10 - 10 + int(_digits(tens))}0s"
    return f"the {_ordinal(number)} century" if number else ""


def _with_tenths(numeral: str, unit: str, tenths: str = "5") -> str:
    number = value(numeral)
    is_whole = number is not None and not number % 1
    return f"{number:,f}.{_digits(tenths)} {THINGS[unit.replace('半', '')]}" if is_whole else ""


def _discount(share: str) -> str:
    """八五折, 8.5折 → "15% off"; "" for 零折, 10折, and 七八折, which may be seven to eight."""
    if share[0] in "零〇0" or share == "10" or (len(share) > 1 and share in NEIGHBOURS):
        return ""
    return f"{100 - int(re.sub('[点.]', '', _digits(share)).ljust(2, '0'))}% off"


def _yuan(numeral: str, tenths: str | None, hundredths: str | None) -> str:
    """十元三角八分, 十块三毛八 → "10.38 yuan"."""
    if not (tenths or hundredths):
        return _formatted("{}", numeral, thing="元")
    return _with_tenths(numeral, "元", (tenths or "零") + (hundredths or ""))


def _range(low: str, high: str, currency: str | None) -> str:
    """3到5万 → "30,000 to 50,000". The context decides 五十到一百万 and 五百到一千万."""
    is_bare = not set(low) & set("百千万亿")
    few = high.rstrip("百千万亿" if is_bare else "万亿")
    if few < high:
        is_less = (value(low) or 0) < (value(few) or 0)
        if is_less != is_bare and not low.isascii():
            return ""
        low += high[len(few) :] if is_less else ""
    return _formatted("{} to {}", low, high, thing=currency)


def _neighbours(start: str, low: str, high: str, unit: str, thing: str | None) -> str:
    """一百五六十人 → "150 to 160 people"."""
    if low + high not in NEIGHBOURS:
        return ""
    return _formatted("{} to {}", start + low + unit, start + high + unit, thing=thing)


def _over(numeral: str, unit: str | None, thing: str | None) -> str:
    is_many = unit or (value(numeral) or 0) >= 10
    return _formatted("over {}", numeral + (unit or ""), thing=thing) if is_many else ""


def _formatted(pattern: str, *numerals: str, thing: str | None = None) -> str:
    """The pattern with numerals in digits, and what they count; "" if one isn't a number."""
    amounts = [spelled(each) for each in numerals]
    things = THINGS.get(thing or "", "")
    things = things.removesuffix("s") if amounts == ["1"] else things
    return f"{pattern.format(*amounts)} {things}".rstrip() if all(amounts) else ""


def _count(numeral: str, thing: str | None) -> str:
    """Leaves small ones, those in digits alone, words (三千), and 二千零五年, maybe a date."""
    number = value(numeral) or 0
    is_short = number < 1000 or len(numeral) < 3
    is_word = thing is None and is_short and not re.search(r"\d", numeral)
    is_year = thing == "年" and 1900 < number < 2100 and number % 100
    is_left = numeral.isascii() or is_word or is_year or (number <= 10 and not number % 1)
    return "" if is_left else _formatted("{}", numeral, thing=thing)


# The first rule that fits counts.
_RULES: dict[str, Callable[..., str]] = {
    rf"(?:{_YEAR})?(\d{{1,2}})()月?{_TO}(\d{{1,2}})月(?!\d)": _date,
    rf"(?:{_YEAR})?{_SMALL}月(?:{_SMALL}(?:[日号]|(?={_TO}[\d{_HAN}十]+[日号]|(?<=\d)(?:[^\w\s.,:、-]|$)))"
    rf"(?:{_TO}(?:{_SMALL}月)?{_SMALL}[日号])?)?": _date,
    rf"(?!\d{{4}})({_DIGIT}{{4}})(?=年)": _digits,
    rf"(?!两){_SMALL}世纪(?:({_DIGIT})[十0]年代)?": _century,
    rf"(\d{{1,3}}0|[{_HAN}]十)年代": partial(_formatted, "{}s"),
    rf"{_NOON}{_SMALL}点?{_TO}{_SMALL}点(?![半整\d{_HAN}十])": lambda noon, *hours: _with_noon(
        noon, *(spelled(hour) or "25" for hour in hours)
    ),
    rf"{_NOON}?{_SMALL}点(?:(半|[一三13]刻|整)|{_MINUTES})?": _time,
    rf"{_NOON}(\d+:\d\d)(?:{_TO}(\d+:\d\d))?": _with_noon,
    rf"{_NUMBER}比{_NUMBER}(?![大小多少高低长短重轻贵])": partial(_formatted, "{}-{}"),
    rf"{_SHARE}分之{_SHARE}(的(?=\w))?": _fraction,
    rf"第{_NUMBER}(?![、和或]{_ANY})({'|'.join(CHAPTERS)})?": _nth,
    rf"(?<!{_DIGIT}[米块元]){_NUMBER}(?:[到至]|[{_DASHES}](?=[\d.]+(?:{_UNIT[1:-1]}|{_CURRENCY})))"
    rf"{_NUMBER}(?:({_CURRENCY})|(?<=[百千万亿])|(?=[{MEASURES}]))": _range,
    rf"{_SMALL}([年天岁]半|公里半|个半(?:小时|月|星期))(?![年天夜载价工自决信数路])": _with_tenths,
    rf"([1-3一二两三])(米)({_DIGIT}{{1,2}})(?![{MEASURES}])": _with_tenths,
    rf"{_SMALL}度({_DIGIT})(?![{MEASURES}角])": partial(_formatted, "{}.{} degrees"),
    rf"(?:打|(?<!波))({_DIGIT}(?:[点.]?{_DIGIT})?)折(?![扣叠磨腾合戏画页屏幕子])": _discount,
    rf"((?:{_ANY}*[十百千万])?)([{_FEW}])([{_FEW}])([十百千万亿]*)(?!年[级代])"
    rf"(?:({_THING})|(?=[{MEASURES}]))": _neighbours,
    rf"(?<![成为]){_NUMBER}[元块]{_NO_WORD}(?:({_DIGIT})(?:[角毛]|(?<=块.)))?"
    rf"(?:[零〇]?({_DIGIT})(?(2)分?|分))?(?:钱|{_PRICE_END}|(?<=[角毛分])(?![钟之形洲铁]))": _yuan,
    rf"{_NUMBER}({_CURRENCY})": lambda numeral, thing: _formatted("{}", numeral, thing=thing),
    rf"零下{_NUMBER}[到至]{_NUMBER}(?=度)": partial(_formatted, "-{} to -{}"),
    rf"(?:零下|{_SIGNED}负){_NUMBER}(?=[度摄米层分到至]|\W|$)": partial(_formatted, "-{}"),
    rf"(?:{_MINUS})-(\d[\d.]*(?:%|℃|°C?)?)(?![A-Za-z-])": "-{}".format,
    rf"{_NUMBER}[多余几]{_UNIT}?(?!号)({_THING})?": _over,
    rf"{_NUMBER}({_THING}|(?=[{MEASURES}]))?": _count,
}
RULES = [(re.compile(pattern), write) for pattern, write in _RULES.items()]
