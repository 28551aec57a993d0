"""A character language model that scores and writes texts: `char_generator`."""

from .forms import FORMS, Form
from .novelty import Novelty, measure_novelty

__all__ = ["FORMS", "Form", "Novelty", "measure_novelty"]
