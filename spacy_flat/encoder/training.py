"""Pretraining of encoders on raw text."""

import json
import math
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from ..errors import Errors
from ..training.checkpoints import has_checkpoint, read_checkpoint, save_tensors
from ..training.loop import CHECKPOINTS, STATE, TENSORS, Progress, Trainer
from ..util.files import UNFINISHED, locked, remove_unfinished, replacing, require_no_file
from ..util.log import logger
from .blocks import Place, RawText
from .featuriser import CharacterFeaturiser
from .masking import Masking
from .network import EncoderSizes
from .objectives import OBJECTIVES, PretrainBatch
from .options import Budget, PretrainOptions
from .storage import write_encoder

if TYPE_CHECKING:
    from ..lexicon import Lexicon

RUN = "pretraining.json"
MOMENTS = ("exp_avg", "exp_avg_sq")  # of Adam
BETAS, EPSILON = (0.9, 0.98), 1e-6
CLIP = 1.0  # the gradient's largest norm
REPORT_EVERY = 10  # steps
COMPARED = 1 << 20  # first bytes of a text, by which it is recognised


@dataclass(frozen=True)
class Report:
    """The state of a pretraining.

    characters: read so far.
    speed: characters a second since the last report.
    loss: mean of the steps since the last report.
    held_out: loss on held-out text at the last checkpoint.
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


def pretrain(
    texts: Sequence[Path | str],
    out: Path | str,
    options: PretrainOptions,
    budget: Budget,
    *,
    words: "Lexicon | None" = None,
    resume: bool = False,
    device: str = "cpu",
    tell: Callable[[Report], object] = lambda _: None,
    clock: Callable[[], float] = time.perf_counter,
) -> Report:
    """Pretrain an encoder and write it to a folder in Hugging Face form. The folder is locked.

    texts: plain, .gz or .xz, UTF-8; read a line at a time, after a pass that counts characters.
    words: words whose characters are masked together.
    resume: continue from the last checkpoint, if the folder has one. With a budget of steps, on one
        CPU thread, the result is the same as without the interruption: the random numbers of a step
        depend on the seed and its number only.
    device: as torch names it. Sets torch's global random state.
    clock: gives seconds, for a budget of hours.

    Raises ValueError if the folder's run has other settings (F386), is damaged (F397) or lacks its
    checkpoints (F384), if the texts are too short (F381) and if the loss is not finite (F387),
    TypeError (F026) for texts that are not a list, OSError (F042) for a full disk; otherwise as
    `check_folder`, `locked`, `read_checkpoint` and `read_lines`.
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
        masking = Masking(CharacterFeaturiser.from_text(run["characters"]), options, words)
        trainer = EncoderTrainer(out, run, masking, held_out, budget, torch.device(device), clock)
        if not saved:  # only now: a failure before leaves no run
            trainer.write_run()
        read_checkpoint(out / CHECKPOINTS, trainer.restore)
        trainer.batches = raw.batches(options.batch, trainer.place)
        if trainer.is_over():  # it may have been killed between checkpoint and encoder
            trainer.publish()
        for report in trainer.steps():
            tell(report)
    return trainer.history[-1]


def check_folder(out: Path, resume: bool) -> None:
    """Raises NotADirectoryError (F138) for a file, ValueError for a folder with a run that is not
    to be resumed (F441) or with other files (F395)."""
    require_no_file(out)
    if (out / RUN).exists():
        if not resume:
            raise ValueError(Errors.F441.format(path=out))
        return
    paths = out.iterdir() if out.exists() else ()
    others = (path for path in paths if not path.match(UNFINISHED))
    names = sorted(path.name for path in others if not path.name.startswith("."))
    if names:
        raise ValueError(Errors.F395.format(path=out, names=", ".join(names[:5])))


def _describe(
    texts: Sequence[Path], options: PretrainOptions, budget: Budget, words: "Lexicon | None"
) -> dict[str, Any]:
    """What must not change when a run is resumed."""
    every = asdict(options)
    del every["save_every"]
    listed = "\n".join(words or ()).encode("utf-8", "surrogatepass")
    return {
        "options": every,
        "budget": asdict(budget),
        "texts": {
            f"{number}. {path.name}": _signature(path)
            for number, path in enumerate(texts, 1)
            if path.is_file()
        },
        "words": {"count": len(words or ()), "checksum": zlib.crc32(listed)},
    }


def _signature(path: Path) -> str:
    with path.open("rb") as file:
        return f"{path.stat().st_size:,} bytes, checksum {zlib.crc32(file.read(COMPARED))}"


def _saved_run(out: Path, run: dict[str, Any]) -> dict[str, Any] | None:
    """The run in the folder, if there is one; errors as in `pretrain`."""
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
    """The vocabulary of the texts, a line per character."""
    counts = raw.count()
    characters = CharacterFeaturiser.counted(counts, options.vocabulary, options.min_count)
    known = sum(int(counts[ord(piece)]) for piece in characters.pieces if len(piece) == 1)
    share = 100 * (1 - known / max(1, int(counts.sum())))
    logger.info("%s characters are known; %.2f %% of the text's are not", len(characters), share)
    return characters.to_text()


class EncoderTrainer(Trainer[tuple[Place, list[str]], Report]):
    """Trains the network of an objective.

    run: describes the run in its folder.
    """

    def __init__(
        self,
        out: Path,
        run: dict[str, Any],
        masking: Masking,
        held_out: Sequence[str],
        budget: Budget,
        device: torch.device,
        clock: Callable[[], float],
    ) -> None:
        options = masking.options
        super().__init__(Progress(options.seed), out, clock)
        torch.manual_seed(options.seed)
        self.out, self.run, self.masking, self.options = out, run, masking, options
        self.blocks, self.budget, self.device = held_out, budget, device
        self.sizes = sizes_of(options, len(masking.characters))
        self.network: nn.Module = OBJECTIVES[options.objective](self.sizes, options).to(device)
        self.optimizer = make_optimizer(self.network, options)
        self.place, self.held_out = Place(), math.nan
        self.history: list[Report] = []
        self.since: list[Tensor] = []  # losses since the last report
        self.last = (self.elapsed(), 0)
        self.ended = False

    def spent(self) -> float:
        """The spent share of the budget."""
        return self.budget.spent(self.elapsed(), self.progress.steps)

    def is_over(self) -> bool:
        return self.ended

    def train_step(self, batch: tuple[Place, list[str]]) -> None:
        rate = self.options.learn_rate * rate_share(self.spent(), self.options.warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.place, blocks = batch
        self.progress.steps += 1
        self.progress.words += sum(map(len, blocks))
        self.network.train()
        loss = self._loss(blocks, self.progress.steps)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.parameters(), CLIP)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.since.append(loss.detach())
        self.ended = self.spent() >= 1  # once per step, since the clock advances

    @torch.no_grad()
    def evaluate(self) -> bool:
        """Compute the mean loss on held-out text, under the same masks each time."""
        if not self.ended and self.progress.steps % self.options.save_every:
            return False
        self.network.eval()
        size = self.options.batch
        parts = [self.blocks[first : first + size] for first in range(0, len(self.blocks), size)]
        losses = [self._loss(part, -n).item() * len(part) for n, part in enumerate(parts, 1)]
        self.held_out = sum(losses) / len(self.blocks)
        return True

    def report(self, evaluated: bool) -> Report | None:
        """Raises ValueError (F387) if a loss is not finite, before that is saved."""
        if not evaluated and self.progress.steps % REPORT_EVERY:
            return None
        steps, characters = self.progress.steps, self.progress.words
        loss = torch.stack(self.since).mean().item()
        if not all(map(math.isfinite, (loss, self.held_out) if evaluated else (loss,))):
            raise ValueError(Errors.F387.format(step=steps, rate=self.options.learn_rate))
        seconds, (before, read) = self.elapsed(), self.last
        speed = (characters - read) / max(seconds - before, 1e-9)
        self.last = seconds, characters
        self.since.clear()
        report = Report(
            *(steps, self.place.epoch, characters, seconds, speed, loss, self.held_out),
            spent=self.spent(),
            is_saved=evaluated,
        )
        if evaluated:
            self.history.append(report)
        return report

    def save(self) -> None:
        """Write a checkpoint, then the encoder, which the checkpoint can restore."""
        super().save()
        self.publish()

    def write(self, folder: Path) -> None:
        tensors = {}
        for name, parameter in self.network.named_parameters():
            state = self.optimizer.state[parameter]
            tensors[f"weights.{name}"] = parameter.detach()
            tensors |= {f"{kind}.{name}": state[kind] for kind in MOMENTS}
        save_tensors(
            {name: each.cpu().contiguous() for name, each in tensors.items()}, folder / TENSORS
        )
        rest = {
            "step": self.progress.steps,
            "place": asdict(self.place),
            "characters": self.progress.words,
            "seconds": self.elapsed(),
            "history": [asdict(report) for report in self.history],
        }
        (folder / STATE).write_text(json.dumps(rest, ensure_ascii=False, indent=1), "utf-8")

    def publish(self) -> None:
        """Write the current encoder and the reports."""
        recipe, characters = self.options.recipe, self.masking.characters
        write_encoder(self.out, recipe, self.network, self.sizes, characters)
        self.write_run()

    def write_run(self) -> None:
        rows = [asdict(report) for report in self.history]
        text = json.dumps({**self.run, "history": rows}, ensure_ascii=False, indent=1)
        with replacing(self.out / RUN) as temporary:
            temporary.write_text(text + "\n", "utf-8")

    @torch.no_grad()
    def restore(self, folder: Path) -> None:
        """Load a checkpoint."""
        tensors = load_file(folder / TENSORS)
        state = json.loads((folder / STATE).read_text("utf-8"))
        for name, parameter in self.network.named_parameters():
            parameter.copy_(tensors[f"weights.{name}"])
            moments = {kind: tensors[f"{kind}.{name}"].clone() for kind in MOMENTS}
            self.optimizer.state[parameter] = {
                kind: each.to(self.device)
                for kind, each in {"step": torch.tensor(float(state["step"])), **moments}.items()
            }
        self.place = Place(**state["place"])
        self.progress = Progress(
            *(self.options.seed, state["step"]), words=state["characters"], seconds=state["seconds"]
        )
        self.history = [Report(**row) for row in state["history"]]
        self.held_out = self.history[-1].held_out
        self.started = self.clock()
        self.last = (self.elapsed(), self.progress.words)
        self.ended = self.spent() >= 1

    def _loss(self, blocks: Sequence[str], number: int) -> Tensor:
        """The loss of a batch. Its random numbers depend on its number only, which is negative for
        held-out text."""
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
    width, layers = options.sizes()
    network = options.recipe.network
    of_transformer = () if network == "lstm" else (options.num_heads, options.ff * width)
    return EncoderSizes(network, keys, width, layers, options.length, *of_transformer)


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
    """The learning rate relative to its peak: linear warm-up, then linear decay to 0."""
    if spent < warmup:
        return max(spent / warmup, 0.01)
    return (1 - spent) / (1 - warmup)
