"""`python -m secateur`: the command line where the script is not on the path."""

from secateur.cli import main

main()
