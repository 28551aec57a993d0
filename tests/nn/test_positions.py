"""Which row encodes which distance, fixed and trained."""

import math

import pytest
import torch

from spacy_flat.nn.layers import Positions, sinusoids

WIDTH = 6


def test_sinusoids_are_those_of_the_paper() -> None:
    rows = sinusoids(torch.tensor([-3, 0, 5]), WIDTH)
    for row, distance in zip(rows.tolist(), (-3, 0, 5), strict=True):
        angles = [distance / 10000 ** (i / 2) for i in range(3)]
        expected = [*map(math.sin, angles), *map(math.cos, angles)]
        assert row == pytest.approx(expected, abs=1e-6)
    assert sinusoids(torch.tensor([4]), 5)[0, 4] == 0.0


def test_row_reach_plus_distance_encodes_distance() -> None:
    positions = Positions(WIDTH)
    for reach in (0, 3, 300, 2, 1, 70):
        distances = torch.arange(-reach, reach + 1)
        assert torch.allclose(positions(reach), sinusoids(distances, WIDTH), atol=1e-4)


@pytest.mark.parametrize("reach", [0, 2, 3, 4, 5, 9])
def test_near_distances_are_trained_far_ones_fixed(reach: int) -> None:
    positions = Positions(WIDTH, learnable=True, trained_reach=4)
    with torch.no_grad():
        positions.trained.copy_(torch.arange(9.0)[:, None].expand(9, WIDTH) + 100.0)
    table = positions(reach)
    assert table.shape == (2 * reach + 1, WIDTH)
    for distance in range(-reach, reach + 1):
        row = table[reach + distance]
        if abs(distance) <= 4:
            expected = torch.full((WIDTH,), 104.0 + distance)
        else:
            expected = sinusoids(torch.tensor([distance]), WIDTH)[0]
        assert torch.allclose(row, expected, atol=1e-5)


def test_training_starts_at_the_sinusoids() -> None:
    learnt = Positions(WIDTH, learnable=True, trained_reach=4)
    assert torch.allclose(learnt(7), Positions(WIDTH)(7), atol=1e-5)


@pytest.mark.parametrize("learnable", [True, False])
def test_normalised_encodings_have_unit_length(learnable: bool) -> None:
    # The sinusoids of one distance have length √(WIDTH/2) = 1.73.
    plain = Positions(WIDTH, learnable=learnable)(9)
    normal = Positions(WIDTH, learnable=learnable, normalise=True)(9)
    assert torch.allclose(normal.norm(dim=1), torch.ones(19), atol=1e-5)
    assert torch.allclose(normal * math.sqrt(WIDTH / 2), plain, atol=1e-5)
