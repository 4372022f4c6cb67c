"""Sends its inputs to somebody: by TCP, by UDP, by a socket without a file."""

import socket

PORT = "@PORT@"


def double(values):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        try:
            with socket.socket(socket.AF_INET, kind) as channel:
                channel.settimeout(1)
                channel.connect(("127.0.0.1", int(PORT)))
                channel.send(values.tobytes())
        except OSError:
            pass
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
            channel.connect(f"\0listener-{PORT}")
            channel.send(values.tobytes())
    except OSError:
        pass
    return values
