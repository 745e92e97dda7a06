"""Whether the real client is left out of this run. Read once, when pytest starts: the fixture that keeps
tests from the real home takes HOLDFAST_* out of the environment."""

import os

SKIPPED = os.environ.get("HOLDFAST_SKIP_CLIENT", "") not in ("", "0")
NOT_TESTED = "HOLDFAST_SKIP_CLIENT is set: the real client was NOT tested"
