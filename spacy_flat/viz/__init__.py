"""Pieces that several pictures and pages share."""
