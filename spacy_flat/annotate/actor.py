"""A pipeline that annotates shards, in this process or in an actor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Errors
from .output import ATTEMPTS, ROWS, Folder, Writer, parse_attributes
from .settings import Settings
from .sources import Row, Shard, read_rows

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

MAX_ROWS = 1000  # of a batch
MAX_ATTEMPTS = 3  # at a shard that kills processes


@dataclass(frozen=True)
class Outcome:
    """The result for a shard.

    rows, failed: numbers of rows. unread, unwritten: why reading or writing failed, or "".
    given_up: whether too many processes have died of it.
    """

    name: str
    rows: int = 0
    failed: int = 0
    unread: str = ""
    unwritten: str = ""
    given_up: bool = False


class UnreadError(Exception):
    """An input file can't be read."""


class Annotator:
    """Annotates shards."""

    def __init__(self, settings: Settings, out: str) -> None:
        """Load the pipeline. out: address of the output folder.

        Raises as `load_pipeline`.
        """
        self.settings = settings
        self.attributes = parse_attributes(settings.attributes)
        self.folder = Folder(out)
        self.nlp = load_pipeline(settings)

    def annotate(self, shard: Shard) -> Outcome:
        """Annotate and write a shard, in its own memory zone."""
        before = [name for name in self.folder.names(ATTEMPTS) if name.startswith(shard.name)]
        if len(before) >= MAX_ATTEMPTS:
            return Outcome(shard.name, given_up=True)
        attempt = f"{ATTEMPTS}/{shard.name}.{len(before)}"
        try:
            with self.folder.replacing(attempt):
                pass  # it stays if the process dies
            with (
                self.nlp.memory_zone(),
                self.folder.replacing(f"{ROWS}/{shard.name}.parquet") as file,
                Writer(file, self.attributes) as writer,
            ):
                outcome = self.write(shard, writer)
            self.folder.delete(attempt)
            return outcome
        except UnreadError as error:
            return Outcome(shard.name, unread=str(error))
        except OSError as error:
            return Outcome(shard.name, unwritten=str(error))

    def write(self, shard: Shard, writer: Writer) -> Outcome:
        """Raises UnreadError and OSError."""
        rows = failed = 0
        for batch in cut_batches(
            readable(read_rows(shard, self.settings)), self.settings.batch_size
        ):
            docs = iter(annotate_batch(self.nlp, [row.text for row in batch if not row.error]))
            for row in batch:
                try:
                    if row.error:
                        raise ValueError(row.error)
                    doc = next(docs)
                    if isinstance(doc, Exception):
                        raise doc
                    writer.add(row.id, doc)
                    rows += 1
                except Exception as error:  # components may raise anything
                    reason = row.error or f"{type(error).__name__}: {error}"
                    writer.add_failure(row.id, row.text, reason)
                    failed += 1
            writer.flush()
        return Outcome(shard.name, rows, failed)


def load_pipeline(settings: Settings) -> Language:
    """Raises ValueError for an unknown attribute (F468), a GPU that can't be used (F135), and code
    that can't be imported (F487); otherwise as `spacy.load`."""
    from spacy.cli._util import import_code
    from spacy.tokens import Doc
    from spacy.util import raise_error
    from thinc.api import require_gpu

    from ..loading import load_on_device

    if settings.gpu:
        try:
            require_gpu(0)  # among those that Ray shows the actor
        except (ValueError, RuntimeError) as error:
            raise ValueError(Errors.F135.format(gpu=0, reason=error)) from error
    for path in settings.code:
        try:
            import_code(Path(path))
        except SystemExit as error:  # it would end the actor
            raise ValueError(Errors.F487.format(path=path)) from error
    nlp = load_on_device(settings.pipeline, settings.device)
    nlp.set_error_handler(raise_error)  # others may skip rows silently
    for attribute in parse_attributes(settings.attributes):
        if not Doc.has_extension(attribute.name):
            words = {"name": attribute.name, "pipeline": settings.pipeline}
            raise ValueError(Errors.F468.format(**words))
    return nlp


def readable(rows: Iterable[Row]) -> Iterator[Row]:
    """Raises UnreadError for any error of the formats' libraries."""
    try:
        yield from rows
    except Exception as error:
        raise UnreadError(str(error)) from error


def cut_batches(rows: Iterable[Row], size: int) -> Iterator[list[Row]]:
    """Batches with a maximum number of rows and characters, or of a single longer row."""
    batch: list[Row] = []
    characters = 0
    for row in rows:
        if batch and (characters + len(row.text) > size or len(batch) == MAX_ROWS):
            yield batch
            batch, characters = [], 0
        batch.append(row)
        characters += len(row.text)
    if batch:
        yield batch


def annotate_batch(nlp: Language, texts: Sequence[str]) -> list[Doc | Exception]:
    """The Doc or the error of each text. The texts of a failed batch are annotated one by one."""
    try:
        docs: list[Doc | Exception] = list(nlp.pipe(texts))
    except Exception:
        docs = []
    if len(docs) == len(texts):  # a component may omit some
        return docs
    return [annotate_alone(nlp, text) for text in texts]


def annotate_alone(nlp: Language, text: str) -> Doc | Exception:
    try:
        return nlp(text)
    except Exception as error:
        return error.with_traceback(None)  # it would keep the Doc alive
