"""The registered architectures: a transformer for spacy-transformers' component `transformer`, and
the layers that pass its vectors of characters to this package's components."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from spacy.tokens import Doc
from thinc.api import Model, chain, torch2xp
from thinc.types import Floats2d, Ragged

from ..errors import Errors
from ..text.tok2vec import Tok2Vec, require_read
from ..util.options import require_installed
from .options import CharacterTransformerOptions
from .pieces import PieceFeaturiser

if TYPE_CHECKING:
    from spacy_transformers import FullTransformerBatch

    from .shim import EncoderShim

TransformerModel = Model[list[Doc], "FullTransformerBatch"]
DataModel = Model[list[Doc], list[Any]]  # of TransformerData
Settings = dict[str, Any]

TOK2VEC = "spacy-flat.CharacterTok2Vec.v1"
SPACY_TRANSFORMERS = "A BERT", "spacy_transformers", "spacy-flat[transformers]"


def build_character_transformer(
    name: str,
    network: CharacterTransformerOptions,
    tokenizer_config: Settings = {},  # noqa: B006
    transformer_config: Settings = {},  # noqa: B006
) -> TransformerModel:
    """Build a transformer such as BERT with one vector per character, for the component
    `transformer` of spacy-transformers.

    name: a Hugging Face model's name or folder; only `initialize` reads it.
    network: options, as above.
    tokenizer_config: settings of the tokenizer, such as `do_lower_case`.
    transformer_config: settings of the transformer, such as `hidden_dropout_prob`.

    Raises ImportError (F030) where spacy-transformers is not installed.
    """
    require_installed(*SPACY_TRANSFORMERS)
    from ..nn.shim import CheckedModel
    from .network import CharacterTransformer
    from .shim import EncoderShim

    return CheckedModel(
        "character_transformer",
        forward,
        init=load_transformer,
        dims={"nO": None},
        shims=[EncoderShim(partial(CharacterTransformer.from_config, network))],
        attrs={
            "name": name,
            "options": network,
            "featuriser": PieceFeaturiser(),
            "tokenizer_config": tokenizer_config,
            "transformer_config": transformer_config,
            "replace_listener": with_data,
            "replace_listener_cfg": replaced_config,
        },
    )


def build_character_listener(upstream: str = "*", grad_factor: float = 1.0) -> Tok2Vec:
    """Build a layer that listens to the pipeline's transformer for vectors of characters.

    upstream: name of the transformer, or "*" for any.
    grad_factor: factor of the gradients.

    Raises ImportError (F030) as above.
    """
    require_installed(*SPACY_TRANSFORMERS)
    from spacy_transformers.layers import TransformerListener

    return character_vectors(TransformerListener(upstream), grad_factor)


def build_character_tok2vec(
    name: str,
    network: CharacterTransformerOptions,
    tokenizer_config: Settings = {},  # noqa: B006
    transformer_config: Settings = {},  # noqa: B006
    grad_factor: float = 1.0,
    pooling: Model[Ragged, Floats2d] | None = None,
) -> Tok2Vec:
    """Build a transformer of a single component, as `nlp.replace_listeners` does.

    pooling: combines the vectors of a token's characters; None keeps one per character.
    The other arguments are those of the transformer and the listener.
    """
    transformer = build_character_transformer(name, network, tokenizer_config, transformer_config)
    if pooling is None:
        return character_vectors(with_data(transformer), grad_factor)
    from spacy_transformers.layers import trfs2arrays

    return chain(with_data(transformer), trfs2arrays(pooling, grad_factor))


def with_data(transformer: TransformerModel) -> DataModel:
    """The replacement of a listener."""
    from spacy_transformers.layers import split_trf_batch

    return chain(transformer, split_trf_batch())


def replaced_config(transformer: Settings, listener: Settings) -> Settings:
    """The config of the replacement."""
    own = {"grad_factor": listener.get("grad_factor", 1.0), "pooling": listener.get("pooling")}
    return {**transformer, "@architectures": TOK2VEC, **own}


def load_transformer(model: TransformerModel, X: object = None, Y: object = None) -> None:
    """Load weights and tokenizer.

    Raises OSError (F364) if they can't be loaded, ValueError for an unsupported tokenizer (F362)
    and for windows that are too long for the transformer (F363).
    """
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    from .network import CharacterTransformer

    name, options = model.attrs["name"], model.attrs["options"]
    try:
        from_pretrained: Any = AutoTokenizer.from_pretrained
        tokenizer = from_pretrained(name, **model.attrs["tokenizer_config"])
        config = AutoConfig.from_pretrained(name, **model.attrs["transformer_config"])
        encoder = AutoModel.from_pretrained(name, config=config).float()
    except Exception as error:
        raise OSError(Errors.F364.format(name=name, reason=error)) from error
    longest = min(config.max_position_embeddings, tokenizer.model_max_length)
    if options.window + 2 > longest:
        raise ValueError(Errors.F363.format(name=name, places=longest, window=options.window))
    model.set_dim("nO", config.hidden_size)
    model.attrs["featuriser"] = PieceFeaturiser.of(tokenizer, name)
    model.attrs["packed"] = False
    plain = {**config.to_dict(), "_name_or_path": "", "torch_dtype": "float32"}
    sizes = {"encoder": plain, "options": options.fixed()}
    _shim(model).adopt(CharacterTransformer(encoder, options), sizes)


def forward(
    model: TransformerModel, docs: list[Doc], is_train: bool
) -> tuple["FullTransformerBatch", Callable[["FullTransformerBatch"], list[Doc]]]:
    """The vectors of the characters of all tokens: those of a Doc are one window of its
    `TransformerData`, and a token's pieces are its characters."""
    from .data import character_batch

    options, featuriser = model.attrs["options"], model.attrs["featuriser"]
    pieces = featuriser.read(docs, options)
    batches = featuriser.batches(pieces, options.batch_size)
    vectors, pass_back = _shim(model).compute(
        lambda network: network(batches, len(pieces.ids))[pieces.of_characters], is_train=is_train
    )

    def backprop(gradient: "FullTransformerBatch") -> list[Doc]:
        (values,) = gradient.model_output.values()
        pass_back(values[0])
        return docs

    return character_batch(docs, torch2xp(vectors, ops=model.ops)), backprop


def _shim(model: TransformerModel) -> "EncoderShim":
    return cast("EncoderShim", model.shims[0])


def character_vectors(source: DataModel, grad_factor: float) -> Tok2Vec:
    """One vector per character, from a listener or a transformer."""
    return Model(
        "character_vectors",
        take_vectors,
        init=take_width,
        layers=[source],
        dims={"nO": None},
        attrs={"unit": "char", "grad_factor": grad_factor},
    )


def take_width(model: Tok2Vec, X: object = None, Y: object = None) -> None:
    """Raises ValueError (F365) for a listener without a transformer before it."""
    source = model.layers[0]
    transformer = source.layers[0] if source.layers else source
    transformer.initialize()
    if not transformer.has_dim("nO"):
        raise ValueError(Errors.F365)
    model.set_dim("nO", transformer.get_dim("nO"))


def take_vectors(
    model: Tok2Vec, docs: list[Doc], is_train: bool
) -> tuple[list[Floats2d], Callable[[list[Floats2d]], Any]]:
    """Raises ValueError for a Doc that nothing has read (F366), or with other vectors (F379)."""
    from .data import data_of_gradient, vectors_of

    source, factor = model.layers[0], model.attrs["grad_factor"]
    if not is_train:
        require_read(source, docs)
    datas, backprop = source(docs, is_train)
    pairs = zip(docs, datas, strict=True)
    vectors = [vectors_of(*pair) if len(pair[0]) else model.ops.alloc2f(0, 0) for pair in pairs]

    def backward(gradients: list[Floats2d]) -> Any:
        pairs = zip(gradients, datas, strict=True)
        return backprop([data_of_gradient(g * factor, data) for g, data in pairs if len(g)])

    return vectors, backward
