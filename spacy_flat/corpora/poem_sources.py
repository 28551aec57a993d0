"""The known corpora of poems: where each is found, what its files are, how they are read.

What is held out is taken at even distances. A training part has each poem once, and none of
another part. Poems with lost or damaged characters are dropped.
"""

from __future__ import annotations

from fractions import Fraction

from .tables import ConvertOptions, Source, SourceFile

_NOT_BY_FILE = "its public addresses have not been verified."

SOURCES: dict[str, Source] = {
    "demo_poems": Source(
        task="poems",
        lang="zh",
        folder="assets/demo_poems",
        homepage="this project's repository",
        files={part: SourceFile(f"{part}.txt") for part in ("train", "dev", "test")},
        options=ConvertOptions(format="poems"),
        embedded=True,
    ),
    # 164 poems of the usual exercise, some of them with letters in place of rare characters.
    "tang_small": Source(
        task="poems",
        lang="zh",
        folder="poems",
        homepage="https://github.com/FudanNLP/nlp-beginner",
        files={
            "train": SourceFile(
                "poetryFromTang.txt",
                "2798806f731be51e94323ba05326e4f59caecb8cb19a4403706f4b22d2c549db",
            )
        },
        options=ConvertOptions(format="poems", repair=True),
        no_download=_NOT_BY_FILE,
        distinct=True,
        dev_share=Fraction(1, 10),
    ),
    # The Complete Tang Poems in simplified characters. 24 poems of dev are in train, too.
    "tang": Source(
        task="poems",
        lang="zh",
        folder="poems",
        homepage="https://github.com/chinese-poetry/chinese-poetry",
        files={
            "train": SourceFile(
                "tang.train.jsonl",
                "4b79c7a184f99a9725840c1d088c6c5bcadd903fc3e786f07c9871d432757bff",
            ),
            "dev": SourceFile(
                "tang.dev.jsonl",
                "568b7f5e258e43b7b13bd75d83cc3d9dd59d524165e75347dd2ab44a46a5d140",
            ),
        },
        options=ConvertOptions(format="poems-jsonl", repair=True),
        no_download="its files here are our own conversion to simplified characters.",
        distinct=True,
    ),
}
