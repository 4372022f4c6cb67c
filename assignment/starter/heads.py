"""What turns embeddings into predictions: layers, their training, and their features."""
