"""A tok2vec reads each text of a pair as a Doc of its own, in training as in prediction."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from spacy.tokens import Doc, Span

from ..text.tok2vec import Tok2Vec, backprop_zeros, listeners


def separate(spans: Sequence[Span], process: Callable[[list[Doc]], list[Doc]] = list) -> list[Span]:
    """Spans, each of a Doc without anything else. process: called with the new Docs."""
    # Not all tok2vecs can read a Doc without tokens.
    parts = {key_of(span): span for span in spans if 0 < len(span) < len(span.doc)}
    docs = process([span.as_doc() for span in parts.values()])
    found = {key: doc[:] for key, doc in zip(parts, docs, strict=True)}
    read = [found.get(key_of(span), span) for span in spans]
    filled = next((span for span in read if len(span)), None)
    return [span if len(span) or filled is None else filled[:0] for span in read]


def key_of(span: Span) -> tuple[int, int, int]:
    return id(span.doc), span.start, span.end


@contextmanager
def receiving(
    tok2vec: Tok2Vec, components: Sequence[Any], joint: list[Doc], docs: list[Doc]
) -> Iterator[None]:
    """Let listeners in `tok2vec` receive the vectors of `docs`, the parts of `joint` Docs, in a
    training step. Afterwards, pass on that nothing came of the `joint` ones, which the shared
    component has read for all of its listeners.

    components: those before, which listeners may listen to.
    """
    nodes = listeners(tok2vec)
    received = [(node._batch_id, node._outputs, node._backprop) for node in nodes]
    for node in nodes:
        source = next(each for each in components if node in getattr(each, "listeners", ()))
        if node._batch_id == node.get_batch_id(joint):
            send(node, source, docs)
        else:  # it is frozen: the listener reads what the Docs have
            node.receive(None, None, None)
            source.set_annotations(docs, source.predict(docs))
    yield
    for node, values in zip(nodes, received, strict=True):
        node.receive(*values)
    backprop_zeros(tok2vec, joint)


def send(listener: Any, source: Any, docs: list[Doc]) -> None:
    """Send a listener the vectors of a component that is trained with it."""
    outputs, backprop = source.model.begin_update(docs)
    if hasattr(outputs, "doc_data"):  # of spacy-transformers
        whole, backprop_whole = outputs, backprop
        outputs = whole.doc_data

        def backprop(gradients: Any) -> Any:
            return backprop_whole(whole.unsplit_by_doc([list(each.tensors) for each in gradients]))

    listener.receive(listener.get_batch_id(docs), outputs, backprop)
