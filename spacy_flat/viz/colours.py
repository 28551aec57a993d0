"""displaCy's colours of the labels that spaCy itself has none for.

The registered `spacy_displacy_colors`. Like kinds of entities have like colours, those that spaCy
gives to its own labels; spaCy's own labels (ORG, LOC, GPE …) stay as they are. In Weibo, NAM are
names and NOM nouns.
"""

_LABELS = {
    "#aa9cfc": "PER PER.NAM NAME",
    "#d3cbfd": "PER.NOM",
    "#7aecec": "ORG.NAM ORGANIZATION",
    "#bdf5f5": "ORG.NOM COMPANY",
    "#ff9561": "LOC.NAM ADDRESS",
    "#ffcab0": "LOC.NOM SCENE",
    "#feca74": "GPE.NAM CONT GOVERNMENT",
    "#fee4b9": "GPE.NOM",
    "#f0d0ff": "BOOK MOVIE GAME",  # works
    "#bfeeb7": "TITLE POSITION",
    "#bfe1d9": "EDU PRO",  # degrees and professions
    "#c887fb": "RACE",
}
COLOURS = {label: colour for colour, labels in _LABELS.items() for label in labels.split()}
