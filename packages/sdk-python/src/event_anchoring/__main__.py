"""`python -m event_anchoring verify`: checks receipts, bundles and trust roots offline, by a pinned RootTHK."""

from __future__ import annotations

import sys

from ._verifying.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
