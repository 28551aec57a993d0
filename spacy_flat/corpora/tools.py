"""Entities as other tools and corpora write them: tokens with tags or spans in JSON, columns of
CoNLL-U, tables of words, marks within the text, words with their nature, prompts, and brat's
folders. Each reader yields sentences."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ..errors import Errors
from ..text.spans import EntitySpan
from ..util.files import read_text, read_text_lines
from .augmenters import COMPOUND_SURNAMES
from .columns import Cells, Reader, Sentence, column_lines, sentences_of
from .formats import ConvertOptions, Summary
from .offsets import Mention, longest, read_offsets
from .records import Line, csv_lines, has_records, parsed_records, require_columns, tab_lines

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
            raise ValueError(f"{each!r} is no token or tag (name numbers with --tags O,B-PER,…)")
    return pairs


def read_tokens(path: Path, options: ConvertOptions, summary: Summary) -> Iterator[Sentence]:
    """Yield the sentences of Hugging Face's tokens and tags. Raises ValueError (F119, F156) and as
    `sentences_of`."""
    layout = '{"tokens": […], "ner_tags": […]}'
    records = parsed_records(path, partial(tokens_of, names=options.tags), layout)
    cells: Cells = ((line, cell) for line, pairs in records for cell in (*pairs, None))
    return sentences_of(path, cells, options, summary)


def is_conllu(text: str) -> bool:
    """Whether a line is one of CoNLL-U."""
    return re.match(r"\d+([-.]\d+)?\t([^\t]+\t){8}[^\t]+$", text) is not None


def read_conllu(path: Path, options: ConvertOptions, summary: Summary) -> Iterator[Sentence]:
    """Yield the sentences of CoNLL-U with tags in the last column, as `NER=B-PER`. Raises
    ValueError (F010) for a file without any, (F111) for other lines, and as `sentences_of`."""
    cells: list[tuple[Line, tuple[str, str] | None]] = []
    tag, is_tagged = re.compile(r"(?:.*\|)?(?:(?:NER|NE|name)=)?(O|[BIMES]-[^|]+)(?:\|.*)?"), False
    for line, text in column_lines(path):
        if text.startswith("#"):
            continue
        number, unit, *rest = text.split("\t") if is_conllu(text) else ("", text)
        if text and not number:
            wanted = "ten columns separated by TABs"
            raise ValueError(Errors.F111.format(path=path, line=line, wanted=wanted, found=text))
        if not text or number.isdecimal():  # neither words of several tokens nor empty ones
            match = tag.fullmatch(rest[-1]) if text else None
            is_tagged |= match is not None
            cells.append((line, (unit, match[1] if match else "O") if text else None))
    if any(cell for _, cell in cells) and not is_tagged:
        raise ValueError(Errors.F010.format(path=path, what="tag, such as NER=B-PER,"))
    return sentences_of(path, cells, options, summary)


# The names of a table's columns, in any case.
COLUMNS = (
    ("sentence_id", "sentence #", "sentence", "sent_id", "id"),
    ("word", "token", "char", "character", "字", "词"),
    ("tag", "ner_tag", "ner", "label", "标签"),
)


def read_table(path: Path, options: ConvertOptions, summary: Summary) -> Iterator[Sentence]:
    """Yield the sentences of a table with a word in each row, separated by TABs or commas; an empty
    sentence id is that of the row before. Raises ValueError (F151, F152, F175) and as
    `sentences_of`."""
    is_tabbed = any("\t" in text for _, text in islice(read_text_lines(path), 1))
    cells: list[tuple[Line, tuple[str, str] | None]] = []
    places, size, last = [int(each) - 1 for each in options.columns if each.isdecimal()], 0, ""
    if options.columns and (len(places) != 3 or len(options.columns) != 3 or min(places) < 0):
        raise ValueError(Errors.F175.format(columns=",".join(options.columns)))
    for line, row in (tab_lines if is_tabbed else csv_lines)(path):
        if not size:
            names, size = [cell.strip().casefold() for cell in row], len(row)
            found = [next((name for name in some if name in names), None) for some in COLUMNS]
            places = places or [names.index(name) for name in found if name]
            wanted = "names such as sentence_id, word and tag; or name their numbers with --columns"
            require_columns(path, line, row, len(places) == 3 and max(places) < size, wanted)
            continue
        require_columns(path, line, row, len(row) == size, f"{size} as before")
        sentence, unit, tag = (row[place] for place in places)
        if sentence.strip() and sentence != last:
            cells.append((line, None))
            last = sentence
        cells.append((line, (unit, tag)))
    return sentences_of(path, cells, options, summary)


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
    match record:
        case {"content": str(text), "prompt": str(prompt), "result_list": list(results)}:
            try:
                mentions = [Mention(prompt, e["start"], e["end"], e["text"]) for e in results]
            except (KeyError, TypeError):
                raise ValueError('a result has no "text", "start" and "end"') from None
            if all(type(n) is int for mention in mentions for n in mention[1:3]):
                return text, prompt, mentions
    raise ValueError('it has no "content", "prompt" and "result_list" with whole numbers')


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
MARKS = {
    "boson": (
        r"\{\{\s*(?P<label>[^:{}]*[^:{}\s])\s*:(?P<text>[^{}]+)\}\}(?P<other>)",
        r"\{\{|\}\}",
    ),
    "rasa": (
        r"\[(?P<text>[^\[\]]+)\](?:\((?P<label>[^():]+)(?::[^()]*)?\)"
        r'|\{[^{}]*"entity":\s*"(?P<other>[^"]+)"[^{}]*\})',
        r"\]\s*[({]",
    ),
}


def read_marked(
    path: Path, options: ConvertOptions, summary: Summary, form: str
) -> Iterator[Sentence]:
    """Yield the sentence of each line without its marks. Raises ValueError (F111) for a mark that
    is not whole. Rasa's examples are in JSON, too."""
    if form == "rasa" and has_records(path):
        yield from read_offsets(path, summary)
        return
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
_WORD = re.compile(
    r"(?P<opens>\[(?!/))?(?P<word>\S+)/(?P<nature>[A-Za-z]+\d?)(?:\](?P<whole>[A-Za-z]+))?"
)
_NAMES = re.compile(r"n[rsthiz][a-z]*|[A-Z]{2,}")  # of PKU, LTP, jieba and LAC
_NUMBER = re.compile(r"\d{8}-\d\d-\d{3}-\d{3}/m")  # of a paragraph in the People's Daily


def has_natures(text: str) -> bool:
    """Whether all words of a line have a nature."""
    return all(map(_WORD.fullmatch, text.split()))


def read_natures(path: Path, options: ConvertOptions, summary: Summary) -> Iterator[Sentence]:
    """Yield the sentence of each line: words with the natures of names are entities, and so is a
    surname with the given name after it. Raises ValueError (F111)."""
    for line, text in read_text_lines(path):
        units: list[str] = []
        entities: list[EntitySpan] = []
        opened: int | None = None
        for part in _NUMBER.sub("", text).split():
            match = _WORD.fullmatch(part)
            if match is None or (match["whole"] and opened is None):
                words = {"wanted": "a word and its nature, as 北京/ns", "found": part}
                raise ValueError(Errors.F111.format(path=path, line=line, **words))
            if match["opens"]:
                opened = len(units)
            units.append(match["word"])
            last = entities[-1] if entities else EntitySpan(0, 0, "")
            is_surname = last[1:] == (len(units) - 1, "nr") and last.start == last.end - 1
            surname = units[last.start] if is_surname and match["nature"] == "nr" else ""
            if len(surname) == 1 or surname in COMPOUND_SURNAMES:
                entities[-1] = last._replace(end=len(units))
            elif _NAMES.fullmatch(match["nature"]):
                entities.append(EntitySpan(len(units) - 1, len(units), match["nature"]))
            if match["whole"] and opened is not None:
                if _NAMES.fullmatch(match["whole"]):
                    entities = [each for each in entities if each.start < opened]
                    entities.append(EntitySpan(opened, len(units), match["whole"]))
                opened = None
        if units:
            yield Sentence(units, entities)


# brat


def read_brat(path: Path, options: ConvertOptions, summary: Summary) -> Iterator[Sentence]:
    """Yield a sentence of each text in a folder that has its annotation (.ann) beside it, without
    relations, events and notes. Raises ValueError (F110, F111) and as `read_offsets`."""
    found = [
        (
            f"of {file.relative_to(path)}",
            (read_text(file.with_suffix(".txt")), [*_brat(file, summary)]),
        )
        for file in sorted(path.rglob("*.ann"))
    ]
    return read_offsets(path, summary, found)


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
            words = {"label": label, "offsets": text.split("\t")[1].partition(" ")[2]}
            error = Errors.F110.format(path=path, line=line, **words)
            summary.count_repair("entity of several parts made whole", error)
        yield Mention(label, int(start), int(end), None if between else surface)


# Each format's reader, an example, and options that it takes.
TOOLS: dict[str, tuple[Reader, str, tuple[str, ...]]] = {
    "conllu": (read_conllu, "1⇥王芳⇥…⇥NER=B-PER|SpaceAfter=No", ("words",)),
    "table": (read_table, "sentence_id,word,tag ⏎ 1,王芳,B-PER", ("words", "columns")),
    "tokens": (read_tokens, '{"tokens": ["王"], "ner_tags": ["B-PER"]}', ("words", "tags")),
    "gliner": (read_gliner, '{"tokenized_text": ["王"], "ner": [[0, 0, "PER"]]}', ("words",)),
    "uie": (read_uie, '{"content": "王芳去", "prompt": "人名", "result_list": […]}', ()),
    "boson": (partial(read_marked, form="boson"), "{{person_name:王芳}}去北京", ()),
    "rasa": (partial(read_marked, form="rasa"), "- [王芳](PER)去北京", ()),
    "natures": (read_natures, "王芳/nr 去/v 北京/ns", ("words",)),
    "brat": (read_brat, "(a folder) a.txt: 王芳去北京, a.ann: T1⇥PER 0 2⇥王芳", ()),
}
