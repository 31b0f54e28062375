"""How long a test waits for what must happen, before it fails instead of hanging."""

# Nothing is late by design and nothing asserts how soon it comes: this is long because machines that run tests are busy.
PATIENCE = 90.0
