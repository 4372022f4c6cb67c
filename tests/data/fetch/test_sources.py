"""The published files: their addresses, and what is known of them."""

from conftest import real_data

from data.download import fault
from data.sources import DESCRIPTIONS, SOURCES


def test_every_source_is_described_and_named_as_its_address_ends():
    assert DESCRIPTIONS.keys() == SOURCES.keys()
    assert [len(files) for files in SOURCES.values()] == [12, 1, 1, 1, 1, 1]
    for remote in (remote for files in SOURCES.values() for remote in files):
        assert remote.url.startswith("https://") and remote.url.endswith("/" + remote.name)
        assert (remote.size is None) == (remote.sha256 is None)


def test_known_sizes_and_hashes_are_those_of_the_published_files():
    folder = real_data("cs224n")
    known = [remote for remote in SOURCES["cs224n"] if remote.sha256]
    assert len(known) == 8
    assert all(fault(remote, folder / remote.name) is None for remote in known)
