"""Heads on a jointly encoded pair `[CLS] a [SEP] b [SEP]`: one hidden layer each (the report's).

Loss and prediction are those of the bi-encoder heads; only the depth differs.
"""

from heads.paraphrase import ParaphraseHead
from heads.sts import STSHead


class CrossParaphraseHead(ParaphraseHead):
    """Paraphrase detection on the features of a joined pair."""

    num_hidden = 1


class CrossSTSHead(STSHead):
    """Similarity on the features of a joined pair."""

    num_hidden = 1
