// Linked into the program: `--wrap=main` makes its start code call this.
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
int __real_main(int argc, char** argv, char** environment);
int plait_cluster_main(int argc, char** argv, char** environment, int (*real)(int, char**, char**));

int __wrap_main(int argc, char** argv, char** environment) { return plait_cluster_main(argc, argv, environment, __real_main); }
// NOLINTEND(bugprone-reserved-identifier)
