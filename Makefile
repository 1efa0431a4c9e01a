# make MPI=mpich|openmpi|impi|system TARGET; `make help` lists the targets.
MPI ?= $(shell command -v mpicc >/dev/null 2>&1 && echo system || echo mpich)

# Tools come from the repository's own environment.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
SHELL := /bin/bash
BUILD := build/$(MPI)
export JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
PRESET ?= address-undefined
PYTHON = python tests bench scripts/before-after scripts/mpi4py scripts/steady scripts/tests .ci/verdict
CPP = $(shell git ls-files --cached --others --exclude-standard '*.c' '*.h' '*.cpp' '*.hpp')

.PHONY: build all bench install run test test-all sanitize check format clean help setup
.DEFAULT_GOAL := build

build: setup ## compile libplait, plait-lbm and the benchmarks into build/MPI
	@scripts/compile $(MPI) core benchmarks

install: setup ## put libplait and what compilers need of it under PREFIX=DIR (/usr/local); heeds DESTDIR
	@scripts/compile $(MPI) plait
	@DESTDIR='$(DESTDIR)' cmake --install $(BUILD) --prefix '$(abspath $(PREFIX))'

run: setup ## the main job: compare all models on decks/porous.toml; compiles only what that takes
	@scripts/compile $(MPI) core
	@./plait --mpi $(MPI) compare decks/porous.toml

bench: setup ## compile what plait bench runs
	@scripts/compile $(MPI) core benchmarks

all: setup ## compile everything, the tests too
	@scripts/compile $(MPI) all

test: all ## the quick tests, some minutes: C++ tests, then whole programs under MPI; TESTS=NAME... for some of them
	@scripts/tests $(MPI) quick $(TESTS)

test-all: all ## all tests under this MPI; TESTS=NAME... for some of them
	@scripts/tests $(MPI) all $(TESTS)

sanitize: ## the tests with sanitizers and assertions, under MPICH: PRESET=debug|address|undefined|address-undefined|thread
	@scripts/sanitize $(PRESET)

check: setup ## formatting and static analysis; ALONE=alone: each source as it is compiled alone, with clang's analyzer
	@clang-format --dry-run -Werror $(CPP)
	@ruff format --check --quiet $(PYTHON)
	@ruff check --quiet $(PYTHON)
	@scripts/tidy $(MPI) $(ALONE)

format: setup ## put every source into the house's format
	@clang-format -i $(CPP)
	@ruff format --quiet $(PYTHON)
	@ruff check --quiet --fix $(PYTHON)

setup: # what the others need; quick when all is there
	@scripts/setup $(MPI)

clean: ## remove what was built, not what was set up
	rm -rf build out

help: ## this list
	@echo "make [MPI=mpich|openmpi|impi|system] [TARGET]   (MPI is $(MPI))"
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' Makefile | expand -t 12
