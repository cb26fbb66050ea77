"""What hooks have to say to the model, kept until the next message to it."""

from collections.abc import Sequence

from hookline.agent.transcript import Transcript
from hookline.triggers.results import LifecycleHookResult


class PendingTexts:
    """Hooks' context and notes that have not been sent yet; a session that is resumed gets its notes back."""

    def __init__(self, transcript: Transcript, notes: Sequence[str] = ()) -> None:
        self._transcript = transcript
        self._contexts: list[str] = []
        self._notes = list(notes)

    def keep(self, result: LifecycleHookResult) -> None:
        """Keeps what hooks around a prompt or a session say."""
        if result.context:
            self._contexts.append(result.context)
        self.keep_note(result.system_message)

    def keep_note(self, note: str | None) -> None:
        """Keeps a hook's message to the model, if there is one."""
        if note:
            self._notes.append(note)
            self._transcript.write("note", text=note)

    def take(self) -> list[str]:
        """The texts to send now: context as it is, and notes marked as such."""
        texts = [*self._contexts, *(f"[System] {note}" for note in self._notes)]
        self._contexts, self._notes = [], []
        return texts
