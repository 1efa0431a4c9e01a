# Put in front of what the compiler hands to the assembler: a note in each object that was compiled for `plait cc --cluster`. The library
# shares the variables of programs and libraries that have it; objects with OpenMP and without it are refused.
	.pushsection .note.plait.cluster, "a", @note
	.balign 4
	.long 14, 4, 1
	.asciz "Plait cluster"
	.balign 4
	.long 1
	.popsection
