from hookline.cli.terminal.output import not_called, stopped


def test_sentences_name_hooks_and_reasons() -> None:
    """Several hooks are joined; a decision without a known hook is a hook's all the same."""
    assert not_called("No.", ("a", "b")) == "The model was not called: No. (blocked by a and b)"
    assert stopped("No.", ()) == "Stopped by a hook: No."
