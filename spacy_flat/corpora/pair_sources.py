"""The known corpora of pairs of texts: where each is found, what its files are, how they are read.

Where a published part is split here, the split is at even distances, so that both parts have the
same share of each label. A training part holds each pair once, and none of another part.
"""

from __future__ import annotations

from fractions import Fraction

from .tables import ConvertOptions, Source, SourceFile

_CSTS = "https://github.com/zejunwang1/CSTS"
_NLP_DATASETS = "https://github.com/IceFlameWorm/NLP_Datasets"
_NOT_BY_FILE = "its public addresses have not been verified."

_AFQMC_TRAIN = SourceFile(
    "afqmc/train.txt", "48642eebd4dcd2fa099ad20b47fdbda456bdc396f8359aa4384a452a36f31eb7"
)
_AFQMC_DEV = SourceFile(
    "afqmc/dev.txt", "bd5136527078950a4d624a3d903ce86950cafb26b5092559b64c418e015f0df3"
)
_ATEC = SourceFile(
    "atec/train.csv", "7110de2252f2421f4645672d91d943240b60dd12dd4a65255ef72c10668d4b7a"
)
_BQ_DEV = SourceFile(
    "bq/dev.csv", "2c111beccec92e9bcadfb2b5203895df89847786462d880d5d2bf98ab5169202"
)
_BQ_TEST = SourceFile(
    "bq/test.csv", "ecc27078df055d297c601c9902a8f923d8c48c1028554b2fe1a0013b472fa399"
)
_LCQMC_DEV = SourceFile(
    "lcqmc/dev.txt", "d3cd41ed89b8f6196a76ebff2aa03d5ecf42edcd12942aa865d34f7e570af7c2"
)

SOURCES: dict[str, Source] = {
    "demo_pairs": Source(
        task="pairs",
        lang="zh",
        folder="assets/demo_pairs",
        homepage="this project's repository",
        files={part: SourceFile(f"{part}.tsv") for part in ("train", "dev", "test")},
        options=ConvertOptions(format="pairs-tsv"),
        embedded=True,
    ),
    "afqmc": Source(
        task="pairs",
        lang="zh",
        folder="match_zh",
        homepage=_CSTS,
        files={"train": _AFQMC_TRAIN, "dev": _AFQMC_DEV},
        options=ConvertOptions(format="pairs-tsv"),
        no_download=_NOT_BY_FILE,
        distinct=True,
    ),
    # Two fifths of ATEC's pairs are AFQMC's.
    "atec": Source(
        task="pairs",
        lang="zh",
        folder="match_zh",
        homepage=_NLP_DATASETS,
        files={"atec": _ATEC, "afqmc_train": _AFQMC_TRAIN, "afqmc_dev": _AFQMC_DEV},
        options=ConvertOptions(format="pairs-tsv"),
        no_download=_NOT_BY_FILE,
        made_of={"train": ("atec",)},
        left_out=("afqmc_train", "afqmc_dev"),
        distinct=True,
        dev_share=Fraction(1, 10),
    ),
    # Its own training part can't be had: that to develop is trained on.
    "bq": Source(
        task="pairs",
        lang="zh",
        folder="match_zh",
        homepage=_NLP_DATASETS,
        files={"dev": _BQ_DEV, "test": _BQ_TEST},
        options=ConvertOptions(format="pairs-csv"),
        no_download=_NOT_BY_FILE,
        made_of={"train": ("dev",), "test": ("test",)},
        distinct=True,
        dev_share=Fraction(1, 10),
    ),
    # Neither can LCQMC's. Two of its 8,802 pairs are repeated.
    "lcqmc": Source(
        task="pairs",
        lang="zh",
        folder="match_zh",
        homepage=_CSTS,
        files={"dev": _LCQMC_DEV},
        options=ConvertOptions(format="pairs-tsv"),
        no_download=_NOT_BY_FILE,
        made_of={"train": ("dev",)},
        distinct=True,
        dev_share=Fraction(1000, 8800),
    ),
    # All but LCQMC, to be tested on it.
    "match": Source(
        task="pairs",
        lang="zh",
        folder="match_zh",
        homepage=f"{_CSTS} and {_NLP_DATASETS}",
        files={
            "afqmc_train": _AFQMC_TRAIN,
            "afqmc_dev": _AFQMC_DEV,
            "atec": _ATEC,
            "bq_dev": _BQ_DEV,
            "bq_test": _BQ_TEST,
            "lcqmc": _LCQMC_DEV,
        },
        options=ConvertOptions(),
        no_download=_NOT_BY_FILE,
        made_of={"train": ("afqmc_train", "atec", "bq_dev", "bq_test"), "test": ("lcqmc",)},
        left_out=("afqmc_dev",),
        distinct=True,
        dev_share=Fraction(1, 80),
    ),
}
