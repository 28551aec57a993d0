"""All legal tag sequences and their entities, for brute force."""

from collections.abc import Iterator, Sequence

import numpy as np

from spacy_flat.ner.tags import OUTSIDE, TagSet


def legal_paths(tags: TagSet, n: int, *path: int) -> Iterator[list[int]]:
    if len(path) == n:
        if tags.allowed_ends[path[-1]]:
            yield list(path)
        return
    following = tags.allowed_transitions[path[-1]] if path else tags.allowed_starts
    for tag in np.flatnonzero(following).tolist():
        yield from legal_paths(tags, n, *path, tag)


def spans_of(tags: TagSet, path: Sequence[int]) -> list[tuple[int, int, str]]:
    """The entities (start, end, label) of a legal tag sequence."""
    spans: list[tuple[int, int, str]] = []
    for place, tag in enumerate(path):
        if tags.names[tag][0] in "IE":
            start, _, label = spans.pop()
            spans.append((start, place + 1, label))
        elif tag != OUTSIDE:
            spans.append((place, place + 1, tags.labels[tags.label_of[tag]]))
    return spans
