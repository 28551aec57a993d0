"""Pretraining of an encoder on raw text, which can be killed and goes on where it was."""

import json
import math
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from ..errors import Errors
from ..util.checkpoints import has_checkpoint, read_checkpoint, save_tensors, write_checkpoint
from ..util.files import UNFINISHED, locked, remove_unfinished, replacing
from ..util.log import logger
from .blocks import Place, RawText
from .masking import Masking
from .network import EncoderSizes
from .objectives import OBJECTIVES, PretrainBatch
from .options import Budget, PretrainOptions
from .storage import write_encoder
from .vocabulary import Characters

if TYPE_CHECKING:
    from ..lexicon import Lexicon

RUN = "pretraining.json"
CHECKPOINTS = "checkpoints"
TENSORS, STATE = "tensors.safetensors", "state.json"  # of a checkpoint
BETAS, EPSILON = (0.9, 0.98), 1e-6  # of Adam
CLIP = 1.0  # the gradient's largest norm
TOLD_EVERY = 10  # steps
COMPARED = 1 << 20  # first bytes of a text, by which it is known again


@dataclass(frozen=True)
class Progress:
    """Where a training stands.

    characters: read so far.
    speed: characters a second since the last report.
    loss: mean of the steps since the last report.
    held_out: loss on text that is not trained on, as of the last checkpoint.
    spent: share of the budget.
    is_saved: whether there is a checkpoint of this step.
    """

    step: int
    epoch: int
    characters: int
    seconds: float
    speed: float
    loss: float
    held_out: float
    spent: float
    is_saved: bool

    @property
    def left(self) -> float:
        """Seconds that the rest of the budget will take."""
        return self.seconds * (1 - self.spent) / self.spent


Tell = Callable[[Progress], object]


def pretrain(
    texts: Sequence[Path | str],
    out: Path | str,
    options: PretrainOptions,
    budget: Budget,
    *,
    words: "Lexicon | None" = None,
    resume: bool = False,
    device: str = "cpu",
    tell: Tell = lambda _: None,
    clock: Callable[[], float] = time.perf_counter,
) -> Progress:
    """Pretrain an encoder and write it to a folder, in Hugging Face form. Meanwhile no other
    pretraining can write to the folder.

    texts: plain, .gz or .xz, UTF-8; read a line at a time, after a pass that counts characters.
    words: those whose characters are masked together.
    resume: go on at the last checkpoint, where the folder has a run. With a budget of steps, and on
        one thread of a CPU, the result is then the same as that of a training without a break: all
        random numbers of a step come from the seed and the step's number.
    device: as torch names it. torch's global random state is set.
    clock: seconds, of which a budget of hours is made.

    Raises ValueError where the folder holds a run of other settings (F386), a damaged one (F397) or
    one without its checkpoints (F384), where the texts are too short (F381), and where the loss is
    not finite (F387), TypeError (F026) for one text that is not in a list, OSError for a full disk
    (F042); as `check_folder`, `locked` and `read_checkpoint`, and file errors as in `read_lines`.
    """
    if isinstance(texts, str | Path):
        raise TypeError(Errors.F026.format(value=repr(texts)))
    paths, out = [Path(path) for path in texts], Path(out)
    check_folder(out, resume)
    with locked(out):
        remove_unfinished(out)
        raw = RawText(paths, options.length - 2, options.seed)
        run = _describe(paths, options, budget, words)
        saved = _saved_run(out, run)
        held_out = raw.held_out()
        run["characters"] = saved["characters"] if saved else _counted_characters(raw, options)
        characters = Characters.from_text(run["characters"])
        trainer = Trainer.make(Masking(characters, options, words), budget, device, clock)
        if not saved:  # only now: what fails before leaves no run behind
            _write_run(out, run, [])
        read_checkpoint(out / CHECKPOINTS, trainer.restore)
        batches = raw.batches(options.batch, trainer.place)
        is_over = trainer.step > 0 and trainer.spent() >= 1
        if is_over:  # a kill may have come between the last checkpoint and its encoder
            trainer.publish(out, run)
        while not is_over:
            trainer.train_step(*next(batches))
            is_over = trainer.spent() >= 1  # asked once, for time goes on
            is_due = is_over or trainer.step % options.save_every == 0
            if is_due:
                trainer.held_out = trainer.evaluate(held_out)
            if is_due or trainer.step % TOLD_EVERY == 0:
                tell(trainer.report(is_due))
            if is_due:
                trainer.save(out, run)
    return trainer.history[-1]


def check_folder(out: Path, resume: bool) -> None:
    """Raises NotADirectoryError (F138) where the folder is a file, ValueError where it holds a run
    that is not to be resumed (F441), or other files, which would be written over (F395)."""
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(Errors.F138.format(path=out))
    if (out / RUN).exists():
        if not resume:
            raise ValueError(Errors.F441.format(path=out))
        return
    found = out.iterdir() if out.exists() else ()
    names = sorted(
        path.name
        for path in found
        if not (path.name.startswith(".") or path.match(UNFINISHED))  # of a killed pretraining
    )
    if names:
        raise ValueError(Errors.F395.format(path=out, names=", ".join(names[:5])))


def _describe(
    texts: Sequence[Path], options: PretrainOptions, budget: Budget, words: "Lexicon | None"
) -> dict[str, Any]:
    """What makes a run: another one can't go on with its checkpoints."""
    every = asdict(options)
    del every["save_every"]
    return {
        "options": every,
        "budget": asdict(budget),
        "texts": {
            f"{number}. {path.name}": _signature(path)
            for number, path in enumerate(texts, 1)
            if path.is_file()
        },
        "words": {"count": len(words or ()), "checksum": _checksum("\n".join(words or ()))},
    }


def _signature(path: Path) -> str:
    with path.open("rb") as file:
        return f"{path.stat().st_size:,} bytes, checksum {zlib.crc32(file.read(COMPARED))}"


def _checksum(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def _saved_run(out: Path, run: dict[str, Any]) -> dict[str, Any] | None:
    """The run in the folder, to go on with; None where there is none. Errors as in `pretrain`."""
    if not (out / RUN).exists():
        return None
    try:
        saved: dict[str, Any] = json.loads((out / RUN).read_text("utf-8"))
        changes = {name: _changes(saved[name], value) for name, value in run.items()}
        history, _ = saved["history"], saved["characters"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(Errors.F397.format(path=out / RUN, reason=repr(error))) from error
    for name, found in changes.items():
        if found:
            raise ValueError(Errors.F386.format(path=out, name=name, changes=found))
    if history and not has_checkpoint(out / CHECKPOINTS):
        raise ValueError(Errors.F384.format(path=out))
    return saved


def _changes(before: dict[str, Any], now: dict[str, Any]) -> str:
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return "; ".join(f"{name} was {before.get(name)}, is {now.get(name)}" for name in names)


def _counted_characters(raw: RawText, options: PretrainOptions) -> str:
    """A line for each character that is known."""
    counts = raw.count()
    characters = Characters.counted(counts, options.vocabulary, options.min_count)
    known = sum(int(counts[ord(piece)]) for piece in characters.pieces if len(piece) == 1)
    share = 100 * (1 - known / max(1, int(counts.sum())))
    logger.info("%s characters are known; %.2f %% of the text's are not", len(characters), share)
    return characters.to_text()


def _write_run(out: Path, run: dict[str, Any], history: Sequence[Progress]) -> None:
    with replacing(out / RUN) as temporary:
        rows = [asdict(progress) for progress in history]
        text = json.dumps({**run, "history": rows}, ensure_ascii=False, indent=1)
        temporary.write_text(text + "\n", "utf-8")


@dataclass
class Trainer:
    """The network, its optimizer, and how far they have come."""

    masking: Masking
    sizes: EncoderSizes
    network: nn.Module
    optimizer: torch.optim.Optimizer
    budget: Budget
    device: torch.device
    clock: Callable[[], float]
    step: int = 0
    place: Place = field(default_factory=Place)
    characters: int = 0
    seconds: float = 0.0  # before `started`
    held_out: float = math.nan
    history: list[Progress] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.started = self.clock()
        self.losses: list[Tensor] = []  # since the last report
        self.last = (self.elapsed(), self.characters)

    @classmethod
    def make(
        cls, masking: Masking, budget: Budget, device: str, clock: Callable[[], float]
    ) -> "Trainer":
        """A network that knows nothing yet."""
        options = masking.options
        torch.manual_seed(options.seed)
        sizes = sizes_of(options, len(masking.characters))
        network = OBJECTIVES[options.objective](sizes, options).to(device)
        optimizer = make_optimizer(network, options)
        return cls(masking, sizes, network, optimizer, budget, torch.device(device), clock)

    @property
    def options(self) -> PretrainOptions:
        return self.masking.options

    def elapsed(self) -> float:
        """Seconds of training, those before a break included."""
        return self.seconds + self.clock() - self.started

    def spent(self) -> float:
        """The share of the budget."""
        return self.budget.spent(self.elapsed(), self.step)

    def train_step(self, place: Place, blocks: Sequence[str]) -> None:
        """One step."""
        rate = self.options.learn_rate * rate_share(self.spent(), self.options.warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.step += 1
        self.place = place
        self.characters += sum(map(len, blocks))
        self.network.train()
        loss = self._loss(blocks, self.step)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.parameters(), CLIP)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.losses.append(loss.detach())

    @torch.no_grad()
    def evaluate(self, blocks: Sequence[str]) -> float:
        """The mean loss on other text, under the same masks each time."""
        self.network.eval()
        size = self.options.batch
        parts = [blocks[first : first + size] for first in range(0, len(blocks), size)]
        losses = [
            self._loss(part, -number).item() * len(part) for number, part in enumerate(parts, 1)
        ]
        return sum(losses) / len(blocks)

    def report(self, is_saved: bool) -> Progress:
        """Where it stands.

        Raises ValueError (F387) where a loss is not finite, before that is saved.
        """
        loss = torch.stack(self.losses).mean().item()
        measured = (loss, self.held_out) if is_saved else (loss,)
        if not all(map(math.isfinite, measured)):
            raise ValueError(Errors.F387.format(step=self.step, rate=self.options.learn_rate))
        seconds, (before, characters) = self.elapsed(), self.last
        speed = (self.characters - characters) / max(seconds - before, 1e-9)
        self.last = seconds, self.characters
        self.losses.clear()
        progress = Progress(
            self.step,
            self.place.epoch,
            self.characters,
            seconds,
            speed,
            loss,
            self.held_out,
            self.spent(),
            is_saved,
        )
        if is_saved:
            self.history.append(progress)
        return progress

    def save(self, out: Path, run: dict[str, Any]) -> None:
        """Write a checkpoint, and the encoder as it is now.

        The checkpoint is first, for the encoder can be written again from it.
        """
        write_checkpoint(out / CHECKPOINTS, self.step, self._write)
        self.publish(out, run)

    def _write(self, folder: Path) -> None:
        tensors = {}
        for name, parameter in self.network.named_parameters():
            state = self.optimizer.state[parameter]
            tensors[f"weights.{name}"] = parameter.detach()
            tensors |= {f"{kind}.{name}": state[kind] for kind in ("exp_avg", "exp_avg_sq")}
        save_tensors(
            {name: each.cpu().contiguous() for name, each in tensors.items()}, folder / TENSORS
        )
        rest = {
            "step": self.step,
            "place": asdict(self.place),
            "characters": self.characters,
            "seconds": self.elapsed(),
            "history": [asdict(progress) for progress in self.history],
        }
        (folder / STATE).write_text(json.dumps(rest, ensure_ascii=False, indent=1), "utf-8")

    def publish(self, out: Path, run: dict[str, Any]) -> None:
        """Write the encoder as it is now, and the reports."""
        characters = self.masking.characters
        write_encoder(out, self.options.recipe, self.network, self.sizes, characters)
        _write_run(out, run, self.history)

    @torch.no_grad()
    def restore(self, folder: Path) -> None:
        """Go back to a checkpoint."""
        tensors = load_file(folder / TENSORS)
        state = json.loads((folder / STATE).read_text("utf-8"))
        for name, parameter in self.network.named_parameters():
            parameter.copy_(tensors[f"weights.{name}"])
            self.optimizer.state[parameter] = {
                "step": torch.tensor(float(state["step"]), device=self.device),
                **{
                    kind: tensors[f"{kind}.{name}"].clone().to(self.device)
                    for kind in ("exp_avg", "exp_avg_sq")
                },
            }
        self.step, self.place = state["step"], Place(**state["place"])
        self.characters, self.seconds = state["characters"], state["seconds"]
        self.history = [Progress(**row) for row in state["history"]]
        self.held_out = self.history[-1].held_out
        self.started = self.clock()
        self.last = (self.elapsed(), self.characters)

    def _loss(self, blocks: Sequence[str], number: int) -> Tensor:
        """Of a batch; all random numbers depend on its number alone, which is below 0 for text that
        is not trained on."""
        seeds = [self.options.seed, int(number < 0), abs(number)]
        rng = np.random.default_rng(seeds)
        torch.manual_seed(int(rng.integers(2**62)))
        arrays = self.masking.arrays(blocks, rng)
        batch = PretrainBatch(*(torch.from_numpy(array).to(self.device) for array in arrays))
        halved = self.options.precision == "bfloat16" or (
            self.options.precision == "auto" and self.device.type != "cpu"
        )
        with torch.autocast(self.device.type, torch.bfloat16, enabled=halved):
            loss: Tensor = self.network(batch)
        return loss


def sizes_of(options: PretrainOptions, keys: int) -> EncoderSizes:
    """The encoder's."""
    width, layers = options.sizes()
    network = options.recipe.network
    if network == "lstm":
        return EncoderSizes(network, keys, width, layers, options.length)
    heads, ff = options.heads, options.ff * width
    return EncoderSizes(network, keys, width, layers, options.length, heads, ff)


def make_optimizer(network: nn.Module, options: PretrainOptions) -> torch.optim.Optimizer:
    """AdamW (Loshchilov & Hutter, 2019), without weight decay of biases and normalisations."""
    parameters = list(network.parameters())
    groups: list[dict[str, Any]] = [
        {"params": [each for each in parameters if each.dim() > 1]},
        {"params": [each for each in parameters if each.dim() == 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        groups, betas=BETAS, eps=EPSILON, weight_decay=options.weight_decay, fused=True
    )


def rate_share(spent: float, warmup: float) -> float:
    """Of the highest learning rate: it rises linearly, then falls to 0 as the budget is spent."""
    if spent < warmup:
        return max(spent / warmup, 0.01)
    return (1 - spent) / (1 - warmup)
