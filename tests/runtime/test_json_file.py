"""JSON files of any content are read, or refused in one line."""

import pytest

from runtime.errors import UserError
from runtime.files import read_json, read_object


@pytest.mark.parametrize(
    "number", ["9223372036854775807", "1000000000000000019884624838656", "-1", "0.5", "1e300"]
)
def test_numbers_are_read(number, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(f'{{"p": {number}}}')
    assert read_object(path) == {"p": float(number) if "." in number or "e" in number
                                 else int(number)}  # fmt: skip


@pytest.mark.parametrize("number", ["9" * 400, "-" + "9" * 5000])
def test_a_number_that_no_float_holds_is_refused(number, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(f'{{"p": {number}}}')
    with pytest.raises(UserError, match="not a readable JSON file"):
        read_json(path)
