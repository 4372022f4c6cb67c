"""Runs a function in two processes on this machine, as torchrun starts them."""

import os
import socket

import torch
import torch.multiprocessing as mp

from runtime import processes


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def _rank(rank, port, function, arguments, out):
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    processes.join_processes("cpu")
    torch.save(function(*arguments), out / f"{rank}.pt")
    processes.leave_processes()


def on_two_ranks(function, out, *arguments):
    """Return what the function returns in each of two processes, started as torchrun does."""
    mp.spawn(_rank, (free_port(), function, arguments, out), nprocs=2)
    return [torch.load(out / f"{rank}.pt", weights_only=False) for rank in range(2)]
