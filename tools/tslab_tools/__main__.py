import sys

from tslab_tools.cli import main

sys.exit(main())
