import sys

from hookline.cli.main import main

sys.exit(main())
