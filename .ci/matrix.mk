# The steps of scripts/matrix, as .ci/steps.mk has those of the gate: two at a time, one compiles and the other tests.
step := @.ci/step
results = --results $(STEP_LOGS)/$@.results
others := env TEST_ONCE=OFF scripts/compile

steps := set-up \
  compile-mpich compile-openmpi compile-impi compile-system compile-address-undefined compile-thread check soak \
  test-mpich test-openmpi test-impi test-system test-address-undefined test-thread
.PHONY: matrix names $(steps)
matrix: test-thread soak
names: ; @echo $(steps)

set-up:                                             ; $(step) $@ .ci/set-up mpich openmpi impi system
compile-mpich:             set-up                   ; $(step) $@ scripts/compile mpich all
compile-openmpi:           compile-mpich            ; $(step) $@ $(others) openmpi all
compile-impi:              compile-openmpi          ; $(step) $@ $(others) impi all
compile-system:            compile-impi             ; $(step) $@ $(others) system all
compile-address-undefined: compile-system           ; $(step) $@ scripts/compile address-undefined unit_tests test_programs
compile-thread:            compile-address-undefined ; $(step) $@ scripts/compile thread unit_tests
check:                     compile-thread           ; $(step) $@ make MPI=mpich ALONE=alone check
# Random messages beside the tests: each is the other's load.
soak:                      check                    ; $(step) $@ scripts/soak mpich 600
test-mpich:                compile-mpich            ; -$(step) $@ scripts/tests mpich all $(results)
test-openmpi:              compile-openmpi test-mpich ; -$(step) $@ scripts/tests openmpi all --not-first $(results)
test-impi:                 compile-impi test-openmpi ; -$(step) $@ scripts/tests impi all --not-first $(results)
test-system:               compile-system test-impi ; -$(step) $@ scripts/tests system all --not-first $(results)
test-address-undefined:    compile-address-undefined test-system ; -$(step) $@ scripts/tests address-undefined all $(results)
test-thread:               compile-thread test-address-undefined ; -$(step) $@ scripts/tests thread all $(results)
