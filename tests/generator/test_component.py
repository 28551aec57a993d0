"""`char_generator` in a pipeline: how it is made, saved, copied and run."""

from pathlib import Path

import pytest

from .conftest import add, blank, examples_of, generator

# Running


# Configs


def test_pretrained_vectors_by_config(tmp_path: Path) -> None:
    nlp = blank()
    add(nlp)
    (tmp_path / "char.vec").write_text(
        "明 1 0 2\n月 3 0 4\n，0 0 1\n".replace("，", "， "), "utf-8"
    )
    vectors = {"@readers": "spacy-flat.Vectors.v1", "path": str(tmp_path / "char.vec")}
    nlp.config["initialize"]["components"]["char_generator"] = {"char_vectors": vectors}
    nlp.initialize(lambda: examples_of(nlp))
    table = generator(nlp).model.shims[0].module.chars.pretrained
    assert table.shape[1] == 3
    (key,) = generator(nlp).model.attrs["featuriser"].keys("月").tolist()
    assert table[key].tolist() == pytest.approx([0.6, 0, 0.8])
    with pytest.raises(TypeError, match=r"F040.*char_vectors"):
        generator(nlp).initialize(lambda: examples_of(nlp), char_vectors="char.vec")  # type: ignore[arg-type]
