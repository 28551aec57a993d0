"""`tener_ner`: TENER, direction-aware relative attention (Yan et al., 2019)."""
