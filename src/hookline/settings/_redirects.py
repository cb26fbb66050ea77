import re

# Constructs whose quoting this scanner does not follow, or through which a redirected file could still be read.
_BEYOND_US = re.compile(r"\bcase\b|\(\(|/dev/fd|/proc/|`|<<")
_PLAIN_PARAMETER = re.compile(r"\$\{\w+\}")
_WORD_ENDS = " \t\n;&|<>()"


def blank_output_targets(command: str) -> str:
    """The shell command without the files that it only writes to (`>> hooks.log`).

    Whatever is not understood stays: the caller looks for files that decide what runs, and one too many is better than
    one too few.
    """
    if ">" not in command or _BEYOND_US.search(command):
        return command
    spans = _Scanner(command).target_spans()
    for start, end in reversed(spans):
        command = command[:start] + " " * (end - start) + command[end:]
    return command


class _Scanner:
    """Walks through a command as the shell does, up to the first construct it does not know."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        # Which quotes and parentheses are open: `"` and `(`.
        self._open: list[str] = []
        self._spans: list[tuple[int, int]] = []
        self._target: tuple[int, int] | None = None

    def target_spans(self) -> list[tuple[int, int]]:
        while self._at < len(self._text):
            self._end_target_if_over()
            is_known = self._step_in_quotes() if self._open[-1:] == ['"'] else self._step_in_command()
            if not is_known:
                return self._spans
        if self._target and not self._open:
            self._end_target(self._target[0], len(self._text))
        return self._spans

    def _end_target_if_over(self) -> None:
        if self._target and len(self._open) == self._target[1] and self._text[self._at] in _WORD_ENDS:
            self._end_target(self._target[0], self._at)

    def _end_target(self, start: int, end: int) -> None:
        self._target = None
        # The name of the target may itself be the output of a command.
        if "$(" not in self._text[start:end]:
            self._spans.append((start, end))

    def _step_in_quotes(self) -> bool:
        match self._text[self._at]:
            case "\\":
                self._at += 2
            case '"':
                self._open.pop()
                self._at += 1
            case "$":
                return self._step_over_dollar()
            case _:
                self._at += 1
        return True

    def _step_in_command(self) -> bool:
        match self._text[self._at]:
            case "\\":
                self._at += 2
            case "'":
                self._at = self._text.find("'", self._at + 1) + 1
                return self._at > 0
            case '"' | "(" as opening:
                self._open.append(opening)
                self._at += 1
            case ")":
                self._at += 1
                return bool(self._open) and self._open.pop() == "("
            case "$":
                return self._text[self._at + 1 : self._at + 2] not in ("'", '"') and self._step_over_dollar()
            case "#":
                is_comment = self._at == 0 or self._text[self._at - 1] in _WORD_ENDS
                self._at += 1
                return not is_comment
            case "<":
                # `<>` opens for reading as well.
                self._at += 2 if self._text.startswith("<>", self._at) else 1
            case ">":
                self._step_over_redirect()
            case _:
                self._at += 1
        return True

    def _step_over_dollar(self) -> bool:
        if self._text.startswith("$(", self._at):
            self._open.append("(")
            self._at += 2
            return True
        if self._text.startswith("${", self._at):
            parameter = _PLAIN_PARAMETER.match(self._text, self._at)
            self._at = parameter.end() if parameter else self._at
            return parameter is not None
        self._at += 1
        return True

    def _step_over_redirect(self) -> None:
        self._at += 2 if self._text.startswith((">>", ">|"), self._at) else 1
        while self._text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1
        if self._text[self._at : self._at + 1] not in ("&", "(", ""):
            self._target = (self._at, len(self._open))
