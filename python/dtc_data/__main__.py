"""python -m dtc_data: the command dtc-data."""

import sys

from dtc_data.cli import main

sys.exit(main())
