"""The other objectives, in the same table as SimCSE's: ALL_OBJECTIVES.

Reads: views and forms. Feeds: experiment.
"""

from baselines.isbert import MutualInformation
from baselines.sbert import SoftmaxOverPair
from baselines.two_encoders import ContrastiveTension, TwoEncoders
from baselines.views import bags, labelled_pairs, single
from data.readers.nli import iter_nli
from data.readers.sentences import iter_sentences
from simcse.objectives import OBJECTIVES, Objective
from simcse.views import unsupervised

ALL_OBJECTIVES = OBJECTIVES | {
    objective.name: objective
    for objective in (
        Objective("dual", "wiki1m", iter_sentences, unsupervised, TwoEncoders),
        Objective("ct", "wiki1m", iter_sentences, bags, ContrastiveTension),
        Objective("isbert", "wiki1m", iter_sentences, single, MutualInformation),
        Objective("sbert", "nli_pairs.tsv", iter_nli, labelled_pairs, SoftmaxOverPair),
    )
}
