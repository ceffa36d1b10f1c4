# The tests and builds of hogwild. Go, gcc and make are all that is needed, and gcc
# only for the race detector.

export CGO_ENABLED = 0

# The packages in which several goroutines meet.
RACE = ./shm ./hogwild/...

.PHONY: build test check race bench-go clean help

build: ## bin/hogwild
	go build -trimpath -o bin/hogwild ./cmd/hogwild

test: check ## every test: gofmt, go vet, go test, and the race detector where there is gcc
	go test ./...
	@$(MAKE) --no-print-directory race

check: ## gofmt and go vet
	@files=$$(gofmt -l .); test -z "$$files" || { echo "not in gofmt's form (gofmt -w mends it):" $$files; exit 1; }
	go vet ./...

race: ## the tests of shm and hogwild under the race detector
	@if command -v gcc >/dev/null; then \
		echo "go test -race -short $(RACE)"; CGO_ENABLED=1 go test -race -short $(RACE); \
	else \
		echo "skipped: go test -race, which needs gcc"; \
	fi

bench-go: ## the Go benchmarks of loops, models and barriers
	go test -run '^$$' -bench . ./internal/... ./shm ./hogwild/...

clean: ## remove bin and build (runs stay)
	rm -rf bin build

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
