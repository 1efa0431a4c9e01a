# The steps of .ci/run, which makes three of them at a time: one compiles and checks, one tests, and one tests under Intel MPI, where
# programs sleep for a third of their time: MPI_Init of 2021.19 takes 0.25 s to find out how fast a clock is.
# .ci/step writes down how each step has ended. Steps of tests end well whatever has failed in them: .ci/verdict looks at that.
step := @.ci/step
tests := scripts/tests
results = --results $(STEP_LOGS)/$@.results
# Who compiles and checks takes what the tests leave of the cores.
rest := nice -n 15
# What is the same whatever the MPI is, is compiled and tested for the first one only.
others := env TEST_ONCE=OFF scripts/compile

steps := set-up compile-mpich compile-openmpi compile-impi compile-system check test-mpich test-openmpi test-impi test-system turn
.PHONY: gate names $(steps)
gate: turn
names: ; @echo $(steps)

set-up:             ; $(step) $@ .ci/set-up mpich openmpi impi system
compile-mpich:      set-up          ; $(step) $@ $(rest) scripts/compile mpich all
compile-openmpi:    compile-mpich   ; $(step) $@ $(rest) $(others) openmpi quick_tests
compile-impi:       compile-openmpi ; $(step) $@ $(rest) $(others) impi quick_tests
compile-system:     compile-impi    ; $(step) $@ $(rest) $(others) system quick_tests
check:              compile-system  ; $(step) $@ $(rest) make MPI=mpich check
test-mpich:         compile-mpich                 ; -$(step) $@ $(tests) mpich quick $(results)
test-openmpi:       compile-openmpi test-mpich    ; -$(step) $@ $(tests) openmpi quick --not-first $(results)
test-impi:          compile-impi                  ; -$(step) $@ $(tests) impi quick --not-first $(results)
test-system:        compile-system test-openmpi   ; -$(step) $@ $(tests) system quick --not-first $(results)
turn:               check test-impi test-system   ; -$(step) $@ .ci/turn
