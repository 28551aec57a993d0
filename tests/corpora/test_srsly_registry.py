"""srsly's registries, which are kept."""

import srsly
from catalogue import REGISTRY

from spacy_flat.corpora.docs import look_up_once


def test_what_is_registered_later_is_used() -> None:
    look_up_once()
    assert "numpy" in srsly.msgpack_encoders.get_all()
    assert "later" not in srsly.msgpack_encoders.get_all()

    def encode(value: object, chain: object = None) -> object:
        return "later" if isinstance(value, set) else value

    srsly.msgpack_encoders.register("later", func=encode)
    try:
        assert srsly.msgpack_loads(srsly.msgpack_dumps({1})) == "later"
    finally:
        del REGISTRY[(*srsly.msgpack_encoders.namespace, "later")]
    assert "later" not in srsly.msgpack_encoders.get_all()
