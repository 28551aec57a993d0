"""The script of `python -m spacy flat demo`. Streamlit runs it at each change of an input."""

import sys

from spacy_flat.demo.pages import show

show(sys.argv[1:])
