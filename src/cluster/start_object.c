// Linked into the program: `--wrap=main` makes its start code call this.
// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
int __real_main(int argc, char** argv, char** environment);
int plait_cluster_main(int argc, char** argv, char** environment, int (*real)(int, char**, char**));

int __wrap_main(int argc, char** argv, char** environment) { return plait_cluster_main(argc, argv, environment, __real_main); }
// That it is there: its note is of type 2, that of each object (mark.s) of type 1.
__asm__(
    ".pushsection .note.plait.cluster, \"a\", @note\n"
    ".balign 4\n"
    ".long 14, 4, 2\n"
    ".asciz \"Plait cluster\"\n"
    ".balign 4\n"
    ".long 1\n"
    ".popsection");
// NOLINTEND(bugprone-reserved-identifier)
