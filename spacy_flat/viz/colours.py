"""displaCy's colours of the labels that spaCy itself has none for.

The registered `spacy_displacy_colors`. Like kinds of entities have like colours, those that spaCy
gives to its own labels; spaCy's own labels (ORG, LOC, GPE …) stay as they are.
"""

PERSON = "#aa9cfc"
PERSON_NOUN = "#d3cbfd"
ORGANISATION = "#7aecec"
ORGANISATION_NOUN = "#bdf5f5"
PLACE = "#ff9561"
PLACE_NOUN = "#ffcab0"
STATE = "#feca74"
STATE_NOUN = "#fee4b9"
WORK = "#f0d0ff"
ROLE = "#bfeeb7"
SCHOOLING = "#bfe1d9"
PEOPLE = "#c887fb"

COLOURS = {
    # MSRA and the demo corpus; Weibo, whose NAM are names and NOM nouns
    "PER": PERSON,
    "PER.NAM": PERSON,
    "PER.NOM": PERSON_NOUN,
    "ORG.NAM": ORGANISATION,
    "ORG.NOM": ORGANISATION_NOUN,
    "LOC.NAM": PLACE,
    "LOC.NOM": PLACE_NOUN,
    "GPE.NAM": STATE,
    "GPE.NOM": STATE_NOUN,
    # Resume: countries, degrees, professions, ethnic groups, job titles
    "NAME": PERSON,
    "CONT": STATE,
    "EDU": SCHOOLING,
    "PRO": SCHOOLING,
    "RACE": PEOPLE,
    "TITLE": ROLE,
    # CLUENER
    "ADDRESS": PLACE,
    "SCENE": PLACE_NOUN,
    "ORGANIZATION": ORGANISATION,
    "COMPANY": ORGANISATION_NOUN,
    "GOVERNMENT": STATE,
    "POSITION": ROLE,
    "BOOK": WORK,
    "MOVIE": WORK,
    "GAME": WORK,
}
