"""Entities as other tools and corpora write them: tokens with tags or spans in JSON, columns of
CoNLL-U, tables of words, marks within the text, words with their nature, prompts, and brat's
folders. Each reader yields sentences."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from operator import index
from pathlib import Path
from typing import Any

from ..errors import Errors
from ..text.spans import EntitySpan
from ..util.files import read_text, read_text_lines
from .augmenters import COMPOUND_SURNAMES
from .columns import (
    Cells,
    Reader,
    Sentence,
    column_lines,
    column_places,
    read_columns,
    sentences_of,
)
from .formats import ConvertOptions, Summary
from .offsets import EXAMPLES, LAYOUT, Mention, longest, parse, read_offsets
from .records import Line, csv_lines, parsed_records, require_columns, tab_lines

# Tokens with tags


def tokens_of(record: Any, names: Sequence[str] | None = None) -> list[tuple[Any, Any]]:
    """Tokens and tags of a record. Raises ValueError that says what is wrong with it.

    names: of tags that are numbers; None to leave these.
    """
    record = record if isinstance(record, dict) else {}
    tokens, tags = record.get("tokens"), record.get("ner_tags", record.get("tags"))
    if not isinstance(tokens, list) or not isinstance(tags, list) or len(tokens) != len(tags):
        raise ValueError("it hasn't as many tags as tokens")
    known = dict(enumerate(names or ()))
    pairs = [(token, known.get(tag, tag)) for token, tag in zip(tokens, tags, strict=True)]
    for each in chain.from_iterable(pairs) if names is not None else ():
        if not isinstance(each, str) or not each:
            raise ValueError(
                f"{each!r} is not a token or a tag (name numbers with --tags O,B-PER,…)"
            )
    return pairs


def read_tokens(path: Path, options: ConvertOptions) -> Cells:
    """Hugging Face's tokens and tags. Raises ValueError (F119, F156)."""
    layout = '{"tokens": […], "ner_tags": […]}'
    for line, pairs in parsed_records(path, partial(tokens_of, names=options.tags), layout):
        yield from ((line, cell) for cell in (*pairs, None))


def is_conllu(text: str) -> bool:
    """Whether a line is one of CoNLL-U."""
    return re.match(r"\d+([-.]\d+)?\t([^\t]+\t){8}[^\t]+$", text) is not None


def read_conllu(path: Path, options: ConvertOptions) -> Cells:
    """CoNLL-U with tags in the last column, as `NER=B-PER`. Raises ValueError (F010) for a file
    without any, (F111) for other lines."""
    tag = re.compile(r"(?:.*\|)?(?:(?:NER|NE|name)=)?(O|[BIMES]-[^|]+)(?:\|.*)?")
    is_tagged = has_words = False
    for line, text in column_lines(path):
        number, unit, *_, last = text.split("\t") if is_conllu(text) else ("", "", "")
        if text and not number and not text.startswith("#"):
            wanted = "ten columns separated by TABs"
            raise ValueError(Errors.F111.format(path=path, line=line, wanted=wanted, found=text))
        if number.isdecimal():  # neither words of several tokens nor empty ones
            match, has_words = tag.fullmatch(last), True
            is_tagged |= match is not None
            yield line, (unit, match[1] if match else "O")
        elif not text:
            yield line, None
    if has_words and not is_tagged:
        raise ValueError(Errors.F010.format(path=path, what="tag, such as NER=B-PER,"))


# The names of a table's columns, in any case.
NAMES = (
    ("sentence_id", "sentence #", "sentence", "sent_id", "id"),
    ("word", "token", "char", "character", "字", "词"),
    ("tag", "ner_tag", "ner", "label", "标签"),
)


def read_table(path: Path, options: ConvertOptions) -> Cells:
    """A word in each row, separated by TABs or commas; an empty sentence id is that of the row
    before. Raises ValueError (F151, F152, F175)."""
    is_tabbed = any("\t" in text for _, text in islice(read_text_lines(path), 1))
    places, size, last = column_places(options.columns, 3), 0, ""
    for line, row in (tab_lines if is_tabbed else csv_lines)(path):
        if size:
            require_columns(path, line, row, len(row) == size, f"{size} as before")
            sentence, unit, tag = (row[place] for place in places)
            if sentence.strip() and sentence != last:
                yield line, None
                last = sentence
            yield line, (unit, tag)
            continue
        names, size = [cell.strip().casefold() for cell in row], len(row)
        found = [next((name for name in some if name in names), None) for some in NAMES]
        places = places or [names.index(name) for name in found if name]
        wanted = "names such as sentence_id, word and tag; or name their numbers with --columns"
        require_columns(path, line, row, len(places) == 3 and max(places) < size, wanted)


def of_tags(read: Callable[[Path, ConvertOptions], Cells]) -> Reader:
    """The reader of sentences with these units and tags."""
    return lambda path, options, summary: sentences_of(path, read(path, options), options, summary)


# Tokens with spans


def gliner_spans(record: Any) -> tuple[list[str], list[EntitySpan]]:
    """Units and entities of a record. Raises ValueError that says what is wrong with it."""
    match record:
        case {"tokenized_text": list(units), "ner": list(spans)} if all(units) and {
            *map(type, units)
        } <= {str}:
            for span in spans:
                match span:
                    case [int(first), int(last), str()] if 0 <= first <= last < len(units):
                        continue
                raise ValueError(f"{span!r} is not [first, last, type] within its tokens")
            return units, [EntitySpan(first, last + 1, label) for first, last, label in spans]
    raise ValueError('it has no lists "tokenized_text" and "ner"')


def read_gliner(path: Path, options: ConvertOptions, summary: Summary) -> Iterator[Sentence]:
    """Yield the sentences of GLiNER's training data. Raises ValueError (F109, F119, F156)."""
    layout = '{"tokenized_text": […], "ner": [[first, last, type]]}'
    for line, (units, spans) in parsed_records(path, gliner_spans, layout):
        kept = longest(units, spans, {"path": path, "line": line}, summary)
        dropped = {*spans}.difference(kept)
        yield Sentence(units, kept, [i for each in dropped for i in range(each.start, each.end)])


# Prompts


def uie_prompt(record: Any) -> tuple[str, str, list[Mention]]:
    """Text, prompt and entities of a record. Raises ValueError that says what is wrong with it."""
    try:
        prompt: str = record["prompt"]
        results = [(e["start"], e["end"], e["text"]) for e in record["result_list"]]
        found = [Mention(prompt, index(start), index(end), text) for start, end, text in results]
        "".join([record["content"], prompt, *(text for _, _, text in results)])
    except (KeyError, TypeError):
        problem = 'it has no texts "content", "prompt" and "result_list" with integers'
        raise ValueError(problem) from None
    return record["content"], prompt, found


def read_uie(path: Path, options: ConvertOptions, summary: Summary) -> Iterator[Sentence]:
    """Yield the sentences of UIE's prompts, those of one text together: prompts are labels, and
    those that aren't asked of a text are unannotated in it. Skips relations (王芳的出生地) and
    choices (情感[正向,负向]). Raises ValueError (F119, F156) and as `read_offsets`."""
    asked: dict[str, tuple[Line, list[Mention], set[str]]] = {}
    layout = '{"content": …, "prompt": …, "result_list": […]}'
    for line, (text, prompt, mentions) in parsed_records(path, uie_prompt, layout):
        if not text or prompt.endswith("]") or ("的" in prompt and prompt.split("的")[0] in text):
            summary.skipped += 1
        else:
            _, found, labels = asked.setdefault(text, (line, [], set()))
            found += mentions
            labels.add(prompt)
    known = {label for _, _, labels in asked.values() for label in labels}
    parsed = ((line, (text, found)) for text, (line, found, _) in asked.items())
    sentences = read_offsets(path, summary, parsed)
    for sentence, (_, _, labels) in zip(sentences, asked.values(), strict=True):
        yield sentence._replace(unannotated=sorted(known - labels))


# Marks within the text


# Entities with the groups `text` and `label` (or `other`), and what only marks have.
_BOSON = r"\{\{\s*(?P<label>[^:{}]*[^:{}\s])\s*:(?P<text>[^{}]+)\}\}(?P<other>)"
_RASA = (
    r"\[(?P<text>[^\[\]]+)\](?:\((?P<label>[^():]+)(?::[^()]*)?\)"
    r'|\{[^{}]*"entity":\s*"(?P<other>[^"]+)"[^{}]*\})'
)
MARKS = {"boson": (_BOSON, r"\{\{|\}\}"), "rasa": (_RASA, r"\]\s*[({]")}


def read_marked(path: Path, *_: object, form: str) -> Iterator[Sentence]:
    """Yield the sentence of each line without its marks. Raises ValueError (F111) for a mark that
    is not whole."""
    entity, mark = MARKS[form]
    for line, text in rasa_examples(path) if form == "rasa" else read_text_lines(path):
        units, entities, end = "", [], 0
        for match in re.finditer(entity, text):
            units += text[end : match.start()] + match["text"]
            label = (match["label"] or match["other"]).strip()
            entities.append(EntitySpan(len(units) - len(match["text"]), len(units), label))
            end = match.end()
        units += text[end:]
        if rest := re.search(mark, units):
            found = units[max(0, rest.start() - 10) : rest.end() + 10]
            words = {"wanted": "whole marks of entities", "found": found}
            raise ValueError(Errors.F111.format(path=path, line=line, **words))
        if units.strip():
            yield Sentence([*units], entities)


def rasa_examples(path: Path) -> Iterator[tuple[int, str]]:
    """The examples of intents in Markdown or YAML, without those of synonyms and others."""
    is_example = True
    for line, text in read_text_lines(path):
        if heading := re.match(r"\s*(?:##|-)\s*(\w+)\s*:", text):
            is_example = heading[1] == "intent"
        elif is_example and (item := re.match(r"\s*[-*]\s+(.+)", text)):
            yield line, item[1]


# Words with their nature, as 中共中央/nt, or of several words: [中共/j 中央/n]nt.
_WORD = re.compile(r"(\S+)/([A-Za-z]+\d?)")
_WHOLE = re.compile(r"\[(?!/)([^\]]+)\]([A-Za-z]+)")
_NAMES = re.compile(r"n[rsthiz][a-z]*|[A-Z]{2,}")  # of PKU, LTP, jieba and LAC
_NUMBER = re.compile(r"\d{8}-\d\d-\d{3}-\d{3}/m")  # of a paragraph in the People's Daily
_FULL_NAME = re.compile(rf"(?<!\S)(\S|{'|'.join(COMPOUND_SURNAMES)})/nr\s+(\S+/nr)(?!\S)")


def has_natures(text: str) -> bool:
    """Whether all words of a line have a nature."""
    return all(map(_WORD.fullmatch, whole_words(text)))


def whole_words(text: str) -> list[str]:
    """The words of a line with their natures: one of a name in brackets, and one of a surname with
    the given name after it."""

    def joined(match: re.Match[str]) -> str:
        words = "".join(each.rpartition("/")[0] for each in match[1].split())
        return f"{words}/{match[2]}" if _NAMES.fullmatch(match[2]) else match[1]

    return _FULL_NAME.sub(r"\1\2", _WHOLE.sub(joined, _NUMBER.sub("", text))).split()


def read_natures(path: Path, options: ConvertOptions, summary: Summary) -> Iterator[Sentence]:
    """Yield the sentence of each line: words with the natures of names are entities. Raises
    ValueError (F111)."""
    for line, text in read_text_lines(path):
        units: list[str] = []
        entities: list[EntitySpan] = []
        for part in whole_words(text):
            match = _WORD.fullmatch(part)
            if match is None:
                words = {"wanted": "a word and its nature, as 北京/ns", "found": part}
                raise ValueError(Errors.F111.format(path=path, line=line, **words))
            if _NAMES.fullmatch(match[2]):
                entities.append(EntitySpan(len(units), len(units) + 1, match[2]))
            units.append(match[1])
        if units:
            yield Sentence(units, entities)


# brat


def read_brat(path: Path, options: ConvertOptions, summary: Summary) -> Iterator[Sentence]:
    """Yield a sentence of each text in a folder that has its annotation (.ann) beside it, without
    relations, events and notes. Raises ValueError (F110, F111) and as `read_offsets`."""
    parsed: list[tuple[Line, tuple[str, list[Mention]]]] = []
    for file in sorted(path.rglob("*.ann")):
        text = read_text(file.with_suffix(".txt"))
        parsed.append((f"of {file.relative_to(path)}", (text, [*_brat(file, summary)])))
    return read_offsets(path, summary, parsed)


def _brat(path: Path, summary: Summary) -> Iterator[Mention]:
    """The entities of a file."""
    for line, text in read_text_lines(path):
        if not text.startswith("T"):
            continue
        match = re.fullmatch(r"T\S*\t(\S+) (\d+) ((?:\d+;\d+ )*)(\d+)\t(.*)", text)
        if match is None:
            words = {"wanted": "an entity such as T1⇥PER 0 2⇥王芳", "found": text}
            raise ValueError(Errors.F111.format(path=path, line=line, **words))
        label, start, between, end, surface = match.groups()
        if between:
            offsets = f"{start} {between}{end}"
            error = Errors.F110.format(path=path, line=line, label=label, offsets=offsets)
            summary.count_repair("entity of several parts made whole", error)
        yield Mention(label, int(start), int(end), None if between else surface)


def read_layout(path: Path, options: ConvertOptions, summary: Summary) -> Iterator[Sentence]:
    """Yield the sentences of records of any layout. Raises ValueError (F119, F156) and as
    `read_offsets`."""
    return read_offsets(
        path, summary, parsed_records(path, partial(parse, key=options.text), LAYOUT)
    )


COLUMNS = ("words", "columns")
# Each format's reader, an example, and options that it takes.
READERS: dict[str, tuple[Reader, str, tuple[str, ...]]] = {
    "bio": (partial(read_columns, scheme="bio"), "王⇥B-PER ⏎ 芳⇥I-PER ⏎ 去⇥O", COLUMNS),
    "bmes": (partial(read_columns, scheme="bmes"), "王⇥B-PER ⏎ 小⇥M-PER ⏎ 芳⇥E-PER", COLUMNS),
    "bioes": (partial(read_columns, scheme="bioes"), "王⇥B-PER ⏎ 小⇥I-PER ⏎ 芳⇥E-PER", COLUMNS),
    "conllu": (of_tags(read_conllu), "1⇥王芳⇥…⇥NER=B-PER|SpaceAfter=No", ("words",)),
    "table": (of_tags(read_table), "sentence_id,word,tag ⏎ 1,王芳,B-PER", COLUMNS),
    "tokens": (of_tags(read_tokens), '{"tokens": ["王"], "tags": ["B-PER"]}', ("words", "tags")),
    "gliner": (read_gliner, '{"tokenized_text": ["王"], "ner": [[0, 0, "PER"]]}', ("words",)),
    "uie": (read_uie, '{"content": "王芳去", "prompt": "人名", "result_list": […]}', ()),
    "boson": (partial(read_marked, form="boson"), "{{person_name:王芳}}去北京", ()),
    "rasa": (partial(read_marked, form="rasa"), "- [王芳](PER)去北京", ()),
    "natures": (read_natures, "王芳/nr 去/v 北京/ns", ("words",)),
    "brat": (read_brat, "(a folder) a.txt: 王芳去北京, a.ann: T1⇥PER 0 2⇥王芳", ()),
    # One reader tells the layouts by their keys.
    **{name: (read_layout, example, ("text",)) for name, example in EXAMPLES.items()},
}
