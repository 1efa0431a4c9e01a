from plait.cli import main

main()
