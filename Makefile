# The builds and tests of hogwild. Go and make are enough for the program on a CPU; gcc
# is for the race detector and the build for GPUs, g++ for the stand-in driver, and
# clang-19 for the kernels and the loops of arm64, which are committed as it compiled them.

export CGO_ENABLED = 0

# cli's writer of manual pages brings a renderer of Markdown, which every worker would set
# up when it starts; hogwild man has a writer of its own.
TAGS = urfave_cli_no_docs

# The packages in which several goroutines meet.
RACE = ./shm ./hogwild/... ./bench/live

# What the build with CUDA sees of CUDA: headers, and a libcuda to link against that
# has all names and no code. Symbols are bound when they are first called (lazy), so
# that an older driver, or the stand-in, may lack some.
HEADERS = build/cuda/include/cuda.h
STUB = build/cuda/stub/libcuda.so
GO_CUDA = CGO_ENABLED=1 CGO_CFLAGS='-O2 -Wno-deprecated-declarations -I$(CURDIR)/build/cuda/include' \
	CGO_LDFLAGS='-L$(CURDIR)/build/cuda/stub -lcuda -Wl,-z,lazy -Wl,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2' go

# The stand-in driver, and what runs with it in the place of the real one, all its
# checks switched on.
FAKE = -j$$(nproc) -C cuda/fake CUDA_INCLUDE=$(CURDIR)/build/cuda/include
WITH_FAKE = LD_LIBRARY_PATH=$(CURDIR)/bin/fake HOGWILD_FAKE_CHECKS=all

# $(call where,THINGS,TARGET) makes the target where there are the programs and files;
# elsewhere it says in one line which are missing, and fails if CI is true.
where = @missing=; for thing in $(1); do command -v $$thing >/dev/null || test -e $$thing || missing="$$missing $$thing"; done; \
	if test -z "$$missing"; then $(MAKE) --no-print-directory $(2); \
	else echo "skipped: make $(2), which needs$$missing"; test "$$CI" != true; fi

# The programs that are compared with hogwild.
RIVALS ?= build/rivals

SHELL = /bin/bash

.PHONY: build cuda dist dist-check man fake vec vec-arm64 ptx cubin test check vec-check vec-arm64-check emulated race test-cuda test-asan ptx-check cubin-check sass-table arm64-table gpu-bundle gpu-check bench-go rivals bench-rivals clean help

build: ## bin/hogwild, for CPUs: static, without CUDA
	go build -trimpath -tags $(TAGS) -o bin/hogwild ./cmd/hogwild

cuda: $(STUB) ## bin/hogwild-cuda, which hogwild --gpu runs; and bin/cuda.test, its tests
	$(GO_CUDA) build -trimpath -tags cuda,$(TAGS) -o bin/hogwild-cuda ./cmd/hogwild
	$(GO_CUDA) test -c -tags cuda -o bin/cuda.test ./cuda

dist: ## dist: static binaries for linux on amd64 and arm64 with their manual page, and SHA256SUMS
	TAGS=$(TAGS) packaging/dist.sh

dist-check: dist # the checksums, and that the programs start
	rm -rf build/dist && mkdir -p build/dist && cd dist && sha256sum --quiet --check SHA256SUMS && for file in *.tar.gz; do tar -C $(CURDIR)/build/dist -xzf $$file || exit 1; done
	qemu-aarch64 build/dist/*-arm64/hogwild version | grep 'loops neon'
	build/dist/*-amd64/hogwild version

man: build ## build/hogwild.1, the manual page; make man && man build/hogwild.1
	@mkdir -p build
	bin/hogwild man >build/hogwild.1

fake: $(HEADERS) ## bin/fake/libcuda.so.1, the stand-in driver that interprets the kernels
	$(MAKE) $(FAKE)

vec: ## internal/vec/*_amd64.s, the fast loops, written by internal/vec/gen
	cd internal/vec && go generate

vec-arm64: ## internal/vec/*_arm64.s, those of arm64: internal/vec/gen/neon as clang-19 compiles it
	cd internal/vec/gen && go run ./arm64 -out ..

ptx: ## cuda/ptx, the kernels compiled by clang-19
	$(MAKE) -C cuda/kernels ptx

cubin: ## cuda/cubin, their machine code: cuda/ptx as NVIDIA's ptxas, from PyPI, assembles it
	$(MAKE) -C cuda/kernels cubin

$(HEADERS): # of CUDA 12: from CUDA_HOME, else from PyPI
	cuda/headers.sh

$(STUB): $(HEADERS)
	cuda/stub.sh

test: check ## every test that this machine has the tools for; it names those that are missing
	go test ./...
	go test -tags noasm ./internal/vec ./hogwild/model
	$(MAKE) vec-check
	$(call where,qemu-x86_64 qemu-aarch64,emulated)
	$(call where,gcc,race)
	@cuda/headers.sh || true
	$(call where,gcc g++ python3 $(HEADERS),test-cuda)
	$(call where,clang-19 pip3,ptx-check)
	$(if $(filter true,$(CI)),$(call where,gcc g++ python3 $(HEADERS),test-asan))
	$(if $(filter true,$(CI)),$(call where,qemu-aarch64,dist-check))

check: ## gofmt and go vet
	@files=$$(gofmt -l .); test -z "$$files" || { echo "not in gofmt's form (gofmt -w mends it):" $$files; exit 1; }
	go vet ./...

vec-check: ## the assembly of internal/vec is what its generator writes
	@mkdir -p build/vec
	@for file in internal/vec/*_amd64.s; do kind=$$(basename $$file _amd64.s); \
		(cd internal/vec/gen && go run . $$kind -out $(CURDIR)/build/vec/$$kind.s -stubs $(CURDIR)/build/vec/$$kind.go -pkg vec) && \
		for end in s go; do tail -n +2 internal/vec/$${kind}_amd64.$$end | diff -q - <(tail -n +2 build/vec/$$kind.$$end) >/dev/null || \
			{ echo "internal/vec/$${kind}_amd64.$$end is not what internal/vec/gen writes: make vec"; exit 1; }; done || exit 1; done
	$(call where,clang-19,vec-arm64-check)

vec-arm64-check: # another version of clang may write other instructions
	cd internal/vec/gen && go test ./arm64
	@rm -rf build/vec/arm64 && mkdir -p build/vec/arm64 && cd internal/vec/gen && go run ./arm64 -out $(CURDIR)/build/vec/arm64
	@cd internal/vec && for file in gen/neon/*.c; do for end in s go; do name=$$(basename $$file .c)_arm64.$$end; \
		diff -q $$name $(CURDIR)/build/vec/arm64/$$name >/dev/null || { echo "internal/vec/$$name is not what clang-19 makes of internal/vec/gen/neon: make vec-arm64"; exit 1; }; done || exit 1; done

emulated: ## tests and runs on other processors, emulated by qemu-user: AVX2 only, neither, arm64
	go test -tags emulated -count=1 -v -timeout 20m -run 'TestEmulated|TestLimited' ./cmd/hogwild | grep --line-buffered -v '^=== '; exit $${PIPESTATUS[0]}

race: ## the tests of shm and hogwild under the race detector
	CGO_ENABLED=1 go test -race -short $(RACE)

# Fifty kills take half a minute: they are for CI, and for go test without -short.
test-cuda: build fake cuda ## the tests of the GPU side, through the stand-in driver
	$(GO_CUDA) vet -tags cuda ./cuda ./cmd/hogwild
	$(MAKE) $(FAKE) test
	@rm -f build/calls.jsonl
	$(WITH_FAKE) HOGWILD_FAKE_TRACE=$(CURDIR)/build/calls.jsonl $(GO_CUDA) test -count=1 -tags cuda $(if $(filter true,$(CI)),,-short) ./cuda
	$(WITH_FAKE) HOGWILD_BIN=$(CURDIR)/bin $(GO_CUDA) test -count=1 -tags cuda -run GPU ./cmd/hogwild

test-asan: cuda ## the stand-in driver, and runs through it, under AddressSanitizer; CI does it
	$(MAKE) $(FAKE) test SANITIZE=address
	for mode in async sync; do rm -rf build/asan-$$mode && \
		LD_PRELOAD=$$(g++ -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 \
		LD_LIBRARY_PATH=$(CURDIR)/bin/fake-address HOGWILD_FAKE_CHECKS=all \
		bin/hogwild-cuda train --gpu 0 --mode $$mode --model mlp:32 --data digits:500 --workers 2 --epochs 1 \
			--max-restarts 0 --run build/asan-$$mode --quiet || exit 1; done

ptx-check: ## cuda/ptx is what clang-19 makes of the kernels; ptxas, the SASS and cuda/cubin agree
	$(MAKE) -C cuda/kernels check

cubin-check: ## of that, cuda/cubin alone: half a minute, and 40 MB the first time
	$(MAKE) -C cuda/kernels cubin-check

sass-table: build cuda fake ## docs/kernels.md: the kernels' machine code, counted through the stand-in, and its size
	python3 -B cuda/kernels/table.py

arm64-table: ## docs/arm64.md: the inner loops of arm64, counted, and as llvm-mca-19 (Debian: llvm-19) models them
	cd internal/vec/gen && go run ./arm64 -table $(CURDIR)/docs/arm64.md

gpu-bundle: build cuda ## build/gpu-bundle: what checks and measures a GPU elsewhere, with run.sh
	bench/bundle/make.sh

gpu-check: gpu-bundle ## runs the bundle here: on the GPU, else quickly through the stand-in
	@if command -v nvidia-smi >/dev/null; then build/gpu-bundle/run.sh build/gpu-check; \
	else $(MAKE) $(FAKE) && QUICK=1 $(WITH_FAKE) build/gpu-bundle/run.sh build/gpu-check; fi

bench-go: ## the Go benchmarks of loops, models and barriers
	go test -run '^$$' -bench . ./internal/... ./shm ./hogwild/...

rivals: build ## PyTorch and others into build/rivals (RIVALS=DIR), with the data in HOGWILD_DATA; 6 GB; with MADE=1 synthetic data too, 4 GB
	@RIVALS=$(abspath $(RIVALS)) bench/rivals/build.sh

bench-rivals: build ## hogwild and its rivals in turns: CASES="mlp128 a9a" (none: a quarter of an hour), ROUNDS=3, GPU=0, OUT=FILE
	@test -x $(RIVALS)/v/bin/python || { echo "there is no $(RIVALS)/v/bin/python: make rivals"; exit 1; }
	@RIVALS=$(abspath $(RIVALS)) $(RIVALS)/v/bin/python bench/rivals/compare.py $(CASES) \
		$(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(GPU),--gpu $(GPU)) $(if $(OUT),--out $(OUT))

clean: ## remove bin, build and dist (runs stay)
	rm -rf bin build dist

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
