"""Named entities by tagging characters: `flat_ner`."""
