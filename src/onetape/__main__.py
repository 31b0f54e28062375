"""`python -m onetape` is `onetape`."""

from onetape.cli.main import main

main()
