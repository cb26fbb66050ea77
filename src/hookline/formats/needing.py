"""Imports of a framework's package, which may be missing."""

from hookline.errors import MissingExtraError


class needing:  # noqa: N801 - written as `with needing("langchain", "langchain"):`
    """Around the imports of an optional package: MissingExtraError, with the extra to install, if there is none."""

    def __init__(self, package: str, extra: str) -> None:
        self._package = package
        self._extra = extra

    def __enter__(self) -> None:
        """Nothing: the import itself looks for the package."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, ModuleNotFoundError):
            raise MissingExtraError(self._package, self._extra) from error
