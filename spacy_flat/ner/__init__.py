"""Named entities by tagging characters or words: `flat_ner` and `tener_ner`.

What both share is here; the folders have what is theirs.
"""
