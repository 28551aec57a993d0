"""The known corpora of Chinese texts and their English translations.

One Chinese text may have several translations, but no pair stands twice in a training part, or in
another part as well.
"""

from __future__ import annotations

from .tables import ConvertOptions, Source, SourceFile

_TATOEBA = "https://www.manythings.org/anki"
_3AM = "https://github.com/MaxyLee/3AM"
_OWN_SPLIT = "its files here are our own split of a collection that keeps growing."
_OPTIONS = ConvertOptions(format="parallel-tsv")

_TATOEBA_TRAIN = SourceFile(
    "tatoeba/train.tsv", "b710d28ff9b1f41ebf72eb5eaa4ec6c4836a0619f3bf85b70f3dc810887c0d63"
)
_TATOEBA_DEV = SourceFile(
    "tatoeba/dev.tsv", "d7af7573aa9d7f23926324019840d72fd6d5f22a0799220304c4f85449d26f08"
)
_3AM_TRAIN = SourceFile(
    "3am/train.tsv", "dfa16fa83eabb7e87eb3ecfa9a3d7a0fb52054b420a8c93a2bd87c105f12f20f"
)
_3AM_DEV = SourceFile(
    "3am/dev.tsv", "c60ee7ea3bc675daa22f82348592f7b8ee09b834130139e0958a237a7760721c"
)

SOURCES: dict[str, Source] = {
    "demo_parallel": Source(
        task="parallel",
        lang="zh",
        folder="assets/demo_parallel",
        homepage="this project's repository",
        files={part: SourceFile(f"{part}.tsv") for part in ("train", "dev", "test")},
        options=_OPTIONS,
        embedded=True,
    ),
    "tatoeba": Source(
        task="parallel",
        lang="zh",
        folder="parallel",
        homepage=_TATOEBA,
        files={"train": _TATOEBA_TRAIN, "dev": _TATOEBA_DEV},
        options=_OPTIONS,
        no_download=_OWN_SPLIT,
        distinct=True,
    ),
    # Captions of pictures
    "3am": Source(
        task="parallel",
        lang="zh",
        folder="parallel",
        homepage=_3AM,
        files={"train": _3AM_TRAIN, "dev": _3AM_DEV},
        options=_OPTIONS,
        no_download="its public addresses have not been verified.",
        distinct=True,
    ),
    "parallel": Source(
        task="parallel",
        lang="zh",
        folder="parallel",
        homepage=f"{_TATOEBA} and {_3AM}",
        files={
            "tatoeba_train": _TATOEBA_TRAIN,
            "3am_train": _3AM_TRAIN,
            "tatoeba_dev": _TATOEBA_DEV,
            "3am_dev": _3AM_DEV,
        },
        options=_OPTIONS,
        no_download=_OWN_SPLIT,
        made_of={"train": ("tatoeba_train", "3am_train"), "dev": ("tatoeba_dev", "3am_dev")},
        distinct=True,
    ),
}
