"""`flat_ner`: FLAT, the flat-lattice Transformer (Li et al., ACL 2020)."""
