"""A run in which tuned encoders choose their rates: results, resuming, keys, what is refused."""

import shutil
from dataclasses import replace

import pytest
from conftest import toy_sentences
from toy_runs import cells_of, results, run

from heads import train
from heads.train import HeadTrainer
from minbert.encoder import SentenceEncoder
from minbert.model import BertModel

WORDS = ["--select", "train", "--task", "sts", "--reader", "bi", "cross", "--tune", "full"]
THREE = ["--rates", "1e-4", "1e-3", "1e-2"]


@pytest.fixture(scope="module")
def more_data(toy_data, tmp_path_factory):
    """The toy data with 120 labelled pairs, enough to hold some out."""
    folder = tmp_path_factory.mktemp("rates") / "data"
    shutil.copytree(toy_data, folder)
    header = (folder / "sts-train.csv").read_text().splitlines()[0]
    a, b = toy_sentences(120, 5), toy_sentences(120, 6)
    rows = [f"{k}\tr{k}\t{a[k]}\t{a[k] if k % 2 else b[k]}\t{4 * (k % 2)}" for k in range(120)]
    (folder / "sts-train.csv").write_text("\n".join([header, *rows]) + "\n")
    return folder


def trainings(monkeypatch):
    """Return a list to which every new head training adds its rate, rows and epochs."""
    made: list[tuple[float, int, int]] = []
    init = HeadTrainer.__init__

    def noted(trainer, encoder, head_tasks, inputs, *rest, **more):
        config = head_tasks[0].config
        made.append((config.backbone_learning_rate, len(inputs[0]["train"]), config.num_epochs))
        init(trainer, encoder, head_tasks, inputs, *rest, **more)

    monkeypatch.setattr(HeadTrainer, "__init__", noted)
    return made


def choices(folder):
    """Return what was chosen, by encoder, without the seconds."""
    return {cell.reader: cell.choice | {"seconds": 0} for cell in cells_of(folder)}


@pytest.fixture(scope="module")
def searched(tiny_checkpoint, more_data):
    folder = more_data.parent / "searched" / "r"
    with pytest.MonkeyPatch.context() as patch:
        made = trainings(patch)
        assert run(tiny_checkpoint, more_data, folder, *WORDS, *THREE) == 0
    # All encoders have the same trainings.
    bi, cross = made[:4], made[4:]
    assert bi[:3] == cross[:3] == [(rate, 96, 2) for rate in (1e-4, 1e-3, 1e-2)]
    assert {bi[3][1], cross[3][1]} == {120}
    return folder


def test_what_was_tried_stands_in_the_results_the_table_and_the_page(
    searched, tiny_checkpoint, more_data, capsys
):
    for rates in choices(searched).values():
        tried = rates["tried"]
        assert [one["rate"] for one in tried] == [1e-4, 1e-3, 1e-2]
        best = max(tried, key=lambda one: one["score"])
        assert (rates["rate"], rates["epochs"]) == (best["rate"], best["epochs"])
        assert rates["rows"] == 96 and 20 <= rates["chosen_by"] <= 24
    assert list(results(searched)[0])[-3:] == ["choice", "cls_cosine", "search"]
    assert not list(searched.parent.rglob("*.state.pt"))
    assert run(tiny_checkpoint, more_data, searched, *WORDS, *THREE) == 0
    out = capsys.readouterr().out
    assert out.count("done earlier") == 2 and ", rate " in out
    assert "1e-4 1e-3 0.01: 3 trainings before that of a tuned cell" in out
    page = (searched / "report.html").read_text(encoding="utf-8")
    for text in (out, page):
        assert "Learning-rate search on STS" in text and "with the best rate for each, " in text


def test_the_labels_of_dev_decide_nothing(searched, tiny_checkpoint, more_data, tmp_path):
    folder = tmp_path / "data"
    shutil.copytree(more_data, folder)
    header, *rows = (folder / "sts-dev.csv").read_text().splitlines()
    cut = [row.rpartition("\t") for row in rows]
    turned = [f"{a}\t{b}" for (a, _, _), (_, _, b) in zip(cut, reversed(cut), strict=True)]
    assert turned != rows
    (folder / "sts-dev.csv").write_text("\n".join([header, *turned]) + "\n")
    assert run(tiny_checkpoint, folder, tmp_path / "r", *WORDS, *THREE) == 0
    assert choices(tmp_path / "r") == choices(searched)
    names = [path.relative_to(searched) for path in searched.glob("predictions/*/sts-*.csv")]
    assert len(names) == 4  # dev and test of both
    for name in names:
        assert (tmp_path / "r" / name).read_text() == (searched / name).read_text()


@pytest.mark.parametrize("select", ["train", "dev"])
def test_with_select_dev_trials_choose_the_rate_and_dev_the_epoch(
    select, tiny_checkpoint, more_data, tmp_path, monkeypatch
):
    given = []

    def noted(*args, epoch, **more):
        given.append(epoch)
        return fit_heads(*args, epoch=epoch, **more)

    fit_heads = train.fit_heads
    monkeypatch.setattr(train, "fit_heads", noted)
    words = ["--task", "sts", "--tune", "full", "--rates", "1e-4", "1e-3", "--select", select]
    assert run(tiny_checkpoint, more_data, tmp_path / "r", *words) == 0
    (choice,) = choices(tmp_path / "r").values()
    assert choice["rate"] in (1e-4, 1e-3)
    assert given == [choice["epochs"] if select == "train" else None]


def test_an_interrupted_choice_resumes_without_its_finished_candidates(
    searched, tiny_checkpoint, more_data, tmp_path, monkeypatch
):
    words = [tiny_checkpoint, more_data, tmp_path / "r", *WORDS, *THREE]
    train_to = HeadTrainer._train_to
    epochs = []

    def counted(trainer, end, tick):
        epochs.append(trainer.config.backbone_learning_rate)
        if len(epochs) == 4:  # the second epoch of the second candidate
            raise KeyboardInterrupt
        return train_to(trainer, end, tick)

    monkeypatch.setattr(train, "SAVE_STEPS", 1)
    monkeypatch.setattr(HeadTrainer, "_train_to", counted)
    assert run(*words) == 130
    assert run(*words, "--resume") == 0
    assert epochs[:7] == [1e-4, 1e-4, 1e-3, 1e-3, 1e-3, 1e-2, 1e-2]
    assert choices(tmp_path / "r") == choices(searched)
    assert not list(tmp_path.rglob("*.state.pt"))


def test_keys_say_what_was_to_choose_from_and_only_where_there_was_a_choice(
    searched, tiny_checkpoint, more_data, tmp_path, monkeypatch
):
    made = trainings(monkeypatch)

    def keys(*words):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        words = ("--task", "sts", "--reader", "bi", *words)
        assert run(tiny_checkpoint, more_data, folder, *words) == 0
        return {cell.key for cell in cells_of(folder)}

    one = keys("--tune", "full", "--rates", "1e-3")
    assert one == keys("--tune", "full", "--backbone-lr", "1e-3")
    assert [rate for rate, _, _ in made] == [1e-3, 1e-3]
    made.clear()
    two = keys("--tune", "full", "--rates", "1e-3", "1e-4")
    assert two == keys("--tune", "full", "--rates", "1e-4", "1e-3", "1e-3")
    assert len(made) == 4  # the second run finds what the first one has tried
    found = [one, two, {cell.key for cell in cells_of(searched)}]
    assert len(set().union(*found)) == sum(map(len, found))


TOO_HIGH = {  # words -> what the plan says, or nothing
    "--pretrain unsup sup --tune joint --task sst sts": "unsup 1e-4 (--simcse-lr 3e-5), "
    "sup 5e-4 (--simcse-lr 5e-5), joint-proportional 5e-4 (--backbone-lr 5e-5)",
    "--task sts --tune full --rates 5e-4": "full 5e-4 (leave out --rates)",
    "--task sts --tune full --train-rows 40": "full 5e-4 (--backbone-lr 5e-5)",  # none to choose by
    "--pretrain sup --simcse-lr 5e-5 --task sts": "",
    "--task sts --tune full": "",
    "--task sst sts --tune joint --backbone-lr 5e-5": "",
    "--pretrain sup --task sst sts --tune joint --preset report": "",
}


def larger(checkpoint, folder):
    """Write a random encoder that is wider than quick's rates are for."""
    tiny = SentenceEncoder.from_pretrained(str(checkpoint), device="cpu", precision="float32")
    model = BertModel(replace(tiny.model.config, hidden_size=384))
    SentenceEncoder(model, tiny.tokenizer, device="cpu", precision="float32").save(folder)
    return folder


@pytest.mark.parametrize("words", TOO_HIGH)
def test_quicks_rates_on_a_larger_encoder_are_told(
    tiny_checkpoint, more_data, tmp_path, capsys, words
):
    cases = [(larger(tiny_checkpoint, tmp_path / "large"), TOO_HIGH[words])]
    if TOO_HIGH[words]:  # which is for larger encoders only
        cases.append((tiny_checkpoint, ""))
    for checkpoint, told in cases:
        assert run(checkpoint, more_data, tmp_path / "r", *words.split(), "--dry-run") == 0
        said = [line for line in capsys.readouterr().out.split("\n") if "warning" in line]
        assert len(said) == bool(told) and all(line.endswith(f"384, 3: {told}") for line in said)
