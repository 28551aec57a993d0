"""Train multilingual-e5-small and RE2 on top of it to compare questions, and write the pipeline:

    python assets/release/e5/questions.py FOLDER OUT --corpora corpus --raw TEXT

FOLDER is what encoder.py has written with --pieces and --layers 12. Every text is encoded alone.
The loss of a batch has four parts: cross-entropy of the pairs' logits with the weighted cosine, and
without it; the order of the cosines of pairs from the same corpus (CoSENT; Su, 2022); and a
contrast of "same" pairs, but for those about money, with all other texts (InfoNCE; van den Oord et
al., 2018). The hardest other questions of an FAQ join its pairs. Five minutes on an H100; days
without a GPU.

Shapes: U texts, R units of them, P pairs, D width.
"""

import argparse
import random
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jieba.posseg
import numpy as np
import spacy
import torch
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.training import Example
from spacy.vocab import Vocab
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, normalize

from spacy_flat.nn.shim import shim_of
from spacy_flat.similarity.model import network_of
from spacy_flat.similarity.network import Texts
from spacy_flat.similarity.pairs import SAME, SEPARATOR, SIMILARITY, join_pair
from spacy_flat.text.tok2vec import token_of_unit
from spacy_flat.util.files import read_text_lines

sys.path.append(str(Path(__file__).parents[3] / "scripts"))
from faqs import CONTRAST, FOLDER, Question, read_faqs

PAIRS = {"afqmc": 0.2, "atec": 0.2, "bq": 0.18, "lcqmc": 0.2, "oppo": 0.16, "pawsx": 0.06}
FROM_PAIRS, FROM_STSB, FROM_SWAPS, QUESTIONS, CONTRASTS, UNANSWERABLE = 128, 24, 8, 20, 8, 6
HARD = 3  # questions of the same field for each query
STEPS, WARMUP, DECAY, CLIP = 2240, 100, 0.999, 5.0
RATES = {"encoder": 2e-4, "network": 1e-3, "cosine": 2e-2}
SCALE = 20.0  # of cosines, in softmaxes
SWAPS = 20_000
NAMES = {"nr", "nrt", "ns", "nt", "nz"}
NUMBERS = {"m", "t"}
LINKS = {"和", "与", "及", "、", "或"}  # whose sides may be exchanged

MODEL = {
    "@architectures": "spacy-flat.RE2.v1",
    "tok2vec": {
        "@architectures": "spacy-transformers.TransformerListener.v1",
        "pooling": {"@layers": "reduce_mean.v1"},
    },
    "network": {"@misc": "spacy-flat.RE2Options.v2"},
    "text": {
        "@misc": "spacy-flat.PairTextOptions.v3",
        "inputs": "tokens",
        "variant": {"embed_width": 0},
    },
}


class Pair(NamedTuple):
    """target: 0 to 1. group: pairs whose cosines are put in order. contrast: with other texts."""

    left: str
    right: str
    target: float
    group: str
    contrast: bool = False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="a transformer in Hugging Face's format")
    parser.add_argument("out", type=Path)
    parser.add_argument("--corpora", type=Path, default="corpus")
    parser.add_argument("--raw", type=Path, required=True, help="sentences to exchange names in")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    torch.manual_seed(2)
    nlp = build(arguments.folder)
    data = Data(arguments.corpora, arguments.raw, random.Random(2))
    trainer = Trainer(nlp, arguments.device)
    trainer.train(data, arguments.steps)
    pipe: Any = nlp.get_pipe("re2_similarity")
    pipe.cosine, pipe.bias = trainer.cosine.tolist()
    pipe.write_settings(nlp.get_pipe_config("re2_similarity"))
    nlp.to_disk(arguments.out)


def build(folder: str) -> Language:
    nlp = spacy.blank("zh", config={"nlp": {"tokenizer": {"segmenter": "jieba"}}})
    network = {
        "@misc": "spacy-flat.CharacterTransformerOptions.v2",
        "tokenize": "text",
        "window": 254,
        "overlap": 60,
    }
    transformer = {
        "@architectures": "spacy-flat.CharacterTransformer.v1",
        "name": folder,
        "network": network,
        "tokenizer_config": {},
        "transformer_config": {},
    }
    nlp.add_pipe("transformer", config={"model": transformer})
    nlp.add_pipe("re2_similarity", config={"model": MODEL})
    nlp.add_pipe("doc_cleaner", config={"attrs": {"tensor": None, "_.trf_data": None}})
    doc = nlp.make_doc(join_pair("怎么退款", "如何退款"))
    nlp.initialize(lambda: [Example.from_dict(doc, {"cats": {"same": 1.0, "different": 0.0}})])
    return nlp


# Texts


class Data:
    """Draws batches."""

    def __init__(self, corpora: Path, raw: Path, rng: random.Random) -> None:
        self.rng = rng
        self.pairs = {name: [*read_pairs(corpora, name)] for name in (*PAIRS, "stsb")}
        self.swaps = exchanged(raw, rng)
        self.faqs = read_faqs(FOLDER / "train.jsonl")
        self.contrasts = self.faqs.pop(CONTRAST).questions

    def batch(self) -> tuple[list[Pair], list[str], list[str]]:
        """Pairs; questions of one field; and queries, the first of which they answer, in order."""
        rng = self.rng
        faq = rng.choice([*self.faqs.values()])
        chosen = rng.sample(faq.questions, QUESTIONS)
        pairs, queries = of_questions(chosen, rng)
        for corpus in rng.choices([*PAIRS], [*PAIRS.values()], k=FROM_PAIRS):
            pairs.append(rng.choice(self.pairs[corpus]))
        pairs += rng.sample(self.pairs["stsb"], FROM_STSB)
        for number in range(FROM_SWAPS):
            pairs.append(rng.choice(self.swaps[number % 4 == 0]))
        pairs += of_contrasts(rng.sample(self.contrasts, CONTRASTS), rng)
        unanswerable = rng.sample(faq.unanswerable, UNANSWERABLE)
        return pairs, [question.text for question in chosen], queries + unanswerable


def read_pairs(corpora: Path, name: str) -> Iterator[Pair]:
    for doc in DocBin().from_disk(corpora / name / "train.spacy").get_docs(Vocab()):
        left, right = (text.strip() for text in doc.text.split(SEPARATOR))
        target = doc.cats[SAME] if SAME in doc.cats else doc.cats[SIMILARITY] / 5
        if left and right:
            yield Pair(left, right, target, name, target == 1 and name in ("lcqmc", "oppo"))


def of_questions(chosen: Sequence[Question], rng: random.Random) -> tuple[list[Pair], list[str]]:
    """Pairs, and a query for each question."""
    pairs, queries = [], []
    for question in chosen:
        same, different = rng.sample(question.same, 2), rng.sample(question.different, 2)
        pairs += [
            Pair(same[0], question.text, 1, "faq", True),
            Pair(same[1], same[0], 1, "faq", True),
            Pair(different[0], question.text, 0, "faq"),
            Pair(different[1], same[1], 0, "faq"),
        ]
        queries.append(same[0])
    return pairs, queries


def of_contrasts(chosen: Sequence[Question], rng: random.Random) -> Iterator[Pair]:
    for text, same, different in chosen:
        number = rng.randrange(2)
        yield Pair(text, same[number], 1, CONTRAST, True)
        yield Pair(text, different[number], 0, CONTRAST)
        yield Pair(same[0], same[1], 1, CONTRAST, True)
        yield Pair(same[1], rng.choice(different), 0, CONTRAST)


def exchanged(path: Path, rng: random.Random) -> tuple[list[Pair], list[Pair]]:
    """Sentences and themselves with two names or numbers exchanged: different ones, and those with
    the sides of 和 exchanged."""
    lines = [line for _, line in read_text_lines(path)]
    rng.shuffle(lines)
    found: tuple[list[Pair], list[Pair]] = ([], [])
    for line in lines:
        for sentence in filter(None, map(str.strip, re.split("[。！？；]", line))):
            if 10 <= len(sentence) <= 45 and (pair := with_exchange(sentence, rng)):
                found[int(pair.target)].append(pair)
        if sum(map(len, found)) >= SWAPS:
            break
    return found


def with_exchange(sentence: str, rng: random.Random) -> Pair | None:
    words = [(pair.word, pair.flag) for pair in jieba.posseg.cut(sentence)]
    kinds = ["number" if tag in NUMBERS else tag if len(word) > 1 else "" for word, tag in words]
    places = [n for n, kind in enumerate(kinds) if kind == "number" or kind in NAMES]
    choices = [
        (a, b)
        for a in places
        for b in places
        if a < b and kinds[a] == kinds[b] and words[a][0] != words[b][0]
    ]
    if not choices:
        return None
    a, b = rng.choice(choices)
    between = range(a + 1, b)
    is_linked = bool(between) and all(
        words[n][0] in LINKS or words[n][1] == words[a][1] == words[b][1] for n in between
    )
    words[a], words[b] = words[b], words[a]
    return Pair(sentence, "".join(word for word, _ in words), float(is_linked), "swap")


# Training


class Trainer:
    """Trains the encoder and the network of a pipeline in place, in bfloat16."""

    def __init__(self, nlp: Language, device: str) -> None:
        self.nlp, self.device = nlp, device
        transformer: Any = nlp.get_pipe("transformer")
        pipe: Any = nlp.get_pipe("re2_similarity")
        self.featuriser = transformer.model.attrs["featuriser"]
        self.options = transformer.model.attrs["options"]
        self.encoder = shim_of(transformer.model).module.encoder.to(device).train()
        self.encoder.embeddings.word_embeddings.requires_grad_(False)
        self.network = network_of(pipe.model).to(device).train()
        self.cosine = nn.Parameter(torch.tensor([12.0, -9.0], device=device))  # weight and bias
        parts = {
            "encoder": [each for each in self.encoder.parameters() if each.requires_grad],
            "network": [*self.network.parameters()],
            "cosine": [self.cosine],
        }
        self.parameters = [each for own in parts.values() for each in own]
        groups = [{"params": own, "lr": RATES[name]} for name, own in parts.items()]
        self.optimizer = torch.optim.AdamW(groups, weight_decay=0.01, betas=(0.9, 0.98))

    def train(self, data: Data, steps: int) -> None:
        averages = [each.detach().clone() for each in self.parameters]

        def rate(step: int) -> float:
            return min(1.0, step / WARMUP) * (1 - step / steps)

        schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, rate)
        for step in range(steps):
            with torch.autocast(self.device, torch.bfloat16):
                loss = self.loss(*data.batch())
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.parameters, CLIP)
            self.optimizer.step()
            schedule.step()
            decay = min(DECAY, (1 + step) / (10 + step))
            for average, each in zip(averages, self.parameters, strict=True):
                average.lerp_(each.detach(), 1 - decay)
            if step % 100 == 0:
                print(f"{step}: {loss.item():.3f}", flush=True)
        with torch.no_grad():
            for average, each in zip(averages, self.parameters, strict=True):
                each.copy_(average)

    def loss(self, pairs: list[Pair], questions: list[str], queries: list[str]) -> Tensor:
        texts = [*dict.fromkeys(t for p in pairs for t in p[:2]), *questions, *queries]
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        units, counts, vectors = self.encode([*numbers])
        left, right = (self.tensor([numbers[pair[side]] for pair in pairs]) for side in (0, 1))
        targets = self.tensor([pair.target for pair in pairs]).float()
        hard = self.hardest(vectors, numbers, questions, queries)
        one, other = torch.cat([left, hard[0]]), torch.cat([right, hard[1]])
        wanted = torch.cat([targets, torch.zeros(len(hard[0]), device=self.device)])
        groups = [*(pair.group for pair in pairs), *["faq"] * len(hard[0])]
        different, same = self.logits(units, counts, one, other).float().unbind(1)
        logits, cosines = same - different, (vectors[one] * vectors[other]).sum(1)
        with_cosine = logits + self.cosine[0] * cosines + self.cosine[1]
        weights = self.tensor([0.5 if group == "stsb" else 1.0 for group in groups])
        loss = binary_cross_entropy_with_logits(with_cosine, wanted, weights)
        loss = loss + 0.3 * binary_cross_entropy_with_logits(logits, wanted)
        loss = loss + 0.1 * self.order(cosines, wanted, groups)
        contrast = self.tensor([pair.contrast for pair in pairs])
        return loss + 0.5 * self.contrast(vectors, left, right, targets, contrast)

    def encode(self, texts: Sequence[str]) -> tuple[Tensor, Tensor, Tensor]:
        """[R, D] of the units of all texts, [U] their numbers, and [U, D] sentence vectors."""
        pieces, places, owners, speaks, counts = [], [], [], [], []
        for number, doc in enumerate(map(self.nlp.make_doc, texts)):
            inside = token_of_unit(doc, 1, "char") > 0
            ids, of_character, _ = self.featuriser._split_text(doc.text, inside, self.options)
            first = sum(counts)
            pieces.append(torch.tensor([self.featuriser.begin, *ids, self.featuriser.end]))
            own = of_character[inside]
            places += [(number, 1 + place if place >= 0 else -1) for place in own.tolist()]
            owners.append(first + token_of_unit(doc, 0, "char")[inside])
            speaks += [any(map(str.isalnum, token.text)) for token in doc]
            counts.append(len(doc))
        padding = self.featuriser.padding
        ids = nn.utils.rnn.pad_sequence(pieces, batch_first=True, padding_value=padding)
        lengths = torch.tensor([len(own) for own in pieces])
        mask = (torch.arange(ids.shape[1]) < lengths[:, None]).long().to(self.device)
        hidden = self.encoder(ids.to(self.device), attention_mask=mask).last_hidden_state
        rows, columns = self.tensor(places).T
        found = hidden[rows, columns].float() * (columns >= 0)[:, None]
        units = self.mean(found, self.tensor(np.concatenate(owners)), sum(counts))
        of_text = torch.repeat_interleave(self.tensor(counts))
        sums = torch.zeros(len(texts), units.shape[1], device=self.device)
        sums = sums.index_add(0, of_text, units * self.tensor(speaks)[:, None])
        return units, self.tensor(counts), normalize(sums, dim=1)

    def mean(self, x: Tensor, owners: Tensor, n: int) -> Tensor:
        sums = torch.zeros(n, x.shape[1], device=self.device).index_add(0, owners, x)
        return sums / torch.bincount(owners, minlength=n).clamp(min=1)[:, None]

    def logits(self, units: Tensor, counts: Tensor, left: Tensor, right: Tensor) -> Tensor:
        """[P, 2] of pairs of texts, by their numbers."""
        starts, chosen = counts.cumsum(0) - counts, torch.cat([left, right])
        lengths = counts[chosen]
        owners = torch.repeat_interleave(lengths)
        firsts = lengths.cumsum(0) - lengths
        within = torch.arange(len(owners), device=self.device) - firsts[owners]
        sides, present = [], []
        for own in (slice(0, len(left)), slice(len(left), None)):
            places = torch.arange(int(lengths[own].max()), device=self.device)
            there = places < lengths[own][:, None]
            sides.append(torch.where(there, firsts[own][:, None] + places, 0))
            present.append(there)
        flat = torch.cat([there.flatten() for there in present]).nonzero()[:, 0]
        embedded = self.network.embed_dropout(units[starts[chosen][owners] + within])
        return self.network.compare(embedded, Texts(owners, sides, present, flat))

    @torch.no_grad()
    def hardest(
        self, vectors: Tensor, numbers: dict[str, int], questions: list[str], queries: list[str]
    ) -> tuple[Tensor, Tensor]:
        """Queries and other questions of the field, drawn by their cosines."""
        asked, searched = (self.tensor([numbers[t] for t in own]) for own in (questions, queries))
        cosines = vectors[searched] @ vectors[asked].T
        cosines[: len(asked)].fill_diagonal_(-9.0)  # what is right
        noise = -torch.empty_like(cosines).exponential_().log()  # Gumbel's
        best = (SCALE * cosines + noise).topk(HARD, dim=1).indices
        return searched.repeat_interleave(HARD), asked[best.flatten()]

    def order(self, cosines: Tensor, targets: Tensor, groups: Sequence[str]) -> Tensor:
        codes = {group: number for number, group in enumerate(dict.fromkeys(groups))}
        group = self.tensor([codes[own] for own in groups])
        better = (targets[:, None] > targets[None] + 0.05) & (group[:, None] == group[None])
        gaps = SCALE * (cosines[None] - cosines[:, None])[better]
        return torch.logsumexp(torch.cat([gaps.new_zeros(1), gaps]), 0)

    def contrast(
        self, vectors: Tensor, left: Tensor, right: Tensor, targets: Tensor, chosen: Tensor
    ) -> Tensor:
        """Texts that are known to mean the same, also over a third one, don't count."""
        n = len(vectors)
        same = torch.eye(n, dtype=torch.bool, device=self.device)
        is_same = targets > 0.5
        same[left[is_same], right[is_same]] = same[right[is_same], left[is_same]] = True
        same = (same.float() @ same.float() > 0)[left[chosen]]
        same[torch.arange(len(same), device=self.device), right[chosen]] = False
        scores = SCALE * vectors[left[chosen]] @ vectors.T
        return cross_entropy(scores.masked_fill(same, -1e4), right[chosen])

    def tensor(self, values: Iterable[Any]) -> Tensor:
        return torch.from_numpy(np.asarray(values)).to(self.device)


if __name__ == "__main__":
    main()
