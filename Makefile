# Builds and tests hogwild. The CPU build needs only Go and make. The race detector and the GPU
# build need gcc, the stand-in driver needs g++. clang-19 compiles the kernels and the arm64
# loops; its output is committed.

export CGO_ENABLED = 0

# The CLI library's man page writer links a Markdown renderer, which every worker would
# initialize. hogwild man has its own writer.
TAGS = urfave_cli_no_docs

# Packages in which goroutines share state. What processes share the race detector cannot see. Of the packages above
# them it has the tests in which a run does several things at once.
RACE = ./shm ./hogwild/control ./hogwild/core ./hogwild/cpu ./hogwild/workers ./hogwild/nodes ./hogwild/peers ./hogwild/elastic \
	./hogwild/program ./hogwild/data/format ./hogwild/data/get ./bench/live
RACE_RUNS = ^Test(KilledWorkers|StoppedWorker|SignalWhileStarting|Result|SaveAllTheTime|SaveByTime|OnEpochPanics|FolderGone|DescriptorsUsedUp|RunInMemory|SecondInterrupt|WorkersAreAbandonedTogether|Protocol|Rollback|InterruptedScore|HungEvaluator|DualSurvivesKills)$$

# The CUDA build needs the CUDA headers and a stub libcuda to link against. Symbols are bound
# lazily, so an older driver or the stand-in may lack some.
HEADERS = build/cuda/include/cuda.h
STUB = build/cuda/stub/libcuda.so
CUDA_ENV = CGO_ENABLED=1 CGO_CFLAGS='-O2 -Wno-deprecated-declarations -I$(CURDIR)/build/cuda/include' \
	CGO_LDFLAGS='-L$(CURDIR)/build/cuda/stub -lcuda -Wl,-z,lazy -Wl,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2'
GO_CUDA = $(CUDA_ENV) go

# The stand-in driver, and the environment to run with it, all its checks on.
FAKE = -j$$(nproc) -C cuda/fake CUDA_INCLUDE=$(CURDIR)/build/cuda/include
WITH_FAKE = LD_LIBRARY_PATH=$(CURDIR)/bin/fake HOGWILD_FAKE_CHECKS=all

# Tests of several workers, which run again where processes take turns on a GPU.
IN_TURNS = ^Test(GivesBack|Killed(Workers|Replicas)|OneAllocation|SyncRepeats|AnyDevice|WhereMemoryIs|NodesOnOneHost)$$

# $(call where,THINGS,TARGET) makes the target if the programs and files exist. Otherwise it
# names the missing ones in one line, and fails if CI is true.
where = @missing=; for thing in $(1); do command -v $$thing >/dev/null || test -e $$thing || missing="$$missing $$thing"; done; \
	if test -z "$$missing"; then $(MAKE) --no-print-directory $(2); \
	else echo "skipped: make $(2) needs$$missing"; test "$$CI" != true; fi

# Tests often wait for processes, so more packages are tested at once than there are cores. What go vet has looked at (make
# check), go test does not look at again.
AT_ONCE = -vet=off -p $(shell echo $$(($$(nproc) + 2)))

# All packages with tests, those that take longest first.
LONGEST = ./cmd/hogwild ./hogwild/run ./bench ./hogwild/data ./hogwild/rundir ./hogwild/worker ./hogwild/programs ./hogwild/ability
PACKAGES = $(LONGEST) $(filter-out $(LONGEST),$(patsubst hogwild/%,./%,$(filter hogwild/%,$(shell go list ./...))) .)

# What a call of make test does, as .ci/steps chooses it: steps beside the tests of Go, and packages whose tests run in
# full. By default none, so that it needs only Go.
STEPS =
LONG =
IN_FULL = $(if $(filter ./...,$(LONG)),$(PACKAGES),$(filter $(LONG),$(PACKAGES)))
IN_SHORT = $(filter-out $(IN_FULL),$(PACKAGES))

# $(call gotest,PACKAGES,FLAGS) runs tests. CI shares its machine with others, so there up to three
# failing tests of a call run once more, alone. The log ends with their names: each is a bug.
GOTESTSUM = $(CURDIR)/build/tools/gotestsum
ifeq ($(CI),true)
RERUN = $(GOTESTSUM)
gotest = $(GOTESTSUM) --format standard-quiet --rerun-fails=1 --rerun-fails-max-failures=3 --packages='$(1)' -- -timeout 40m $(2)
else
gotest = go test -timeout 40m $(2) $(1)
endif

# The compiler wrapper of the cluster's MPI.
MPICC ?= mpicc
MPI_FLAGS = -std=c11 -O2 -Wall -Wextra

# Debian has a compiler wrapper for each MPI library.
MPI_LIBRARIES = $(foreach name,openmpi mpich,$(if $(shell command -v mpicc.$(name)),$(name)))

SHELL = /bin/bash

.PHONY: build cuda mpi dist wheel release release-check man fake vec vec-clang ptx cubin test test-all steps steps-bin steps-apart check vec-check vec-clang-check emulated fuzz noasm race test-cuda test-mpi test-asan ptx-check cubin-check sass-table arm64-table gpu-bundle gpu-check chaos mpijob-check axes rooms same clean help

build: ## build bin/hogwild: static, CPU only
	go build -tags $(TAGS) -o bin/hogwild ./cmd/hogwild

cuda: $(STUB) ## build bin/hogwild-cuda, which hogwild --gpu runs, and its tests, bin/cuda.test
	$(GO_CUDA) build -trimpath -tags cuda,$(TAGS) -o bin/hogwild-cuda ./cmd/hogwild
	$(GO_CUDA) test -c -tags cuda -o bin/cuda.test ./cuda

mpi: ## build bin/hogwild-mpi, for training on several nodes, with the cluster's MPI: make mpi MPICC=mpicc
	@command -v $(MPICC) >/dev/null || { echo "make mpi needs $(MPICC), the C compiler wrapper of the cluster's MPI: load its module, or install one (Debian: libopenmpi-dev or libmpich-dev), or name it: make mpi MPICC=PATH"; exit 1; }
	@mkdir -p bin
	$(MPICC) $(MPI_FLAGS) -o bin/hogwild-mpi hogwild/nodes/mpi/hogwild-mpi.c

dist: ## build release archives for linux amd64 and arm64, with SHA256SUMS, in dist
	TAGS=$(TAGS) packaging/dist.sh

wheel: # build wheels for linux on x86-64 and arm64 and the source distribution in dist; needs python3 with venv
	TAGS=$(TAGS) packaging/wheel.sh

release: # make a release in dist, of what is committed: archives, wheels, images, notes, checksums; make release VERSION=0.2.0
	@TAGS=$(TAGS) packaging/release.sh "$(VERSION)"

release-check: # make a release twice, in two folders, compare the bytes, and start what it has
	packaging/check.sh

man: build # build the manual page: make man && man build/hogwild.1
	@mkdir -p build
	bin/hogwild man >build/hogwild.1

fake: $(HEADERS) # build the stand-in CUDA driver, which interprets the kernels: bin/fake/libcuda.so.1
	$(MAKE) $(FAKE)

vec: ## generate the amd64 assembly loops, internal/vec/*_amd64.s, with internal/vec/gen
	cd internal/vec && go generate

vec-clang: # generate the assembly loops that are C, in internal/vec/gen/neon and loops, with clang-19
	cd internal/vec/gen && go run ./clang -out ..

ptx: ## compile the kernels to cuda/ptx with clang-19
	$(MAKE) -C cuda/kernels ptx

cubin: # assemble cuda/ptx to cuda/cubin with NVIDIA's ptxas, from PyPI
	$(MAKE) -C cuda/kernels cubin

$(HEADERS): # of CUDA 12: from CUDA_HOME, else from PyPI
	cuda/headers.sh

$(STUB): $(HEADERS)
	cuda/stub.sh

$(GOTESTSUM):
	GOBIN=$(dir $@) go install gotest.tools/gotestsum@v1.13.0

test: $(RERUN) check ## run the tests that need only Go, without the long ones, in four to seven minutes
	$(if $(IN_FULL),$(call gotest,$(IN_FULL),$(AT_ONCE)))
	$(if $(IN_SHORT),$(call gotest,$(IN_SHORT),$(AT_ONCE) -short))
	$(if $(STEPS),$(MAKE) steps,@echo "not run: long tests, and steps that need more than Go; make test-all runs all, .ci/run what a change needs")

test-all: ## run all tests, in half an hour; those whose tools are missing are named, and fail if CI is true
	@steps=$$(.ci/steps --all | sed -n 's/^STEPS=//p') && $(MAKE) test STEPS="$$steps" LONG=./...

# $(call step,TARGET,THINGS) makes one of STEPS, if the programs and files that it needs exist.
step = $(if $(filter $(1),$(STEPS)),$(call where,$(2),$(1)))

# Two lanes beside each other: of those that use bin/, and of the others. Each waits for processes much of the time.
steps: $(RERUN)
	$(if $(filter test-cuda test-asan,$(STEPS)),@cuda/headers.sh || true)
	$(MAKE) --output-sync=line -j2 steps-bin steps-apart
	$(if $(filter fuzz,$(STEPS)),$(MAKE) fuzz FUZZTIME=2s || echo "fuzzing found an input that fails: commit it with what mends it")
steps-bin: $(RERUN)
	$(call step,race,gcc)
	$(call step,test-cuda,gcc g++ python3 $(HEADERS))
	$(call step,test-mpi,mpicc.openmpi mpirun.openmpi mpicc.mpich mpirun.mpich)
	$(call step,test-asan,gcc g++ python3 $(HEADERS))
steps-apart: $(RERUN)
	$(call step,vec-check)
	$(call step,noasm)
	$(call step,emulated,qemu-x86_64 qemu-aarch64)
	$(call step,ptx-check,clang-19 pip3)
	$(call step,release-check,git python3 buildah qemu-aarch64)
	$(call step,mpijob-check)

check: ## run gofmt and go vet
	@files=$$(gofmt -l .); test -z "$$files" || { echo "not in gofmt's form (gofmt -w fixes it):" $$files; exit 1; }
	go vet ./...

vec-check: # check that the assembly in internal/vec matches its generator
	@mkdir -p build/vec
	@for file in internal/vec/*_amd64.s; do kind=$$(basename $$file _amd64.s); [ ! -f internal/vec/gen/loops/$$kind.c ] || continue; \
		(cd internal/vec/gen && go run . $$kind -out $(CURDIR)/build/vec/$$kind.s -stubs $(CURDIR)/build/vec/$$kind.go -pkg vec) && \
		for end in s go; do tail -n +2 internal/vec/$${kind}_amd64.$$end | diff -q - <(tail -n +2 build/vec/$$kind.$$end) >/dev/null || \
			{ echo "internal/vec/$${kind}_amd64.$$end differs from the output of internal/vec/gen: run make vec"; exit 1; }; done || exit 1; done
	$(call where,clang-19,vec-clang-check)
	@rm -rf build/vec # what agrees is of no use, and tests of the house would read it

vec-clang-check: # another version of clang may write other instructions
	cd internal/vec/gen && go test ./clang
	@rm -rf build/vec/clang && mkdir -p build/vec/clang && cd internal/vec/gen && go run ./clang -out $(CURDIR)/build/vec/clang
	@cd internal/vec && for file in $(CURDIR)/build/vec/clang/*; do name=$$(basename $$file); \
		diff -q $$name $$file >/dev/null || { echo "internal/vec/$$name differs from what clang-19 compiles from internal/vec/gen: run make vec-clang"; exit 1; }; done

emulated: # run tests and training under qemu-user: AVX2 only, no AVX2, arm64
	go test -tags emulated -count=1 -v -timeout 40m -run 'TestEmulated|TestLimited' ./cmd/hogwild | grep --line-buffered -v '^=== '; exit $${PIPESTATUS[0]}

fuzz: ## run each fuzz target for FUZZTIME=10m, JOBS at once; TARGETS=REGEXP limits them
	@FUZZTIME=$(FUZZTIME) JOBS=$(JOBS) TARGETS='$(TARGETS)' internal/check/fuzz.sh

noasm: $(RERUN) # the loops in plain Go
	$(call gotest,./internal/vec ./hogwild/model,-vet=off -short -tags noasm)

race: $(RERUN) ## run the tests of packages in which goroutines meet under the race detector
	CGO_ENABLED=1 $(call gotest,$(RACE),$(AT_ONCE) -race -short -skip '^TestPython$$')
	CGO_ENABLED=1 $(call gotest,./hogwild/run ./hogwild/programs ./hogwild/ability,$(AT_ONCE) -race -short -run '$(RACE_RUNS)')

# Fifty kills take half a minute: they are for CI, and for go test without -short.
test-cuda: $(RERUN) build fake cuda # run the GPU tests on the stand-in driver
	$(GO_CUDA) vet -tags cuda ./cuda ./cmd/hogwild
	$(MAKE) $(FAKE) test
	@rm -f build/calls.jsonl build/turns.jsonl
	$(WITH_FAKE) HOGWILD_FAKE_TRACE=$(CURDIR)/build/calls.jsonl $(CUDA_ENV) $(call gotest,./cuda,-count=1 -tags cuda $(if $(filter true,$(CI))$(LONG),,-short))
	$(WITH_FAKE) HOGWILD_FAKE_TURNS=$(CURDIR)/build/turns.jsonl HOGWILD_FAKE_TRACE=$(CURDIR)/build/calls.jsonl $(CUDA_ENV) \
		$(call gotest,./cuda,-count=1 -tags cuda -run '$(IN_TURNS)')
	$(WITH_FAKE) HOGWILD_BIN=$(CURDIR)/bin $(CUDA_ENV) $(call gotest,./cmd/hogwild,-count=1 -tags cuda -run GPU)
	$(WITH_FAKE) HOGWILD_BIN=$(CURDIR)/bin $(call gotest,./internal/chaos,-count=1 -run GPU)
	$(WITH_FAKE) $(call gotest,./bench,-count=1 -run TestRivals/kernel)

test-mpi: $(RERUN) build # run tests of training on several nodes with each MPI library here: Open MPI, MPICH, or that of MPICC
	@rm -rf build/mpi
	@for name in $(or $(MPI_LIBRARIES),default); do mkdir -p build/mpi/$$name && \
		$(if $(MPI_LIBRARIES),mpicc.$$name,$(MPICC)) $(MPI_FLAGS) -Werror -o build/mpi/$$name/hogwild-mpi hogwild/nodes/mpi/hogwild-mpi.c || exit 1; done
	HOGWILD_TEST_MPI=$(CURDIR)/build/mpi HOGWILD_BIN=$(CURDIR)/bin $(call gotest,./hogwild/nodes ./cmd/hogwild,-count=1 -run MPI)

test-asan: cuda # run the stand-in driver under AddressSanitizer; part of CI
	$(MAKE) $(FAKE) test SANITIZE=address
	for mode in async sync; do rm -rf build/asan-$$mode && \
		LD_PRELOAD=$$(g++ -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 \
		LD_LIBRARY_PATH=$(CURDIR)/bin/fake-address HOGWILD_FAKE_CHECKS=all \
		bin/hogwild-cuda train --gpu 0 --mode $$mode --model mlp:32 --data digits:500 --workers 2 --epochs 1 \
			--max-restarts 0 --run build/asan-$$mode --quiet || exit 1; done

ptx-check: # check cuda/ptx against clang-19, and cuda/cubin and its SASS against ptxas
	$(MAKE) -C cuda/kernels check

cubin-check: # check cuda/cubin alone: half a minute; downloads 40 MB the first time
	$(MAKE) -C cuda/kernels cubin-check

sass-table: build cuda fake # update docs/results/kernels.md: instruction counts and sizes of the kernels' machine code
	python3 -B cuda/kernels/table.py

arm64-table: # update docs/results/arm64.md: instruction counts of the arm64 inner loops, and llvm-mca-19's model of them (Debian: llvm-19)
	cd internal/vec/gen && go run ./clang -table $(CURDIR)/docs/results/arm64.md

gpu-bundle: cuda # build build/gpu-bundle: run.sh checks and benchmarks hogwild on another machine's GPU
	bench/bundle/make.sh

gpu-check: gpu-bundle # run the bundle here: on the GPU, or a quick version on the stand-in driver
	@if command -v nvidia-smi >/dev/null; then build/gpu-bundle/run.sh build/gpu-check; \
	else $(MAKE) $(FAKE) && QUICK=1 $(WITH_FAKE) build/gpu-bundle/run.sh build/gpu-check; fi

chaos: # hurt runs at every fault point, and at random: CHAOS=1000 events; CHAOS_SEED=N repeats their order
	CHAOS=$(or $(CHAOS),1000) go test -count=1 -v -timeout 4h -run 'TestFaultPoints|TestChaos' ./internal/chaos

mpijob-check: # check examples/mpijob.yaml with the types and rules of Kubeflow's MPI operator
	@cd examples/kubeflow && if go list -deps -test ./... >/dev/null 2>&1; then go test ./...; \
		else echo "skipped: make mpijob-check needs Go modules that cannot be downloaded"; fi

axes: # add a made-up mode, family of models and kind of data, in a copy, and train with them
	@.ci/axes

rooms: # take each ability that is a package away, in a copy, and build what is left
	@.ci/rooms

same: build # compare what this program does with that of a commit, to the bit: OLD=COMMIT
	@test -n "$(OLD)" || { echo "make same OLD=COMMIT"; exit 1; }
	@rm -rf build/same && git clone --quiet --no-checkout . build/same && git -C build/same checkout --quiet $(OLD)
	@$(MAKE) --no-print-directory -C build/same build
	python3 -B bench/same/same.py build/same/bin/hogwild bin/hogwild

clean: ## remove bin, build and dist (runs stay)
	rm -rf bin build dist

help: ## list the targets that people type; the Makefile has those of CI and of releases
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
