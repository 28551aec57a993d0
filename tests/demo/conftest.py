"""A released pipeline, unpacked."""

import zipfile
from pathlib import Path

import pytest

WHEELS = Path(__file__).parents[2] / "assets/pipelines"


@pytest.fixture(scope="package")
def released(tmp_path_factory: pytest.TempPathFactory) -> str:
    site = tmp_path_factory.mktemp("site")
    (wheel,) = WHEELS.glob("zh_flat_msra-*.whl")
    zipfile.ZipFile(wheel).extractall(site)
    (config,) = site.glob("zh_flat_msra/*/config.cfg")
    return str(config.parent)
