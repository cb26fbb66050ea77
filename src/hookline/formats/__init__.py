"""Native model messages ↔ what hooks see of them: import the module of your API."""

__all__ = ["anthropic", "genai", "openai"]


def __dir__() -> list[str]:
    return [*__all__]
