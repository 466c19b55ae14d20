"""Finetune: a head on the encoder, cross-entropy, early stopping (phase 3 of three-phase fine-tuning)."""
