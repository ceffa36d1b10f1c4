package run

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
	"hogwild/internal/vec"
)

// faultVariable has the check in a child process find one loop wrong and be ended by another:
// "dot wrong,merge trap". TestMain obeys it.
const faultVariable = "HOGWILD_TEST_FAULTS"

// spoilChecks is faultVariable's effect.
func spoilChecks(text string) {
	right := checkLoop
	checkLoop = func(l vec.Loop) error {
		for fault := range strings.SplitSeq(text, ",") {
			switch name, how, _ := strings.Cut(fault, " "); {
			case name != l.String():
			case how == "wrong":
				return errors.New("number 3 is 1, plain Go has 2")
			default: // as an instruction that the processor lacks
				_ = syscall.Kill(os.Getpid(), syscall.SIGILL)
				select {}
			}
		}
		return right(l)
	}
}

// cached has a test's findings in a folder of its own, and forgets them afterwards.
func cached(t *testing.T, faults string) (folder string) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv(faultVariable, faults)
	t.Cleanup(func() { _ = vec.SwitchOff() })
	return filepath.Join(os.Getenv("XDG_CACHE_HOME"), "hogwild")
}

// TestVerifyLoops: loops that are wrong, or end the process, are found, switched off, kept in
// the cache folder and not looked for again until they are asked for.
func TestVerifyLoops(t *testing.T) {
	if vec.BestSet() == vec.Plain {
		t.Skip("there is no assembly for this processor")
	}
	folder := cached(t, "dot wrong,merge trap,widen trap")
	faulty := verifyLoops(false)
	if got := slices.Sorted(maps.Keys(faulty)); !slices.Equal(got, []string{"dot", "merge", "widen"}) {
		t.Fatalf("faulty: %v", faulty)
	}
	if !strings.Contains(faulty["merge"], "SIGILL") || !strings.Contains(faulty["dot"], "plain Go has 2") {
		t.Errorf("faulty: %v", faulty)
	}
	if got := vec.Off(); !slices.Equal(got, []string{"dot", "merge", "widen"}) {
		t.Errorf("switched off: %v", got)
	}
	files, _ := filepath.Glob(filepath.Join(folder, "*"))
	if len(files) != 1 || !strings.HasPrefix(filepath.Base(files[0]), "loops-") {
		t.Fatalf("cache: %v", files)
	}

	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{rundir.ThisMachine().CPU, vec.BestSet().String(), config.Version, rundir.Commit()} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the cache does not say %q: %s", part, text)
		}
	}

	_ = vec.SwitchOff()
	t.Setenv(faultVariable, "")
	if faulty := verifyLoops(false); len(faulty) != 3 || len(vec.Off()) != 3 {
		t.Errorf("from the cache: %v, off %v", faulty, vec.Off())
	}
	_ = vec.SwitchOff()
	if faulty := verifyLoops(true); len(faulty) != 0 || len(vec.Off()) != 0 {
		t.Errorf("checked again: %v, off %v", faulty, vec.Off())
	}
	if err := os.WriteFile(files[0], []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if faulty := verifyLoops(false); len(faulty) != 0 {
		t.Errorf("a cache that cannot be read: %v", faulty)
	}
}

// TestVerifyLoopsWithoutCache: each run checks again where nothing can be kept.
func TestVerifyLoopsWithoutCache(t *testing.T) {
	if vec.BestSet() == vec.Plain {
		t.Skip("there is no assembly for this processor")
	}
	cached(t, "dot wrong")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{file, file + "/below", "/proc/self", "not/absolute", ""} {
		t.Setenv("XDG_CACHE_HOME", folder)
		t.Setenv("HOME", "")
		_ = vec.SwitchOff()
		for range 2 {
			if faulty := verifyLoops(false); len(faulty) != 1 || !slices.Equal(vec.Off(), []string{"dot"}) {
				t.Errorf("cache folder %q: %v, off %v", folder, faulty, vec.Off())
			}
		}
	}
}

// TestVerifyLoopsOfOtherBuild: what another build or processor has found does not count.
func TestVerifyLoopsOfOtherBuild(t *testing.T) {
	if vec.BestSet() == vec.Plain {
		t.Skip("there is no assembly for this processor")
	}
	for _, edit := range []func(*loopFindings){
		func(f *loopFindings) { f.Program = "0.0.1, " + f.Program },
		func(f *loopFindings) { f.CPU = "another processor" },
		func(f *loopFindings) { f.Set = "avx2, but a little" },
	} {
		folder := cached(t, "dot wrong")
		verifyLoops(false)
		files, _ := filepath.Glob(filepath.Join(folder, "*"))
		if len(files) != 1 {
			t.Fatalf("cache: %v", files)
		}
		f, _ := readFindings(files[0])
		edit(&f)
		f.write(files[0])
		_ = vec.SwitchOff()
		t.Setenv(faultVariable, "")
		if faulty := verifyLoops(false); len(faulty) != 0 || len(vec.Off()) != 0 {
			t.Errorf("%v, off %v", faulty, vec.Off())
		}
	}
}

// TestTrainsWithoutFaultyLoops: a run whose loops end the process goes on without them, says
// so, and comes to what a run in plain Go comes to.
func TestTrainsWithoutFaultyLoops(t *testing.T) {
	if vec.BestSet() == vec.Plain {
		t.Skip("there is no assembly for this processor")
	}
	cached(t, "gemm trap,expsum wrong")
	faulty := verifyLoops(false)
	was := verified
	verified = func() map[string]string { return faulty }
	defer func() { verified = was }()
	c := quick(t)
	c.Workers, c.Epochs, c.Model = 1, 2, "mlp:16"
	got := train(t, c)
	if !strings.Contains(got.CPU, "but expsum and gemm in plain Go") {
		t.Errorf("cpu: %s", got.CPU)
	}
	if len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "expsum (number 3 is 1, plain Go has 2), gemm (SIGILL") {
		t.Errorf("notes: %q", got.Notes)
	}
	_ = vec.SwitchOff()
	verified = func() map[string]string { return nil }
	c.Run = t.TempDir()
	want := train(t, c)
	if d := got.TestLoss - want.TestLoss; d > 1e-4 || d < -1e-4 || len(want.Notes) != 0 {
		t.Errorf("test loss %v, with all loops %v; notes %q", got.TestLoss, want.TestLoss, want.Notes)
	}
}

// TestRunWithoutAsking: a program whose workers would begin a run each is told so, and its
// loops are not checked in a child that would do what the program does.
func TestRunWithoutAsking(t *testing.T) {
	refuses := func() {
		t.Helper()
		if _, err := Run(t.Context(), quick(t), Options{}); err == nil || !strings.Contains(err.Error(), "call hogwild.IsWorker first") {
			t.Errorf("%v", err)
		}
		if found := verifyLoops(true); found != nil {
			t.Errorf("it checked its loops, and found %v", found)
		}
	}
	for _, name := range []string{rankVariable, checkVariable} {
		t.Setenv(name, "1")
		refuses()
		os.Unsetenv(name)
	}
	asked.Store(false)
	defer asked.Store(true)
	refuses()
}
