"""The best combinations, beside all of them."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from spacy_flat.util.probabilities import best_combinations

CHOICES = st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=4)


@given(st.lists(CHOICES, max_size=4), st.integers(1, 6))
def test_the_best_of_all(parts: list[list[float]], n: int) -> None:
    named = [[(score, (place, score)) for place, score in enumerate(own)] for own in parts]
    found = best_combinations(named, n)
    every = sorted((sum(scores) for scores in product(*parts)), reverse=True)
    assert [total for total, _ in found] == every[:n]
    for total, choices in found:
        assert total == sum(score for _, score in choices)
        assert len(choices) == len(parts)
    assert len({tuple(choices) for _, choices in found}) == len(found)
