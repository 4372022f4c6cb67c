"""The public files for `data.download`: addresses and, if known, size and SHA-256."""

from dataclasses import dataclass
from pathlib import Path

DEFAULT_FOLDER = Path("downloads")  # each data set has a folder of its name in it


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One file to download.

    Attributes:
        name: of the file.
        url: the address of a fixed version (its commit), unless it is on the hub.
        size: in bytes, None if unknown.
        sha256: in hex digits, None if unknown.
        members: folders that are unpacked, of an archive.
        hub: the data set's repository on the Hugging Face hub, if it is there.
    """

    name: str
    url: str
    size: int | None = None
    sha256: str | None = None
    members: tuple[str, ...] = ()
    hub: str = ""


CS224N = "https://raw.githubusercontent.com/gpoesia/minbert-default-final-project/f25cd95c73a1ce3f3b88dd7a11df90f0ab488bd9/data/"
# Two of the Quora files are kept outside the repository (Git LFS); this address serves those.
CS224N_LFS = "https://media.githubusercontent.com/media/gpoesia/minbert-default-final-project/f25cd95c73a1ce3f3b88dd7a11df90f0ab488bd9/data/"
SIMCSE = "princeton-nlp/datasets-for-simcse"  # on the hub, which knows size and SHA-256
HANS = "https://raw.githubusercontent.com/tommccoy1/hans/0e52769572ab97da1b919baf222f355bdf481d88/"

PUBLISHED = """\
03b2b625c090f94a6afd59f114cde5282e2053aab0b101e87ed695d8a0c5b1df 1175139 ids-sst-train.csv
a186ce94577635fbe10beaaddd50f16cccf6c30973221cefdf90deed2a584bfe 151384 ids-sst-dev.csv
bdd5a767faa0c26782117e37767ece154c30d5d04fb8727d09c71e3850a55c7b 313202 ids-sst-test-student.csv
140fc513045a966109faed46a5c7a898767b96714d71bcb9c15f659129fadcea 1693182 ids-cfimdb-train.csv
3087f571b66860fe5d035b5a018d08202ad3fd3720e4821c04b2acf6c7ded559 249095 ids-cfimdb-dev.csv
15d12efc2d656fffb1d61ac1f08ec4227f43925fd16f420c037cbd063699c21b 928832 sts-train.csv
ce3cad6f16062586ac7ba462c28b010a9be10c530fd5074165860d7b7ab4e93d 132265 sts-dev.csv
dee455745b72e9ca3ff74e7c056bd73e34bad5b8d5641045a2c1e7e131866f47 256677 sts-test-student.csv
"""  # SHA-256, bytes, name
KNOWN = {name: (int(size), digest) for digest, size, name in map(str.split, PUBLISHED.splitlines())}


def _files(base: str, *names: str) -> list[RemoteFile]:
    return [RemoteFile(name, base + name, *KNOWN.get(name, ())) for name in names]


def _simcse(name: str, *members: str) -> RemoteFile:
    url = f"https://huggingface.co/datasets/{SIMCSE}/resolve/main/{name}"
    return RemoteFile(name, url, members=members, hub=SIMCSE)


DESCRIPTIONS = {
    "cs224n": "SST, CFIMDB, Quora and STS as the CS224N default project splits them",
    "wiki1m": "a million Wikipedia sentences for unsupervised SimCSE",
    "nli": "275,601 NLI triplets for supervised SimCSE",
    "sts": "STS12 to STS16, STS-Benchmark and SICK, as SimCSE scores them",
    "transfer": "MR, CR, SUBJ, MPQA, SST, TREC and MRPC, as SimCSE scores them",
    "hans": "HANS, 30,000 pairs that differ in word order",
}

# Data sets that share an archive share a folder too, so that it is downloaded once.
FOLDERS = {"sts": "senteval", "transfer": "senteval"}

SOURCES: dict[str, list[RemoteFile]] = {
    "cs224n": [
        *_files(CS224N, "ids-sst-train.csv", "ids-sst-dev.csv", "ids-sst-test-student.csv"),
        *_files(CS224N, "ids-cfimdb-train.csv", "ids-cfimdb-dev.csv"),
        *_files(CS224N, "ids-cfimdb-test-student.csv"),
        *_files(CS224N_LFS, "quora-train.csv", "quora-test-student.csv"),
        *_files(CS224N, "quora-dev.csv"),
        *_files(CS224N, "sts-train.csv", "sts-dev.csv", "sts-test-student.csv"),
    ],
    "wiki1m": [_simcse("wiki1m_for_simcse.txt")],
    "nli": [_simcse("nli_for_simcse.csv")],
    # SentEval's sets as SimCSE keeps and scores them: tokenised and, for STS, in lower case. Many
    # of the addresses in SentEval's own script no longer answer.
    "sts": [_simcse("senteval.tar", "STS", "SICK")],
    "transfer": [_simcse("senteval.tar", "MR", "CR", "SUBJ", "MPQA", "SST", "TREC", "MRPC")],
    "hans": _files(HANS, "heuristics_evaluation_set.txt"),
}


def file_of(source: str) -> str:
    """Return the file name of a training source: a data set of SOURCES, or another file."""
    return SOURCES[source][0].name if source in SOURCES else source
