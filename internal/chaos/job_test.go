package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hogwild/hogwild/rundir"
)

// rows of the set that counts: workers and steps of a round divide it.
const rows = 3840

// rate is the learning rate on it.
const rate = 0.01

// job is a run's settings.
type job struct {
	flags   []string
	mode    string
	workers int
	epochs  int
	delay   string  // of each call that trains: "5ms"
	counts  bool    // it trains on the set that counts
	every   bool    // each epoch is saved
	want    float64 // accuracy that an undisturbed run reaches
}

// countingJob trains a logistic model of a weight for each row: see count.
func countingJob(mode string, workers, epochs int, flags ...string) job {
	j := job{mode: mode, workers: workers, epochs: epochs, counts: true, every: true, want: 1}
	j.flags = append([]string{"--model", "logistic", "--no-bias", "--center", "off", "--scale", "none",
		"--lr", fmt.Sprint(rate), "--lr-cap", "off", "--average-lr", "same", "--batch", "1"}, flags...)
	if mode == "async" && !slices.Contains(flags, "--gpu") {
		j.flags = append(j.flags, "--merge-every", "1") // a merge of the weights of others may overwrite one of theirs
	}
	return j
}

// digitsJob trains on digits, in merged copies where the mode has them.
func digitsJob(mode string, workers, epochs int, flags ...string) job {
	return job{mode: mode, workers: workers, epochs: epochs, every: true,
		flags: append([]string{"--data", "digits:3000", "--lr", "0.1", "--batch", "4"}, flags...)}
}

func (j *job) String() string {
	return fmt.Sprintf("%s, %d workers, %d epochs, %s", j.mode, j.workers, j.epochs, strings.Join(j.flags, " "))
}

// examples returns how many examples an epoch has.
func (j *job) examples() int {
	if j.counts {
		return rows
	}
	return 3000
}

// arguments are the command line of a new run; data is the set that counts.
func (j *job) arguments(folder, data string) []string {
	all := append([]string{"train", "--run", folder, "--mode", j.mode, "--workers", strconv.Itoa(j.workers), "--epochs",
		strconv.Itoa(j.epochs),
		"--max-restarts", "1000"}, j.flags...)
	if !slices.Contains(j.flags, "--save-every") {
		all = append(all, "--save-every", "1")
	}
	if j.counts {
		all = append(all, "--data", data, "--test", filepath.Join(filepath.Dir(data), testedFile))
	}
	return all
}

// testedFile has the rows that count in another order: a test set with the training rows is refused.
const testedFile = "tested.svm"

// writeCounts writes a set whose i-th row has the i-th feature alone, and the testedFile next to it.
func writeCounts(t *testing.T) string {
	t.Helper()
	var lines []string
	for i := range rows {
		lines = append(lines, fmt.Sprintf("%+d %d:1\n", 1-2*(i%3/2), i+1))
	}
	dir := t.TempDir()
	for _, name := range []string{"counts.svm", testedFile} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Join(lines, "")), 0o666); err != nil {
			t.Fatal(err)
		}
		slices.Reverse(lines)
	}
	return filepath.Join(dir, "counts.svm")
}

// undisturbed trains the job without faults, and notes the accuracy.
func (j *job) undisturbed(t *testing.T) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "run")
	if out, err := exec.Command(program, append(j.arguments(folder, ""), "--quiet")...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", j, err, out)
	}
	r, err := rundir.ReadRun(folder)
	if err != nil {
		t.Fatal(err)
	}
	j.want = *r.Result.TestAccuracy
}
