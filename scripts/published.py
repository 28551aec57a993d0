"""The published corpora that this project trains on, by name, from corpora.json.

A local folder has them as `DIR/<folder>/<file>`, for example `DIR/ner_zh/resume/train.char.bmes`;
fetched ones are in `data/<name>/<file>`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class CorpusFile:
    """A file of a corpus. sha256 is empty for files of this project, url if it can't be
    downloaded."""

    name: str
    sha256: str = ""
    url: str = ""


@dataclass(frozen=True)
class Corpus:
    """A corpus.

    task: what its annotation is for.
    files: by part (train, dev, test), or by the keys in `made_of`.
    options: how to read it, as `ConvertOptions`. others: other options of single files.
    strip: a pattern of what to delete from each line before.
    general: the same, with the labels of assets/release/zh_flat_general.cfg; also the characters of
        the `longest` entities of a label to keep, and whether persons are annotated `by_surname`.
    no_download: why its files have no URL.
    archive: the public archive from which msra.py cuts the parts.
    embedded: its folder is in this project's folder, where scripts run.
    made_of: the files that each part joins; if empty, each file is a part.
    left_out: files whose Docs are left out of the training part.
    distinct: the training part has each Doc once, and none of another part.
    dev_share: of the training part, to hold out as dev part.
    note: on its annotation, for readers of corpora.json.
    """

    task: str
    lang: str
    folder: str
    homepage: str
    files: Mapping[str, CorpusFile]
    options: Mapping[str, Any] = field(default_factory=dict)
    others: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    strip: str = ""
    general: Mapping[str, Any] | None = None
    no_download: str = ""
    archive: CorpusFile | None = None
    embedded: bool = False
    made_of: Mapping[str, Sequence[str]] = field(default_factory=dict)
    left_out: Sequence[str] = ()
    distinct: bool = False
    dev_share: Fraction = Fraction(0)
    note: str = ""


def corpus_of(entry: dict[str, Any]) -> Corpus:
    """A corpus from its entry in corpora.json, whose url is that of all files, without their
    names."""
    url, archive = entry.pop("url", ""), entry.pop("archive", "")
    entry["files"] = {
        key: CorpusFile(name, "".join(checksum), url and url + name)
        for key, (name, *checksum) in entry["files"].items()
    }
    entry["archive"] = CorpusFile(Path(archive).name, url=archive) if archive else None
    entry["dev_share"] = Fraction(entry.get("dev_share", 0))
    return Corpus(**entry)


# Corpora that are trained on together; those of "general" get the labels of zh_flat_general. Those
# of "open" anyone may use.
GROUPS = {
    "general": ("msra", "cluener", "weibo", "resume", "uner", "youku", "today", "whole", "refine"),
    "open": ("weibo", "uner", "today", "whole", "refine"),
    "questions": ("afqmc", "atec", "bq", "lcqmc", "oppo"),
}
_ENTRIES = json.loads(Path(__file__).with_name("corpora.json").read_text("utf-8"))
CORPORA = {name: corpus_of(entry) for name, entry in _ENTRIES.items()}


def members(name: str) -> tuple[str, ...]:
    """The corpora of a group, or the only one."""
    return GROUPS.get(name, (name,))
