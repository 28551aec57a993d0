"""All legal tag sequences, for brute force."""

from collections.abc import Iterator

import numpy as np

from spacy_flat.ner.tags import TagSet


def legal_paths(tags: TagSet, n: int, *path: int) -> Iterator[list[int]]:
    if len(path) == n:
        if tags.allowed_ends[path[-1]]:
            yield list(path)
        return
    following = tags.allowed_transitions[path[-1]] if path else tags.allowed_starts
    for tag in np.flatnonzero(following).tolist():
        yield from legal_paths(tags, n, *path, tag)
