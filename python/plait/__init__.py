"""The `plait` command: compile, run, look at and compare hybrid MPI programs on any MPI."""
