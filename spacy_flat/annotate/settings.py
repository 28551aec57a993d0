"""The settings of a run."""

from dataclasses import asdict, dataclass
from pathlib import Path

from ..errors import Errors
from ..util.files import UTF_8

SHARD_CHARACTERS = 10_000_000  # a shard with as many ends, whatever its number of rows


@dataclass(frozen=True)
class Settings:
    """What every process of a run needs to know.

    pipeline: name of a package, or absolute path of a folder.
    code: Python file with registered functions; "" for none.
    text, id: keys or columns of the input.
    encoding: of text files.
    attributes: names of the `doc._` attributes to write.
    shard_rows: most rows of an output file.
    batch_size: in characters.
    gpu: run spaCy on a GPU.
    device: of the pipeline's networks; "" for their config's.
    """

    pipeline: str
    code: str = ""
    text: str = "text"
    id: str = "id"
    encoding: str = UTF_8
    attributes: tuple[str, ...] = ()
    shard_rows: int = 2000
    batch_size: int = 50_000
    gpu: bool = False
    device: str = ""

    def identity(self) -> dict[str, object]:
        """What the output depends on. Raises as `description_of`."""
        free = ("batch_size", "gpu", "device")
        kept = {name: value for name, value in asdict(self).items() if name not in free}
        described = description_of(self.pipeline)
        return {**kept, "pipeline": described, "attributes": list(self.attributes)}


def description_of(pipeline: str) -> list[str]:
    """Config and metadata, with the scores in training, which tell pipelines from one another.

    Raises ValueError (F467) unless the pipeline is a package or a folder.
    """
    from spacy.util import get_package_path, is_package

    folder = get_package_path(pipeline) if is_package(pipeline) else Path(pipeline)
    files = [*sorted(folder.rglob("config.cfg")), *sorted(folder.rglob("meta.json"))]
    if not files:
        raise ValueError(Errors.F467.format(name=pipeline))
    return [file.read_text("utf-8") for file in files]
