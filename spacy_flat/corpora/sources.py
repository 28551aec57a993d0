"""The known corpora of all tasks, by name, from corpora.json.

A local folder has them as `DIR/<folder>/<file>`, for example `DIR/ner_zh/resume/train.char.bmes`;
fetched ones are in `OUT/<name>/<file>`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from ..errors import Errors
from .tables import ConvertOptions


@dataclass(frozen=True)
class CorpusFile:
    """A file of a corpus.

    sha256: empty for files that come with the project.
    url: empty if it can't be downloaded.
    """

    name: str
    sha256: str = ""
    url: str = ""


@dataclass(frozen=True)
class CorpusSource:
    """A corpus.

    task: what its annotation is for.
    files: by part (train, dev, test), or by the keys in `made_of`.
    no_download: why its files have no URL.
    archive: the public file from which `msra.split_archive` cuts the parts.
    embedded: its folder is in this project's folder, where commands run.
    made_of: the files that each part joins; if empty, each file is a part.
    left_out: files whose Docs are left out of the training part.
    distinct: the training part has each Doc once, and none of another part.
    dev_share: of the training part, at even distances, that becomes the development part: of pairs
        a share of the groups in which each has a text in common with another.
    note: peculiarities of its files.
    general: options that declare its labels in the tag set of configs/zh_flat_general.cfg.
    """

    task: Literal["ner", "pairs", "poems", "parallel"]
    lang: str
    folder: str
    homepage: str
    files: dict[str, CorpusFile]
    options: ConvertOptions
    no_download: str = ""
    archive: CorpusFile | None = None
    embedded: bool = False
    made_of: Mapping[str, Sequence[str]] = field(default_factory=dict)
    left_out: Sequence[str] = ()
    distinct: bool = False
    dev_share: Fraction = Fraction(0)
    note: str = ""
    general: Mapping[str, Any] | None = None

    @classmethod
    def from_json(
        cls,
        *,
        files: dict[str, list[str]],
        options: dict[str, Any],
        url: str = "",
        dev_share: str = "0",
        archive: str = "",
        **values: Any,
    ) -> CorpusSource:
        """url: of all files, without their names."""
        found = {
            key: CorpusFile(name, "".join(checksum), url and url + name)
            for key, (name, *checksum) in files.items()
        }
        share = Fraction(dev_share)
        whole = CorpusFile(Path(archive).name, url=archive) if archive else None
        return cls(
            files=found, options=ConvertOptions(**options), dev_share=share, archive=whole, **values
        )


SOURCES = {
    name: CorpusSource.from_json(**values)
    for name, values in json.loads(
        Path(__file__).with_name("corpora.json").read_text("utf-8")
    ).items()
}


def get_source(name: str) -> CorpusSource:
    """Look up a corpus by its name. Raises ValueError (F118)."""
    if name not in SOURCES:
        words = {"what": "corpus", "name": name, "names": ", ".join(SOURCES)}
        raise ValueError(Errors.F118.format(**words))
    return SOURCES[name]


def names_by_task() -> str:
    """The names of all corpora: "ner: demo, resume …; pairs: afqmc …"."""
    tasks: dict[str, list[str]] = {}
    for name, source in SOURCES.items():
        tasks.setdefault(source.task, []).append(name)
    return "; ".join(f"{task}: {', '.join(names)}" for task, names in tasks.items())
