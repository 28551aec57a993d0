"""Training that can be killed and resumed; `flat pretrain` shares its loop."""
