"""A character language model that scores texts and writes them: `char_generator`."""

from .forms import FORMS, Form
from .novelty import Novelty, measure_novelty
from .poems import Poem

__all__ = ["FORMS", "Form", "Novelty", "Poem", "measure_novelty"]
