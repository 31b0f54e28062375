"""Ids that nobody else has and that are the same on every run: there is no randomness in the pure core."""

import hashlib


def uuid_of(seed: str) -> str:
    """A UUID made from these words."""
    digits = hashlib.sha256(seed.encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:32]}"
