"""The exception and the warning that users are meant to see."""


class FreqLFError(Exception):
    """A mistake in the input, not in the program.

    Its message is one line: what is wrong, where, and what to do about it. The command line prints it
    without a traceback and exits with code 2.
    """

    def __init__(self, message: str) -> None:
        super().__init__(to_plain(message))


def to_plain(text: str) -> str:
    """The text with everything escaped that is no character to read: line breaks, terminal codes, stray bytes.

    Names of files and scenes come from elsewhere, and may hold any of them.
    """
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


class FreqLFWarning(UserWarning):
    """What a user should know about a result or a file, in one line; not what libraries remark."""
