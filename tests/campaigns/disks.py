"""A full disk at every operation, at every size, and files with a longest length.

From an operation on, nothing can be written any more (ENOSPC); or the folder is a small file system
in memory, which also the libraries that write past Python meet (where this process may mount one);
or no file may become longer than so much (RLIMIT_FSIZE). Each gives one line, leaves no half file
under a final name, and once there is room the same command ends as if nothing had been.
"""

import random
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from campaigns import forked
from campaigns.kills import Undisturbed, finish, start, undisturbed
from campaigns.outcomes import Trial, one_line
from campaigns.scenes import SCENES, Material, Scene, material, write_material
from campaigns.serving import server

ROOM = 64 << 20  # bytes, more than any scene needs


def disk(count: int, seed: int, folder: Path, only: Sequence[str] = ()) -> Iterator[Trial]:
    """Yield `count` trials, in turn of each scene, or of `only` some."""
    draw = random.Random(seed)
    assert forked.run(lambda: write_material(folder) or 0, folder).code == 0
    with server() as url:
        given = material(folder, url)
        names = only or [name for name, scene in SCENES.items() if scene.ranks == 1]
        scenes = [SCENES[name] for name in names[:count]]
        known = {scene.name: undisturbed(scene, given, folder) for scene in scenes}
        for number in range(count):
            scene = scenes[number % len(scenes)]
            yield _trial(scene, given, folder, known[scene.name], draw)


def _trial(
    scene: Scene, given: Material, folder: Path, whole: Undisturbed, draw: random.Random
) -> Trial:
    place = folder / "place"
    place.mkdir()
    how = draw.choice(["operation", "size", "size", "length"])
    if how == "size" and not _mounted(place, ROOM):
        how = "operation"
    if how == "operation":
        number = draw.randrange(len(whole.operations)) + 1
        accident = f"full from {number} {whole.operations[number - 1]}"
        ended = start(scene, given, place, False, forked.full_from(number))
    elif how == "size":
        size = int(2 ** draw.uniform(12, 22))
        accident = f"{size >> 10} KiB of room"
        _resized(place, size)
        ended = start(scene, given, place, False)
        _resized(place, ROOM)
    else:
        length = draw.choice([0, 100, 1000, 4096, 10_000, 50_000])
        accident = f"files of {length} bytes"
        ended = start(_limited(scene, length), given, place, False)
    about = ("disk", scene.name, accident)
    trial = judged(about, ended) or finish(scene, given, place, whole, accident)
    subprocess.run(["umount", "-l", "-q", str(place)], check=False)
    shutil.rmtree(place)
    return trial._replace(campaign="disk", said=trial.said or ended.said.strip()[-200:])


def judged(about: tuple[str, str, str], ended: forked.Ended) -> Trial | None:
    """Return how it went wrong, None where it ended with one line, or did not meet the limit."""
    if ended.code < 0:
        return Trial(*about, "crash or hang", ended.said[-1500:])
    if "Traceback" in ended.said or ended.code not in (0, 2):
        return Trial(*about, "traceback", ended.said[-1500:])
    if ended.code == 2 and not one_line(ended.said):
        return Trial(*about, "several lines", ended.said[-1500:])
    return None


def _limited(scene: Scene, length: int) -> Scene:
    def work(given: Material, folder: Path, again: bool) -> int:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # an error, not the end
        resource.setrlimit(resource.RLIMIT_FSIZE, (length, length))
        return scene.work(given, folder, again)

    return Scene(scene.name, work)


def _mounted(place: Path, size: int) -> bool:
    """Return whether an empty file system of this size is there now."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "campaign", str(place)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _resized(place: Path, size: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(place)], check=True)
