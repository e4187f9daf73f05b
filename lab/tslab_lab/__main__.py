import sys

from tslab_lab.cli import main

sys.exit(main())
