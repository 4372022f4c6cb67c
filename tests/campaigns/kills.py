"""Kills at file-system operations and at random moments; the same command then ends as if none."""

import json
import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from campaigns import forked
from campaigns.outcomes import Trial
from campaigns.scenes import SCENES, Material, Scene, left_in, material, write_material
from campaigns.serving import server


class Undisturbed(NamedTuple):
    """A scene run to its end: what it left, its operations, and its seconds."""

    left: dict[str, str]
    operations: list[str]
    seconds: float


def kill(count: int, seed: int, folder: Path, only: Sequence[str] = ()) -> Iterator[Trial]:
    """Yield `count` trials, in turn of each scene, or of `only` some."""
    draw = random.Random(seed)
    assert forked.run(lambda: write_material(folder) or 0, folder).code == 0
    with server() as url:
        given = material(folder, url)
        scenes = [SCENES[name] for name in only or list(SCENES)[:count]]
        known = {scene.name: undisturbed(scene, given, folder) for scene in scenes}
        for number in range(count):
            scene = scenes[number % len(scenes)]
            yield killed(scene, given, folder, known[scene.name], draw)


def undisturbed(scene: Scene, given: Material, folder: Path) -> Undisturbed:
    """Run a scene twice, which must leave the same; note what it does on the way."""
    place, notes = folder / "place", folder / "operations.txt"
    runs = []
    for fault in (None, forked.note_in(notes)):
        ended = start(scene, given, place, False, fault)
        assert ended.code == 0, f"{scene.name}: {ended.said}"
        runs.append((ended, what_is_left(place)))
        shutil.rmtree(place)
    (_, first), (ended, second) = runs
    assert first == second, f"{scene.name}: two runs differ in {differences(first, second)}"
    operations = notes.read_text().splitlines()
    notes.unlink()
    return Undisturbed(second, operations, ended.seconds)


def start(scene: Scene, given: Material, place: Path, again: bool, fault=None, kill_after=None):
    """Run a scene in a folder; see `forked.run`."""
    place.mkdir(exist_ok=True)
    return forked.run(
        lambda: scene.work(given, place, again), place, fault, kill_after, scene.ranks
    )


def what_is_left(place: Path) -> dict[str, str]:
    """Return `left_in` of a folder, found by a child: the parent computes nothing."""
    notes = place.with_name("left.json")
    ended = forked.run(lambda: notes.write_text(json.dumps(left_in(place))) and 0, place)
    if ended.code:
        return {"": ended.said}
    return json.loads(notes.read_text())


def differences(expected: dict[str, str], found: dict[str, str]) -> str:
    """Return which files are missing, stray or other, "" for none."""
    names = sorted(expected.keys() | found.keys())
    return ", ".join(
        f"{'missing' if name not in found else 'stray' if name not in expected else 'other'} {name}"
        for name in names
        if expected.get(name) != found.get(name)
    )


def killed(scene: Scene, given: Material, folder: Path, whole: Undisturbed, draw) -> Trial:
    """Kill a command once to three times, let it end, and compare."""
    place, accidents = folder / "place", []
    for again in range(draw.choice([1, 1, 1, 2, 3])):
        if draw.random() < 0.7:
            number = draw.randrange(len(whole.operations)) + 1
            accidents.append(f"{number} {whole.operations[number - 1]}")
            start(scene, given, place, bool(again), forked.kill_at(number))
        else:
            seconds = draw.uniform(0, whole.seconds)
            accidents.append(f"{seconds:.2f} s")
            start(scene, given, place, bool(again), None, seconds)
    ended = start(scene, given, place, True)
    left = what_is_left(place)
    shutil.rmtree(place)
    about = ("kill", scene.name, "; ".join(accidents))
    if ended.code:
        outcome = "traceback" if "Traceback" in ended.said else "refused to continue"
        return Trial(*about, "hang" if ended.code < 0 else outcome, ended.said[-2000:])
    differs = differences(whole.left, left)
    return Trial(*about, "not equal" if differs else "equal", differs)
