"""The known corpora of all tasks, by name.

A local folder with these corpora is laid out as `DIR/<folder>/<file>`, for example
`DIR/ner_zh/resume/train.char.bmes`; fetched ones lie in `OUT/<name>/<file>`. A task adds a
dictionary of its own.
"""

from __future__ import annotations

from ..errors import Errors
from . import ner_sources, pair_sources, parallel_sources, poem_sources
from .tables import Source

SOURCES: dict[str, Source] = {
    **ner_sources.SOURCES,
    **pair_sources.SOURCES,
    **poem_sources.SOURCES,
    **parallel_sources.SOURCES,
}


def get_source(name: str) -> Source:
    """Look a corpus up by its name. Raises ValueError (F118)."""
    if name not in SOURCES:
        words = {"what": "corpus", "name": name, "names": ", ".join(SOURCES)}
        raise ValueError(Errors.F118.format(**words))
    return SOURCES[name]


def names_by_task() -> str:
    """The names of all corpora: "ner: demo, resume …; pairs: afqmc …"."""
    tasks = dict.fromkeys(source.task for source in SOURCES.values())
    return "; ".join(
        f"{task}: {', '.join(name for name, source in SOURCES.items() if source.task == task)}"
        for task in tasks
    )
