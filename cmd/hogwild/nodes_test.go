package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/nodes"
	"hogwild/internal/check"
)

// mpiJob is hogwild train on several nodes.
type mpiJob struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
	mark           string // a variable in the environment of all its processes
	ended          chan error
}

// mpiLibraries names the libraries that make test-mpi has built hogwild-mpi with.
func mpiLibraries(t *testing.T) (names []string) {
	helpers, _ := filepath.Glob(filepath.Join(os.Getenv("HOGWILD_TEST_MPI"), "*", "hogwild-mpi"))
	if os.Getenv("HOGWILD_TEST_MPI") == "" || len(helpers) == 0 {
		t.Skip("make test-mpi runs this test")
	}
	for _, path := range helpers {
		names = append(names, filepath.Base(filepath.Dir(path)))
	}
	return names
}

// mpirunOf returns the launcher of an MPI library.
func mpirunOf(library string) string {
	mpirun, err := exec.LookPath("mpirun." + library)
	if err != nil {
		return "mpirun"
	}
	return mpirun
}

// mpiEnvironment returns the environment of a job whose ranks have the helper of a library.
func mpiEnvironment(helper string) []string {
	return append(os.Environ(), nodes.HelperVariable+"="+filepath.Join(os.Getenv("HOGWILD_TEST_MPI"), helper,
		"hogwild-mpi"),
		// For Open MPI 4 and 5: more ranks than cores, anywhere, none bound.
		"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1",
		"OMPI_MCA_hwloc_base_binding_policy=none",
		"PRTE_ALLOW_RUN_AS_ROOT=1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		"PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe", "PRTE_MCA_hwloc_default_binding_policy=none")
}

// trainOn starts training on n nodes of this host, with the launcher of one MPI library and the helper of another.
func trainOn(t *testing.T, launcher, helper string, n int, arguments ...string) *mpiJob {
	t.Helper()
	program := filepath.Join(os.Getenv("HOGWILD_BIN"), "hogwild")
	j := &mpiJob{ended: make(chan error, 1),
		mark: fmt.Sprintf("HOGWILD_TEST_JOB=%d.%d", os.Getpid(), time.Now().UnixNano())}
	j.Cmd = exec.Command(mpirunOf(launcher),
		slices.Concat([]string{"-n", fmt.Sprint(n), program, "train", "--json", "--workers", "1"}, arguments)...)
	j.Env = append(mpiEnvironment(helper), j.mark)
	j.Stdout, j.Stderr, j.WaitDelay = &j.stdout, &j.stderr, 2*time.Second
	if err := j.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { j.ended <- j.Wait() }()
	t.Cleanup(func() {
		for _, p := range j.processes() {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		if t.Failed() {
			said := j.stderr.String()
			t.Logf("%v\n%s...%s", j.Args, &j.stdout, said[max(0, len(said)-2000):])
		}
	})
	return j
}

// mpiProcess is a process of a job.
type mpiProcess struct {
	pid, rank int
	kind      string // launcher, coordinator, worker, helper
}

// processes returns the job's processes that live.
func (j *mpiJob) processes() (all []mpiProcess) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		environment, _ := os.ReadFile(folder + "/environ") // of a zombie: empty
		variables := strings.Split(string(environment), "\x00")
		if !slices.Contains(variables, j.mark) {
			continue
		}
		p := mpiProcess{rank: -1, kind: "launcher"}
		p.pid, _ = strconv.Atoi(filepath.Base(folder))
		for _, v := range variables {
			name, value, _ := strings.Cut(v, "=")
			if name == "OMPI_COMM_WORLD_RANK" || name == "PMI_RANK" {
				p.rank, _ = strconv.Atoi(value)
			}
		}
		line, _ := os.ReadFile(folder + "/cmdline")
		arguments := strings.Split(string(line), "\x00")
		switch program := filepath.Base(arguments[0]); {
		case program == "hogwild-mpi":
			p.kind = "helper"
		case program == "hogwild" && arguments[1] == "worker":
			p.kind = "worker"
		case program == "hogwild":
			p.kind = "coordinator"
		}
		all = append(all, p)
	}
	return all
}

// until waits for something, for as long as a slow machine may need.
func (j *mpiJob) until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a minute: %s", what)
		}
	}
}

// finish waits for the end of all processes, and returns the report.
func (j *mpiJob) finish(t *testing.T) (report struct {
	Epochs, Examples, Restarts int
	Stopped                    string
	TestLoss                   float64 `json:"test_loss"`
}) {
	t.Helper()
	j.until(t, "the job has not ended", func() bool { return len(j.processes()) == 0 })
	<-j.ended                                     // ProcessState says how
	_ = json.Unmarshal(j.stdout.Bytes(), &report) // of a job that was killed there is none
	return report
}

// epochsOf counts the epochs that a run folder has on record.
func epochsOf(folder string) int {
	lines, _ := os.ReadFile(filepath.Join(folder, "metrics.jsonl"))
	return bytes.Count(lines, []byte(`"kind":"epoch"`))
}

// TestMPITrains: three nodes reach the loss of one machine, or a lower one, in as many epochs. That and its standard
// deviation are of eight runs with two workers and the seeds 1 to 8.
func TestMPITrains(t *testing.T) {
	for _, library := range mpiLibraries(t) {
		for _, c := range []struct {
			data, model, epochs string
			loss, deviation     float64
		}{
			{"digits:10000", "softmax", "3", 0.480, 0.016},
			{"digits:10000", "mlp:64", "3", 0.318, 0.014},
			{"a9a", "logistic", "2", 0.327, 0.003},
		} {
			t.Run(library+" "+c.model, func(t *testing.T) {
				if c.data == "a9a" {
					c.data = filepath.Join(check.Data(t, "a9a"), "a9a")
				}
				j := trainOn(t, library, library, 3, "--data", c.data, "--model", c.model, "--epochs",
					c.epochs, "--seed", "2")
				report := j.finish(t)
				off := (report.TestLoss - c.loss) / c.deviation
				t.Logf("test loss %.4f, %+.1f standard deviations from one machine's", report.TestLoss, off)
				if !j.ProcessState.Success() || !(off < 3) {
					t.Errorf("%v", j.ProcessState)
				}
			})
		}
	}
}

// TestMPIRequeue: whatever ends a job, nothing of it is left, and the same command continues it on any number of nodes.
func TestMPIRequeue(t *testing.T) {
	for _, library := range mpiLibraries(t) {
		for again, victim := range []string{1: "launcher", "helper", "coordinator", "nobody"} {
			if victim == "" {
				continue
			}
			t.Run(library+" "+victim, func(t *testing.T) {
				folder := filepath.Join(t.TempDir(), "run")
				settings := []string{"--data", "digits:20000", "--resume", folder, "--run", folder}
				j := trainOn(t, library, library, 3, append(settings, "--epochs", "1000000")...)
				j.until(t, "no epoch has ended", func() bool { return epochsOf(folder) > 1 })
				j.hurt(t, victim)
				j.finish(t)
				if j.ProcessState.Success() {
					t.Error("it ended with status 0")
				}
				done := epochsOf(folder)
				next := trainOn(t, library, library, again, append(settings, "--epochs", fmt.Sprint(done+2))...)
				if report := next.finish(t); !next.ProcessState.Success() || report.Epochs != done+2 ||
					report.Examples != 20000*(done+2) {
					t.Errorf("continued on %d nodes: %v, %+v, after %d epochs", again, next.ProcessState, report, done)
				}
			})
		}
	}
}

// hurt kills a process of node 1, or the launcher; without a victim it asks the launcher to end the job.
func (j *mpiJob) hurt(t *testing.T, victim string) {
	t.Helper()
	pid, signal := j.Process.Pid, syscall.SIGKILL
	if victim == "nobody" {
		signal = syscall.SIGINT
	}
	for _, p := range j.processes() {
		if p.kind == victim && p.rank == 1 {
			pid = p.pid
		}
	}
	if err := syscall.Kill(pid, signal); err != nil {
		t.Fatal(err)
	}
}

// TestMPIInterrupt: Ctrl-C within an epoch saves the last round. Launchers leave a second for it.
func TestMPIInterrupt(t *testing.T) {
	for _, library := range mpiLibraries(t) {
		folder := filepath.Join(t.TempDir(), "run")
		j := trainOn(t, library, library, 3, "--data", "digits:60000", "--model", "convnet", "--epochs", "100",
			"--run", folder)
		j.until(t, "no second has passed", func() bool {
			lines, _ := os.ReadFile(filepath.Join(folder, "metrics.jsonl"))
			return bytes.Contains(lines, []byte(`"kind":"second"`))
		})
		j.hurt(t, "nobody")
		j.finish(t)
		if _, err := os.Stat(filepath.Join(folder, "snapshot.safetensors")); err != nil || j.ProcessState.Success() {
			t.Errorf("%s: %v after %d epochs, %v", library, j.ProcessState, epochsOf(folder), err)
		}
	}
}

// TestMPISilent: node 0 names the node that has stopped, before the launcher ends it because another node has ended.
func TestMPISilent(t *testing.T) {
	for _, library := range mpiLibraries(t) {
		folder := filepath.Join(t.TempDir(), "run")
		j := trainOn(t, library, library, 3, "--data", "digits:2000", "--epochs", "10000000", "--node-timeout", "6s",
			"--run", folder)
		j.until(t, "no epoch has ended", func() bool { return epochsOf(folder) > 1 })
		for _, p := range j.processes() {
			if p.kind == "helper" && p.rank == 1 {
				_ = syscall.Kill(p.pid, syscall.SIGSTOP)
			}
		}
		if j.finish(t); !strings.Contains(j.stderr.String(), "node 0 of 3") ||
			!strings.Contains(j.stderr.String(), "nothing came from node 1 (") {
			t.Errorf("%s: %v", library, j.ProcessState)
		}
	}
}

// TestMPIWorker: the death of a worker concerns its own node only.
func TestMPIWorker(t *testing.T) {
	for _, library := range mpiLibraries(t) {
		folder := filepath.Join(t.TempDir(), "run")
		j := trainOn(t, library, library, 3, "--data", "digits:20000", "--model", "mlp:64", "--epochs", "12",
			"--run", folder)
		j.until(t, "no epoch has ended", func() bool { return epochsOf(folder) > 1 })
		j.hurt(t, "worker")
		if report := j.finish(t); !j.ProcessState.Success() || report.Epochs != 12 ||
			!strings.Contains(j.stderr.String(), "restarted") {
			t.Errorf("%s: %v, %+v", library, j.ProcessState, report)
		}
	}
}

// TestMPIWrongLauncher: one error says which two libraries there are.
func TestMPIWrongLauncher(t *testing.T) {
	all := mpiLibraries(t)
	if len(all) < 2 {
		t.Skip("there is one MPI library")
	}
	for i, launcher := range all {
		j := trainOn(t, launcher, all[1-i], 3, "--data", "digits:500")
		j.finish(t)
		if n := strings.Count(j.stderr.String(), nodes.ErrLauncher.Error()); j.ProcessState.Success() || n != 1 {
			t.Errorf("%s with the helper of %s: %v, the error is there %d times", launcher, all[1-i], j.ProcessState, n)
		}
	}
}

// TestMPIBench: a launcher starts the cases of several nodes and not of one, and a mistake ends all.
func TestMPIBench(t *testing.T) {
	for _, library := range mpiLibraries(t) {
		bench := func(model, nodes string) (string, error) {
			cmd := exec.Command(filepath.Join(os.Getenv("HOGWILD_BIN"), "hogwild"), "bench", "--data", "digits:2000",
				"--model", model, "--epochs", "2", "--workers", "1",
				"--nodes", nodes, "--rounds", "2", "--repeat", "1", "--same-lr", "--launcher",
				mpirunOf(library)+" -n {nodes}", "--out", filepath.Join(t.TempDir(), "out"))
			cmd.Env = mpiEnvironment(library)
			text, err := cmd.CombinedOutput()
			return string(text), err
		}
		text, err := bench("softmax", "1,2")
		if err != nil || strings.Contains(text, "failed") || !strings.Contains(text, "MPI") ||
			!strings.Contains(text, "30.7 KiB") {
			t.Errorf("%s: %v\n%s", library, err, text)
		}
		if text, err := bench("factor:8", "2"); err == nil ||
			!strings.Contains(text, "(case async-1,nodes=2,rounds=2)") ||
			!strings.Contains(text, "has rows with labels") {
			t.Errorf("%s: a model that the data cannot have: %v\n%s", library, err, text)
		}
	}
}
