# The steps of .ci/run, which makes two of them at a time: one compiles and checks, the other tests. Two steps never test at once, so each
# kind is a chain. .ci/step writes down how each step has ended. Steps of tests end well whatever has failed in them: .ci/verdict looks at
# that.
step := @.ci/step
tests := scripts/tests
results = --results build/ci/$@.results
# Who compiles and checks takes what the tests leave of the cores.
rest := nice -n 15
# What is the same whatever the MPI is, is compiled and tested for the first one only.
others := env TEST_ONCE=OFF scripts/compile

steps := set-up compile-mpich compile-openmpi compile-impi compile-system check compile-turn test-mpich test-openmpi test-impi test-system turn
.PHONY: gate names $(steps)
gate: turn
names: ; @echo $(steps)

set-up:             ; $(step) $@ .ci/set-up mpich openmpi impi system
compile-mpich:      set-up          ; $(step) $@ $(rest) scripts/compile mpich all
compile-openmpi:    compile-mpich   ; $(step) $@ $(rest) $(others) openmpi quick_tests
compile-impi:       compile-openmpi ; $(step) $@ $(rest) $(others) impi quick_tests
compile-system:     compile-impi    ; $(step) $@ $(rest) $(others) system quick_tests
check:              compile-system  ; $(step) $@ $(rest) make MPI=mpich check
compile-turn:       check           ; $(step) $@ $(rest) .ci/turn compile
test-mpich:         compile-mpich                ; -$(step) $@ $(tests) mpich quick $(results)
test-openmpi:       compile-openmpi test-mpich   ; -$(step) $@ $(tests) openmpi quick --no-once $(results)
test-impi:          compile-impi test-openmpi    ; -$(step) $@ $(tests) impi quick --no-once $(results)
test-system:        compile-system test-impi     ; -$(step) $@ $(tests) system quick --no-once $(results)
turn:               compile-turn test-system     ; -$(step) $@ .ci/turn test
