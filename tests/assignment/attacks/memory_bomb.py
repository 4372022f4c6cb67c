"""Takes 20 GB, page by page."""

HOARD = []


def double(values):
    for _ in range(20):
        HOARD.append(bytearray(b"x") * (1 << 30))
    return 2 * values
