"""The one exception that users are meant to see."""


class FreqLFError(Exception):
    """A mistake in the input, not in the program.

    Its message is one line: what is wrong, where, and what to do about it. The command line prints it
    without a traceback and exits with code 2.
    """
