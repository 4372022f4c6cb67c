"""Heads on a jointly encoded pair `[CLS] a [SEP] b [SEP]`: one hidden layer each (the report's).

Loss and reading are those of the bi-encoder heads; only the depth differs.
"""

from heads.paraphrase import ParaphraseHead
from heads.sts import STSHead


class CrossParaphraseHead(ParaphraseHead):
    """Paraphrase detection on the features of a joined pair."""

    def __init__(self, in_features: int, hidden_size: int, dropout: float = 0.1):
        super().__init__(in_features, hidden_size, dropout, num_hidden=1)


class CrossSTSHead(STSHead):
    """Similarity on the features of a joined pair."""

    def __init__(self, in_features: int, hidden_size: int, dropout: float = 0.1):
        super().__init__(in_features, hidden_size, dropout, num_hidden=1)
