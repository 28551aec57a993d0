"""The known corpora of entities: where each is found, what its files are, how they are read."""

from __future__ import annotations

from .tables import ConvertOptions, Source, SourceFile

_RESUME = "https://raw.githubusercontent.com/jiesutd/LatticeLSTM/master/ResumeNER/"
_WEIBO = "https://raw.githubusercontent.com/hltcoe/golden-horse/master/data/"
_WNUT17 = "https://raw.githubusercontent.com/leondz/emerging_entities_17/master/"

SOURCES: dict[str, Source] = {
    "demo": Source(
        task="ner",
        lang="zh",
        folder="assets/demo",
        homepage="this project's repository",
        files={part: SourceFile(f"{part}.jsonl") for part in ("train", "dev", "test")},
        options=ConvertOptions(format="cluener"),
        embedded=True,
    ),
    "resume": Source(
        task="ner",
        lang="zh",
        folder="ner_zh/resume",
        homepage="https://github.com/jiesutd/LatticeLSTM",
        files={
            "train": SourceFile(
                "train.char.bmes",
                "93b9bb0be5dd4730121587f9dc1378de3fbbe55cba1c575edec271f822c27be7",
                _RESUME + "train.char.bmes",
            ),
            "dev": SourceFile(
                "dev.char.bmes",
                "1b0d67153e6e8543e9444936ed1b107bd843078c282533898085e1a9aa293952",
                _RESUME + "dev.char.bmes",
            ),
            "test": SourceFile(
                "test.char.bmes",
                "c4a9f42622819a4b59f66e184d446ebfa89b2f1dbba06e11d70675e59fe7e79b",
                _RESUME + "test.char.bmes",
            ),
        },
        # Two entities of the training part are cut by a sentence end.
        options=ConvertOptions(format="bmes", repair=True),
    ),
    "weibo": Source(
        task="ner",
        lang="zh",
        folder="ner_zh/weibo",
        homepage="https://github.com/hltcoe/golden-horse",
        files={
            "train": SourceFile(
                "weiboNER_2nd_conll.train",
                "4e8954c54ab33b0afc9a8abb85715c47422645cc6d1b49fdb24540f4a427e997",
                _WEIBO + "weiboNER_2nd_conll.train",
            ),
            "dev": SourceFile(
                "weiboNER_2nd_conll.dev",
                "e72730d83aac680505280b6301c879b3ba470d29ac308979d48cdc58ee4907cc",
                _WEIBO + "weiboNER_2nd_conll.dev",
            ),
        },
        # Ten tags of the training part are I- where no entity of that type is open.
        options=ConvertOptions(format="bio", strip_position=True, repair=True),
    ),
    "msra": Source(
        task="ner",
        lang="zh",
        folder="ner_zh/msra",
        homepage="https://github.com/SophonPlus/ChineseNlpCorpus (datasets/dh_msra)",
        files={
            "train": SourceFile(
                "train.bio", "b455735b93e7283e2f82e7046830e2694f708353400e5751d3f1d7b937686d6e"
            ),
            "dev": SourceFile(
                "dev.bio", "85dc0fa900f4dcb3ee76800b4f7a0371ef2598c1912d57f4521eb779f2b33355"
            ),
        },
        options=ConvertOptions(format="bio"),
        no_download=(
            "it has no official development part: the one used here is ten runs of 350 consecutive "
            "sentences of the training part. Use `convert` on the public file for a split of your "
            "own."
        ),
    ),
    "cluener": Source(
        task="ner",
        lang="zh",
        folder="ner_zh/cluener",
        homepage="https://github.com/CLUEbenchmark/CLUENER2020",
        files={
            "train": SourceFile(
                "train.json", "60299d202779dc84f3c3bd81f4dc08f5323d0dbf762cb50cd62dd51aa9a871f8"
            ),
            "dev": SourceFile(
                "dev.json", "90036b59832e007c45d11eafe5ed80549f58a18a29aaa7fe8b1229622c69ec38"
            ),
        },
        # One book title of the training part holds two other entities.
        options=ConvertOptions(format="cluener", repair=True),
        no_download="it is published as an archive.",
    ),
    # English, for the entities of translations
    "demo_en": Source(
        task="ner",
        lang="en",
        folder="assets/demo_en",
        homepage="this project's repository",
        files={part: SourceFile(f"{part}.bio") for part in ("train", "dev")},
        options=ConvertOptions(format="bio", words=True),
        embedded=True,
    ),
    "wnut17": Source(
        task="ner",
        lang="en",
        folder="ner_en/wnut17",
        homepage="https://github.com/leondz/emerging_entities_17",
        files={
            "train": SourceFile(
                "wnut17train.conll",
                "731820e13f71af324c6b55a1575ec2ce59fbaa2a0806f8f0400b98d56cd6a7a5",
                _WNUT17 + "wnut17train.conll",
            ),
            "dev": SourceFile(
                "emerging.dev.conll",
                "eddb4c7250f563f3746df0bfd00057cde948dfbb75140a753cdb2c27f82f0f66",
                _WNUT17 + "emerging.dev.conll",
            ),
            "test": SourceFile(
                "emerging.test.annotated",
                "2aa79b764e56ec9264a1b30fdd9b70195bd00ff400b62edd8f399d5f13c178f0",
                _WNUT17 + "emerging.test.annotated",
            ),
        },
        # One tag of the development part continues an entity of another type.
        options=ConvertOptions(format="bio", words=True, repair=True),
    ),
    "wikiann": Source(
        task="ner",
        lang="en",
        folder="ner_en/wikiann_en",
        homepage="https://github.com/davidsbatista/NER-datasets",
        files={
            "train": SourceFile(
                "train", "ca569a937f536cfc7e94291fbf631d394ce0c171af4523d96f366a50bd18b388"
            ),
            "dev": SourceFile(
                "dev", "e9e42f79be5eba498ac86b7b81612da5ec5ad3d194df25c2e474514434957cf4"
            ),
        },
        options=ConvertOptions(format="bio", words=True, strip_prefix="en:"),
        no_download="it is published as an archive.",
    ),
}
