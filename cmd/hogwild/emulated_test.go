//go:build emulated

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/cpu"

	"hogwild/hogwild/rundir"
	"hogwild/internal/self"
	"hogwild/internal/vec"
)

// platform is a kind of processor on which tests and the program run.
type platform struct {
	name     string
	arch     string // GOARCH
	emulator string // the command line of qemu-user; "" for the processor at hand
	cpu      string // the instruction set that reports must name
}

// Without what follows it Haswell makes qemu warn that it lacks these.
const haswell = "qemu-x86_64 -cpu Haswell,-pcid,-x2apic,-tsc-deadline,-hle,-invpcid,-rtm"

var platforms = []platform{
	{"haswell", "amd64", haswell, "avx2"},
	{"nehalem", "amd64", "qemu-x86_64 -cpu Nehalem", "go"},
	{"arm64", "arm64", "qemu-aarch64 -cpu neoverse-n1", "neon"},
	{"arm64 with pages of 64 KiB", "arm64", "qemu-aarch64 -cpu neoverse-n1 -p 65536", "neon"},
}

// families are runs of one kind of model each. spread is the relative standard deviation
// of the test loss among eight seeds, of runs with two workers in async mode. Runs with the
// same seed, which differ by chance, deviate from each other by a fourth of it or less.
var families = []struct {
	name, flags string
	spread      float64
}{
	{"softmax", "--model=softmax --data=digits:1000 --epochs=3 --lr=0.1", 0.036},
	{"mlp", "--model=mlp:32 --data=digits:1000 --epochs=3 --lr=0.1 --batch=16", 0.062},
	{"convnet", "--model=conv:4@5p2,16d --data=digits:600 --epochs=2 --lr=0.05 --batch=8", 0.12},
	{"logistic", "--model=logistic --data=synth:sparse:3000x500x20 --epochs=2 --lr=0.1", 0.028},
	{"factor", "--model=factor:8 --data=synth:lowrank:300x300x20000x4 --epochs=3 --lr=0.05", 0.11},
}

// rounding bounds the relative difference of the losses of runs that do the same, in which
// instruction sets add up in other orders. 2e-7 was seen.
const rounding = 1e-5

// TestEmulated runs the tests of the loops, the models and the shared memory on each
// processor, and compares what the program learns there with what it learns on this one.
func TestEmulated(t *testing.T) {
	program := build(t, runtime.GOARCH)
	for _, p := range platforms {
		t.Run(p.name, func(t *testing.T) {
			emulated := build(t, p.arch)
			// TestRegistersInBinary looks at the same binary everywhere. Loops and models know nothing of pages.
			loops := []string{"./internal/vec -short -skip=TestRegistersInBinary", "./hogwild/model -short"}
			if strings.Contains(p.name, "pages") {
				loops = nil
			}
			for _, args := range append(loops, "./shm", "./hogwild/data -run=SameEverywhere") {
				p.test(t, args)
			}
			for _, f := range families {
				for _, mode := range []string{"--workers=1", "--workers=2 --mode=sync", "--workers=2"} {
					bound := rounding
					if mode == "--workers=2" {
						bound = f.spread
					}
					t.Run(f.name+" "+mode, func(t *testing.T) {
						t.Parallel()
						flags := f.flags + " " + mode
						want, got := platform{}.train(t, program, flags), p.train(t, emulated, flags)
						if r := got.TestLoss/want.TestLoss - 1; !(math.Abs(r) <= bound) {
							t.Errorf("test loss %v, here %v: they differ by %.1e, at most %.0e is expected",
								got.TestLoss, want.TestLoss, r, bound)
						}
						if got.CPU != p.cpu {
							t.Errorf("it ran on %s, want %s", got.CPU, p.cpu)
						}
					})
				}
			}
		})
	}
	// Workers are killed, in modes in which others wait for them. TestKilledWorkers, in which
	// eight start again and again, takes longer than its patience on a busy emulator.
	platforms[2].test(t, "./hogwild/run -short -run=TestWorkerOverItsLimit/(ordered|sync_weights)")
}

// TestLimited runs the tests of the loops and the models on this processor with fewer
// instruction sets than it has.
func TestLimited(t *testing.T) {
	for _, set := range []string{"avx2", "go"} {
		if set == "avx2" && !cpu.X86.HasAVX2 {
			t.Log("skipped: avx2, which this processor lacks")
			continue
		}
		t.Setenv(vec.CPUVariable, set)
		for _, folder := range []string{"./internal/vec", "./hogwild/model"} {
			platform{arch: runtime.GOARCH}.test(t, folder+" -short") // atLevels has had each set at length
		}
	}
}

// build builds the program for a GOARCH, and returns its path.
func build(t *testing.T, arch string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "hogwild")
	cmd := exec.Command("go", "build", "-o", program, ".")
	cmd.Env = append(os.Environ(), "GOARCH="+arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// test runs go test on the processor, in the root of the tree, as a subtest.
func (p platform) test(t *testing.T, args string) {
	t.Run("go test "+args, func(t *testing.T) {
		line := []string{"test", "-vet=off", "-count=1"}
		if p.emulator != "" {
			line = append(line, "-exec="+p.emulator)
		}
		cmd := exec.Command("go", append(line, strings.Fields(args)...)...)
		cmd.Dir = "../.."
		cmd.Env = append(os.Environ(), "GOARCH="+p.arch, self.Emulator+"="+p.emulator)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v:\n%s", err, out)
		}
	})
}

// train runs hogwild train on the processor.
func (p platform) train(t *testing.T, program, flags string) (r rundir.Result) {
	t.Helper()
	dir := t.TempDir()
	line := append(strings.Fields(p.emulator), program, "train", "--json", "--quiet")
	line = append(line, strings.Fields(flags)...)
	for try := 1; ; try++ {
		cmd := exec.Command(line[0], append(line[1:], fmt.Sprintf("--run=%s/run%d", dir, try))...)
		cmd.Env = append(os.Environ(), self.Emulator+"="+p.emulator, "XDG_CACHE_HOME="+dir)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		var said strings.Builder
		cmd.Stderr = &said
		stuck := false
		watch := time.AfterFunc(2*time.Minute, func() {
			if stuck = unborn(cmd.Process.Pid); stuck {
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			}
		})
		out, err := cmd.Output()
		watch.Stop()
		if stuck && try < 3 {
			t.Logf("try %d: the emulator hangs between fork and exec", try)
			continue
		}
		if err != nil || said.String() != "" {
			t.Fatalf("%q: %v: %s", line, err, &said)
		}
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		return r
	}
}

// unborn reports whether a process has a child that has forked and not become a worker: qemu-user's child
// can wait for ever for a lock that another thread of its parent held.
func unborn(pid int) bool {
	out, _ := exec.Command("pgrep", "-P", strconv.Itoa(pid)).Output()
	for _, child := range strings.Fields(string(out)) {
		environ, err := os.ReadFile("/proc/" + child + "/environ")
		if err == nil && !strings.Contains(string(environ), "HOGWILD_RANK=") {
			return true
		}
	}
	return false
}
