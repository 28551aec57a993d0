"""Pretrain encoders at equal CPU time, and measure what they add to flat_ner.

    python benchmarks/encoder.py wiki.txt.xz --minutes 60 --corpus weibo resume --seeds 1 2 3 \
        --vectors DIR --encoders encoders --output encoders.jsonl

Each objective is pretrained on the texts for --minutes of this process's CPU time, on one thread.
Then benchmarks/accuracy.py trains on each corpus: configs/zh_flat.cfg, and, with the encoder frozen
and with the encoder tuned at --rate times the learning rate, configs/zh_flat_encoder.cfg. It prints
the table of all; means are over seeds. Other options override settings of the configs, as in spacy
train.

What is in --encoders is not made again, and an interrupted pretraining goes on: to train an
objective alone on another machine, copy its folder there.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import torch

from spacy_flat.encoder.options import Budget, PretrainOptions
from spacy_flat.encoder.recipes import RECIPES, Objective
from spacy_flat.encoder.training import Report, pretrain
from spacy_flat.lexicon.readers import jieba_lexicon

ROOT = Path(__file__).parent.parent
MODES = ["frozen", "tuned"]
WITHOUT = ROOT / "configs" / "zh_flat.cfg"
WITH = ROOT / "configs" / "zh_flat_encoder.cfg"


def main() -> None:
    arguments, extra = parse_arguments()
    torch.set_num_threads(1)
    for objective in arguments.objectives:
        pretrain_for(arguments, objective, arguments.encoders / objective)
    measure(arguments, WITHOUT, extra)
    for objective in arguments.objectives:
        for mode in arguments.modes:
            overrides = overrides_for(mode, arguments.encoders / objective, arguments.rate)
            measure(arguments, WITH, [*overrides, *extra])


def parse_arguments() -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="Other options override settings of the configs, as in spacy train.",
        allow_abbrev=False,
    )
    parser.add_argument("texts", type=Path, nargs="+", metavar="TEXT", help="raw text")
    parser.add_argument("--minutes", type=float, default=60, help="of CPU time an encoder")
    parser.add_argument("--objectives", nargs="+", choices=list(RECIPES), default=list(RECIPES))
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    parser.add_argument("--rate", type=float, default=0.1, help="of the tuned, as a share")
    parser.add_argument("--encoders", type=Path, default=ROOT / "encoders")
    parser.add_argument("--corpus", nargs="+", default=["weibo", "resume"])
    parser.add_argument("--data", type=Path, default=ROOT / "corpus")
    parser.add_argument("--vectors", default="none", help='folder of vectors, or "none"')
    parser.add_argument("--seeds", nargs="+", default=["1"])
    parser.add_argument("--output", type=Path, required=True, help="file of JSON lines")
    return parser.parse_known_args()


def pretrain_for(arguments: argparse.Namespace, objective: Objective, folder: Path) -> None:
    options = PretrainOptions(objective=objective)
    done = pretrain(
        arguments.texts,
        folder,
        options,
        Budget(hours=arguments.minutes / 60),
        words=None if options.recipe.masks == "none" else jieba_lexicon(),
        resume=True,
        tell=lambda report: tell(objective, report),
        clock=time.process_time,
    )
    speed = done.characters / done.seconds
    print(
        f"{objective}: {done.characters:,} characters, {speed:,.0f} a second of CPU time, "
        f"held-out loss {done.held_out:.3f}",
        flush=True,
    )


def tell(objective: str, report: Report) -> None:
    if report.is_saved:
        print(
            f"{objective}: step {report.step}, loss {report.loss:.3f}, "
            f"held out {report.held_out:.3f}, {report.left:.0f} s left",
            flush=True,
        )


def overrides_for(mode: str, folder: Path, rate: float) -> list[str]:
    """Those of WITH for an encoder that is frozen or tuned."""
    overrides = ["--paths.encoder", str(folder)]
    if mode == "tuned":
        overrides += ["--components.flat_ner.model.tok2vec.fine_tune", "true"]
        overrides += ["--training.optimizer.multipliers.upstream", str(rate)]
    return overrides


def measure(arguments: argparse.Namespace, config: Path, extra: list[str]) -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "accuracy.py"), "--config", str(config)]
    command += ["--corpus", *arguments.corpus, "--data", str(arguments.data)]
    command += ["--vectors", arguments.vectors, "--seeds", *arguments.seeds]
    command += ["--output", str(arguments.output), *extra]
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
