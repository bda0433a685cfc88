"""The HTML page that a command leaves behind: whether it can be written is known before the work, not after."""

from pathlib import Path

from ..errors import ParameterError


def check_output(path: Path) -> None:
    """Make the folder of a page and see whether the page can be written.

    Raises
    ------
    ParameterError
        It cannot.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.exists()
        path.open("ab").close()
        if not before:
            path.unlink()
    except OSError as error:
        raise ParameterError(f"--output: '{path}' cannot be written: {error.strerror}") from None


def write_page(path: Path, html: str) -> None:
    """Write the page and say where it is."""
    path.write_text(html)
    print(f"report: {path}")
