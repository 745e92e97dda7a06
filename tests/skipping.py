"""Whether the real client and the real browser are left out of this run. Read once, when pytest starts: the
fixture that keeps tests from the real home takes HOLDFAST_* out of the environment."""

import os
import shutil

SKIPPED = os.environ.get("HOLDFAST_SKIP_CLIENT", "") not in ("", "0")
NOT_TESTED = "HOLDFAST_SKIP_CLIENT is set: the real client was NOT tested"

#: The first of them that is there.
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), ""
)
NO_BROWSER = (
    "no Chromium is installed (on Debian: apt-get install chromium): the dashboard was NOT tested in one"
)
