"""Masked-language-model pre-training from scratch: corpus, initialisation, spans, the loop."""
