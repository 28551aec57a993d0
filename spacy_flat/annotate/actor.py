"""A pipeline that annotates shards, in this process or in an actor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Errors
from .addresses import Folder
from .rows import Failure, Row, parse_attributes
from .settings import Settings
from .shards import Attempt, writing
from .sources import File, Shard, read_rows

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

MAX_ROWS = 1000  # of a batch


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

        Raises ValueError for an unknown attribute (F468), a GPU that can't be used (F135), and code
        that can't be imported (F487); otherwise as `spacy.load`.
        """
        self.settings = settings
        self.folder = Folder(out)
        self.nlp = load_pipeline(settings)

    def annotate(self, shard: Shard) -> Outcome:
        """Annotate and write a shard, in its own memory zone."""
        try:
            attempt = Attempt.begin(self.folder, shard.name)
            if attempt is None:
                return Outcome(shard.name, given_up=True)
            try:
                with self.nlp.memory_zone():
                    outcome = self.write(shard, attempt)
            except (Exception, KeyboardInterrupt):
                attempt.end()  # the process did not die of it
                raise
            attempt.end()
            return outcome
        except UnreadError as error:
            return Outcome(shard.name, unread=str(error))
        except OSError as error:
            return Outcome(shard.name, unwritten=str(error))

    def write(self, shard: Shard, attempt: Attempt) -> Outcome:
        """Raises UnreadError and OSError."""
        one_by_one = attempt.number > 0
        done = 0
        failures: list[Failure] = []
        with writing(self.folder, shard.name, failures, self.settings) as output:
            rows = readable(read_rows(shard, self.settings, self.nlp.vocab))
            known = valid(rows, failures, attempt.deadly, shard.file.name)
            most = 1 if one_by_one else MAX_ROWS
            for batch in cut_batches(known, self.settings.batch_size, most):
                if one_by_one:
                    attempt.note(str(batch[0].line))
                for row, doc in zip(batch, annotate_batch(self.nlp, batch), strict=True):
                    try:
                        if isinstance(doc, Exception):
                            raise doc
                        output.add(row.id, doc)
                        done += 1
                    except Exception as error:  # components may raise anything
                        reason = f"{type(error).__name__}: {error}"
                        failures.append(Failure(row.id, shard.file.name, row.line, reason))
                output.flush()
            require_unchanged(shard.file)
        return Outcome(shard.name, done, len(failures))


def load_pipeline(settings: Settings) -> Language:
    """Errors as in `Annotator`."""
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
            raise ValueError(Errors.F468.format(name=attribute.name, pipeline=settings.pipeline))
    return nlp


def readable(rows: Iterable[Row | Failure]) -> Iterator[Row | Failure]:
    """Raises UnreadError for any error of the formats' libraries."""
    try:
        yield from rows
    except Exception as error:
        raise UnreadError(str(error)) from error


def require_unchanged(file: File) -> None:
    """Raises UnreadError (F486) for a file that has changed since it was cut into shards."""
    try:
        fs, path = file.open()
        info = fs.get_file_info(path)
    except OSError as error:
        raise UnreadError(str(error)) from error
    if (info.size, info.mtime_ns or 0) != (file.size, file.modified):
        raise UnreadError(Errors.F486)


def valid(
    rows: Iterable[Row | Failure], failures: list[Failure], deadly: frozenset[str], name: str
) -> Iterator[Row]:
    """The rows. Unreadable rows, and those that killed processes, are added to the failures."""
    for row in rows:
        if isinstance(row, Failure):
            failures.append(row)
        elif str(row.line) in deadly:
            failures.append(Failure(row.id, name, row.line, Errors.F485))
        else:
            yield row


def cut_batches(rows: Iterable[Row], size: int, most: int = MAX_ROWS) -> Iterator[list[Row]]:
    """Batches with a maximum number of rows and characters, or of a single longer row."""
    batch: list[Row] = []
    characters = 0
    for row in rows:
        if batch and (characters + len(row.text) > size or len(batch) == most):
            yield batch
            batch, characters = [], 0
        batch.append(row)
        characters += len(row.text)
    if batch:
        yield batch


def annotate_batch(nlp: Language, rows: Sequence[Row]) -> list[Doc | Exception]:
    """The Doc or the error of each row. The rows of a failed batch are annotated one by one."""
    try:
        docs: list[Doc | Exception] = list(nlp.pipe([row.content() for row in rows]))
    except Exception:
        docs = []
    if len(docs) == len(rows):  # a component may omit some
        return docs
    return [annotate_alone(nlp, row) for row in rows]


def annotate_alone(nlp: Language, row: Row) -> Doc | Exception:
    try:
        return nlp(row.content())
    except Exception as error:
        return error.with_traceback(None)  # it would keep the Doc alive
