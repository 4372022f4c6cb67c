"""SimCSE: contrastive tuning of a sentence encoder (Gao et al., EMNLP 2021), hand-written."""
