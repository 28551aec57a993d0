"""Named entities by tagging characters or words: `flat_ner` and `tener_ner`.

Modules here are shared by both; the folders have the differences.
"""
