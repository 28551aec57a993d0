"""Training that can be interrupted and resumed; `flat pretrain` uses the same loop."""
