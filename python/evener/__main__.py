"""python -m evener: the command."""
from evener_command import main

main()
