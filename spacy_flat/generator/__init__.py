"""A character language model that scores and writes texts: `char_generator`."""

from .forms import FORMS, Form

__all__ = ["FORMS", "Form"]
