"""``python -m anabranch sweep``: what ``anabranch sweep --scheduler`` calls."""

import sys

from anabranch._sweep import main

if __name__ == "__main__":
    sys.exit(main())
