def test_x(tiny_checkpoint, toy_data, tmp_path):
    import run_multitask
    from report.options import parse_options

    args = parse_options(
        [
            "--pretrain",
            "none",
            "unsup",
            "sup",
            "--task",
            "all",
            "--encoder",
            "bi",
            "cross",
            "--backbone",
            str(tiny_checkpoint),
            "--data",
            str(toy_data),
            "--run-dir",
            str(tmp_path / "r"),
            "--simcse-steps",
            "4",
            "--eval-steps",
            "2",
            "--head-epochs",
            "2",
        ]
    )
    assert run_multitask.main(args) == 0
