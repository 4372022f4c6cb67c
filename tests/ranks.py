"""Runs a function in two processes on this machine, as torchrun starts them."""

import multiprocessing
import os
import socket

import torch
import torch.multiprocessing as mp

from runtime import processes

# Imported once, by the server that forks the processes; each by itself would take three seconds.
multiprocessing.set_forkserver_preload(["torch._dynamo", "scipy.stats", "sklearn.metrics"])


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
    """Return what the function returns in each of two processes, told what torchrun tells them."""
    given = (free_port(), function, arguments, out)
    mp.start_processes(_rank, given, nprocs=2, start_method="forkserver")
    return [torch.load(out / f"{rank}.pt", weights_only=False) for rank in range(2)]
