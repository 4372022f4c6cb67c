"""A busy machine with little memory: kills, and a limit on memory, beside processes that compute.

The limit (RLIMIT_AS) is what the command has at its start and a little more, as where other
programs hold the rest. It gives one line, or the work is done; with memory again, the same command
ends as if nothing had been.
"""

import os
import random
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from campaigns import forked
from campaigns.disks import judged
from campaigns.kills import Undisturbed, finish, killed, start, undisturbed
from campaigns.outcomes import Trial
from campaigns.scenes import SCENES, Material, Scene, material, write_material

OTHERS = 6  # processes that compute
LONGEST = 600  # seconds of a command among them


def busy(count: int, seed: int, folder: Path, only: Sequence[str] = ()) -> Iterator[Trial]:
    """Yield `count` trials, kills and limits in turn, of a grid, an index and encoded files."""
    forked.LONGEST = LONGEST
    draw = random.Random(seed)
    assert forked.run(lambda: write_material(folder) or 0, folder).code == 0
    given = material(folder)
    scenes = [SCENES[name] for name in only or ("grid", "search", "encode")]
    with ExitStack() as others:
        # Those that others have started count.
        for _ in range(OTHERS - int(os.getloadavg()[0])):
            other = subprocess.Popen([sys.executable, "-c", "while True: sum(range(10**5))"])
            others.callback(other.wait)
            others.callback(other.kill)
        known = {scene.name: undisturbed(scene, given, folder) for scene in scenes}
        for number in range(count):
            scene = scenes[number // 2 % len(scenes)]
            trial = _starved if number % 2 else killed
            yield trial(scene, given, folder, known[scene.name], draw)._replace(campaign="busy")


def _starved(
    scene: Scene, given: Material, folder: Path, whole: Undisturbed, draw: random.Random
) -> Trial:
    more = int(2 ** draw.uniform(26, 30))  # 64 MiB to 1 GiB; with less than 128 none begins

    def work(given: Material, place: Path, again: bool) -> int:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        room = pages * resource.getpagesize() + more
        resource.setrlimit(resource.RLIMIT_AS, (room, room))
        return scene.work(given, place, again)

    place = folder / "place"
    accident = f"{more >> 20} MiB of memory"
    ended = start(Scene(scene.name, work), given, place, False)
    about = ("busy", scene.name, accident)
    trial = judged(about, ended) or finish(scene, given, place, whole, accident)
    shutil.rmtree(place)
    return trial._replace(said=trial.said or ended.said.strip()[-200:])
