import os

from runtime import machine


def test_cores_are_those_that_this_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {1, 4, 5}, raising=False)
    assert machine.cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert machine.cores() == 8
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert machine.cores() == 1
