"""Task heads on a sentence encoder: sentiment, paraphrase, STS, as bi- and as cross-encoder."""
