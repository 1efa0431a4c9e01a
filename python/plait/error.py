"""What is wrong with what a user gave, or with this machine."""


class PlaitError(Exception):
    """One clear line; the command prints it and ends with status 2."""
