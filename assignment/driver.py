"""Runs a student's functions on a suite's inputs and writes down what they return; judges nothing.

    python driver.py '{"tree": STUDENT_TREE, "suite": DIR, "out": DIR, ...}'   # and more of `run`

Reads suite.json and inputs.npz, never the answers. Writes out/CASE.npz, or CASE.error.txt there if
the case raised. Needs the standard library, NumPy, torch, and `cases/` beside this file.
"""

import faulthandler
import importlib.util
import json
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

CASES = Path(__file__).parent / "cases"
# Where the student's code and what it builds on lie in the tree.
PACKAGES = ("minbert", "simcse", "heads", "data", "runtime", "evaluation", "assignment")


class Given(dict[str, Tensor]):
    """The inputs of a case by their names, as tensors."""

    def __init__(self, *inputs: Any):
        super().__init__(*inputs)
        self.remarks: list[str] = []  # of a case, at no cost

    def fill(self, module: nn.Module, prefix: str = "weights.") -> Any:
        """Copy the inputs that begin with `prefix` into a module; return it in evaluation mode."""
        state = {name[len(prefix) :]: self[name] for name in self if name.startswith(prefix)}
        module.load_state_dict(state)
        return module.eval()

    def gradients(
        self, function: Callable[..., Tensor], *names: str, module: nn.Module | None = None
    ) -> dict[str, Tensor]:
        """Return the gradients of what a function makes of inputs, no two numbers weighted alike.

        Of a module it is also told whether all of its weights have one.
        """
        leaves = {name: self[name].clone().requires_grad_() for name in names}
        # Copies may be changed in place, leaves may not.
        values = function(*(leaf.clone() for leaf in leaves.values()))
        total = (values * torch.linspace(0.5, 1.5, values.numel()).view_as(values)).sum()
        if total.requires_grad:
            total.backward()
        gradients = {
            f"gradient of {name}": torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
            for name, leaf in leaves.items()
        }
        if module is not None:
            reached = all(weight.grad is not None for weight in module.parameters())
            gradients["gradients reach all weights"] = torch.tensor(reached)
        return gradients

    @contextmanager
    def squaring(self, module: nn.Module) -> Iterator[Any]:
        """Put squares in the place of dropout in training: no chance, and their place shows."""
        with _Squares():
            yield module.train()

    def number(self, name: str) -> Any:
        return self[name].item()

    def numbers(self, name: str) -> tuple[Any, ...]:
        return tuple(self[name].tolist())

    def config(self, **changes: Any) -> Any:
        """Return the BertConfig whose fields are among the inputs, with `changes`."""
        from minbert.config import BertConfig

        fields = BertConfig.__dataclass_fields__
        given = {name: self.number(name) for name in self if name in fields}
        return BertConfig(**given, **changes)

    def batch(self) -> Any:
        """Return the packed batch of `lengths` and, where they are given, its other fields."""
        from minbert.packing import PackedBatch

        lengths = self["lengths"]
        zeros = torch.zeros(int(lengths.sum()), dtype=torch.int64)
        return PackedBatch(
            self.get("input_ids", zeros),
            self.get("token_type_ids", zeros),
            torch.cat([torch.arange(length) for length in lengths.tolist()]),
            nn.functional.pad(lengths.cumsum(0), (1, 0)),
            tuple(lengths.tolist()),
            self.get("first_lengths"),
        )


class _Squares(TorchFunctionMode):
    """While it is on, all forms of PyTorch's dropout square, however they were imported."""

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__name__", "") not in ("dropout", "dropout_"):
            return func(*args, **kwargs)
        # F.dropout(input, p, training, inplace), and torch.dropout(input, p, train).
        named = dict(zip(("input", "p", "training", "inplace"), args, strict=False)) | kwargs
        input, training = named["input"], named.get("training", named.get("train", True))
        squares = input.square() if training else input
        in_place = named.get("inplace", func.__name__ == "dropout_")
        return input.copy_(squares) if in_place else squares


def run(
    suite: str, out: str, names: Sequence[str] = (), seconds: float = 0, cpu_seconds: float = 0
) -> None:
    """Run cases of a suite folder in the order of `names`, all of them if none is given.

    Args:
        out: folder for what they return.
        seconds: end Python where a case takes longer, and tell the line that it was in; 0: never.
        cpu_seconds: end a case that computes for longer, and go on with the next; 0: never.
    """
    process = os.getpid()
    if cpu_seconds:
        signal.signal(signal.SIGPROF, partial(_too_long, cpu_seconds))
        warm_up()
    cases = json.loads(Path(suite, "suite.json").read_text(encoding="utf-8"))["cases"]
    functions = {case["name"]: case["function"] for case in cases}
    with np.load(Path(suite, "inputs.npz"), allow_pickle=False) as stored:
        for name in names or functions:
            keys = [key for key in stored.files if key.startswith(f"{name}/")]
            inputs = {key.removeprefix(f"{name}/"): stored[key] for key in keys}
            if seconds:
                faulthandler.dump_traceback_later(seconds, exit=True)
            try:
                if cpu_seconds:
                    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
                answers, remarks = answer(functions[name], inputs)
                _end_copy(process)
                if remarks:
                    Path(out, f"{name}.remarks.txt").write_text("\n".join(remarks), "utf-8")
                with Path(out, f"{name}.npz").open("wb") as file:
                    # The names are chosen by us; to mypy one of them could be `allow_pickle`.
                    np.savez(file, **answers)  # type: ignore[arg-type]
            except (Exception, SystemExit) as error:
                _end_copy(process)
                words = in_words(error).encode("utf-8", "backslashreplace")  # or lone surrogates
                Path(out, f"{name}.error.txt").write_bytes(words)
    if cpu_seconds:
        signal.setitimer(signal.ITIMER_PROF, 0)
    faulthandler.cancel_dump_traceback_later()


def warm_up() -> None:
    """Let PyTorch import what its first optimizer needs, for seconds that are not the student's."""
    torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)


def _end_copy(process: int) -> None:
    """End what `os.fork` in a student's code made of this process: it would answer cases, too."""
    if os.getpid() != process:
        os._exit(1)


def _too_long(seconds: float, *_: object) -> None:
    raise TimeoutError(f"exceeded the time limit of {seconds:g} s")


def answer(function: str, inputs: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return the answers of a function of `cases/`, file.function, and remarks that cost no points.

    What it raises is the student's.
    """
    given = Given((name, torch.tensor(array)) for name, array in inputs.items())
    # What a wrong answer draws is the same wherever it runs. (`torch.manual_seed` asks the
    # accelerators, too, which takes longer than most cases.)
    torch.default_generator.manual_seed(0)
    np.random.seed(0)
    file, _, name = function.partition(".")
    answers = getattr(_load(CASES / f"{file}.py"), name)(given)
    changed = [
        f'the input "{key}" is changed in place; the caller may still need it'
        for key, array in inputs.items()
        if not np.array_equal(given[key].numpy(), array, equal_nan=array.dtype.kind == "f")
    ]
    others = [
        f'"{key}" is of type {type(value).__name__}; a tensor is asked for'
        for key, value in answers.items()
        if not isinstance(value, Tensor)
    ]
    arrays = {name: _array(name, value) for name, value in answers.items()}
    return arrays, [*given.remarks, *changed, *others]


def in_words(error: BaseException) -> str:
    """Return what was raised, and where in the student's code, if it was there."""
    tree = sys.path[1] + os.sep
    frames = traceback.extract_tb(error.__traceback__)
    inside = [f for f in frames if f.filename.startswith(tree) and f.filename != __file__]
    last = [f"\nat {f.filename.removeprefix(tree)}:{f.lineno}: {f.line}" for f in inside[-1:]]
    return f"{type(error).__name__}: {error}"[:1000] + "".join(last)[:900]


@cache
def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"_cases_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _array(name: str, value: Any) -> np.ndarray:
    if isinstance(value, Tensor):
        return value.detach().cpu().numpy()
    if not isinstance(value, np.ndarray | np.generic | float | int):
        raise TypeError(f'"{name}" is of type {type(value).__name__}; expected a tensor')
    return np.asarray(value)


def import_from(tree: Path) -> None:
    """Let the packages be imported from `tree` and from `kit/` in it, whatever was before."""
    for name in list(sys.modules):
        if name.partition(".")[0] in PACKAGES:
            del sys.modules[name]
    here = {str(Path(__file__).parent), str(Path(__file__).parents[1]), ""}
    tree = tree.resolve()
    sys.path[:] = [str(tree / "kit"), str(tree), *(path for path in sys.path if path not in here)]
    importlib.invalidate_caches()


def refuse(*_: Any, **__: Any) -> None:
    """Stand in the place of PyTorch's Adam."""
    raise RuntimeError("PyTorch's Adam is not allowed: write this part yourself")


def refuse_libraries() -> torch.library.Library:
    """Let what students are to write not be called; kernels refuse while the result is kept.

    In a sandbox the libraries are not there, and PyTorch's own files refuse.
    """
    for name in ("sklearn", "scipy", "transformers"):
        sys.modules[name] = None  # type: ignore[assignment] # its import fails
    torch.optim.Adam = torch.optim.AdamW = refuse  # type: ignore[misc, assignment]
    kernels = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings(action="ignore"):  # PyTorch warns that they are replaced
        for name, form in product(("_fused_adam_", "_fused_adamw_"), ("", ".tensor_lr")):
            kernels.impl(name + form, refuse, "CPU")
    return kernels


def main() -> None:
    """Run what the command line says, whatever the cases do."""
    spec = json.loads(sys.argv[1])
    sys.dont_write_bytecode = True
    kernels = refuse_libraries()
    import_from(Path(spec.pop("tree")))
    run(**spec)
    del kernels


if __name__ == "__main__":
    main()
