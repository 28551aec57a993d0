"""The tokens of a text that is given in units."""


def split_off_spaces(units: list[str], separator: str) -> tuple[list[str], list[bool]]:
    """Return the tokens of units, and whether a space follows each.

    The same as `spacy.util.get_words_and_spaces`, but in linear time: a file without blank lines
    is one long sentence.
    """
    words: list[str] = []
    spaces: list[bool] = []
    pieces = [piece for unit in units for piece in (separator, unit)][1:] if separator else units
    for piece in pieces:
        after_word = bool(words) and not words[-1].isspace()
        if piece.startswith(" ") and after_word and not spaces[-1]:
            spaces[-1] = True
            piece = piece[1:]
        if piece.isspace() and words and words[-1].isspace():
            words[-1] += piece
        elif piece:
            words.append(piece)
            spaces.append(False)
    return words, spaces
