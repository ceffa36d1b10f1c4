package nodes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// forMPI runs a test with each MPI library that make test-mpi has built hogwild-mpi with.
func forMPI(t *testing.T, test func(t *testing.T, library string)) {
	for _, library := range libraries(t) {
		t.Run(library, func(t *testing.T) { test(t, library) })
	}
}

// buildsVariable names the folder with hogwild-mpi in a folder for each MPI library.
const buildsVariable = "HOGWILD_TEST_MPI"

func libraries(t *testing.T) (names []string) {
	folders, _ := filepath.Glob(filepath.Join(os.Getenv(buildsVariable), "*", "hogwild-mpi"))
	if os.Getenv(buildsVariable) == "" || len(folders) == 0 {
		t.Skip("make test-mpi runs this test")
	}
	for _, f := range folders {
		names = append(names, filepath.Base(filepath.Dir(f)))
	}
	return names
}

// openMPIEnv lets Open MPI 4 and 5 start more ranks than there are cores, anywhere, and bind none. MPICH does.
var openMPIEnv = []string{
	"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1",
	"OMPI_MCA_hwloc_base_binding_policy=none",
	"PRTE_ALLOW_RUN_AS_ROOT=1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1",
	"PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe", "PRTE_MCA_hwloc_default_binding_policy=none",
}

// mpiJob is a running job of this test binary.
type mpiJob struct {
	*exec.Cmd
	dir   string
	ranks int
	said  strings.Builder
	ended chan struct{}
}

// startJob starts ranks with the launcher of one MPI library and the helper of another.
func startJob(t *testing.T, launcher, helper string, ranks int, what string) *mpiJob {
	t.Helper()
	j := &mpiJob{dir: t.TempDir(), ranks: ranks, ended: make(chan struct{})}
	mpirun, err := exec.LookPath("mpirun." + launcher)
	if err != nil {
		mpirun = "mpirun"
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	j.Cmd = exec.Command(mpirun, "-n", fmt.Sprint(ranks), self)
	j.Env = slices.Concat(os.Environ(), openMPIEnv, []string{rankVariable + "=" + what, folderVariable + "=" + j.dir,
		HelperVariable + "=" + filepath.Join(os.Getenv(buildsVariable), helper, "hogwild-mpi")})
	j.Stdout, j.Stderr = &j.said, &j.said
	j.WaitDelay = time.Second // ranks may outlive a launcher that was killed
	if err := j.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = j.Wait()
		close(j.ended)
	}()
	t.Cleanup(func() {
		_ = j.Process.Kill()
		<-j.ended
		for _, pid := range j.pids() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		if t.Failed() {
			t.Logf("the job said: %s", j.said.String())
		}
	})
	return j
}

// pids returns the process ids of the coordinator and the helper of each rank that has joined.
func (j *mpiJob) pids() (pids []int) {
	for rank := range j.ranks {
		var coordinator, helper int
		if n, _ := fmt.Sscan(j.read(rank, "pids"), &coordinator, &helper); n == 2 {
			pids = append(pids, coordinator, helper)
		}
	}
	return pids
}

func (j *mpiJob) read(rank int, name string) string {
	b, _ := os.ReadFile(filepath.Join(j.dir, fmt.Sprint(rank, name)))
	return string(b)
}

// until waits for something, for as long as a slow machine may need.
func (j *mpiJob) until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after a minute: %s", what)
		}
	}
}

func (j *mpiJob) over() bool {
	select {
	case <-j.ended:
		return true
	default:
		return false
	}
}

// finish waits until the launcher has ended, and all processes of the job.
func (j *mpiJob) finish(t *testing.T) {
	t.Helper()
	j.until(t, "the launcher has not ended", j.over)
	j.until(t, "processes are left", func() bool {
		for _, pid := range j.pids() {
			if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); len(b) > 0 &&
				!strings.Contains(string(b), ") Z ") {
				return false
			}
		}
		return true
	})
}

func TestMPICalls(t *testing.T) {
	forMPI(t, func(t *testing.T, library string) {
		for _, ranks := range []int{1, 3} {
			j := startJob(t, library, library, ranks, "calls")
			j.finish(t)
			if !j.ProcessState.Success() {
				t.Errorf("%d ranks: %v", ranks, j.ProcessState)
			}
		}
	})
}

// TestMPIWaits: a helper that waits for a late node takes hardly any of a core from the workers.
func TestMPIWaits(t *testing.T) {
	forMPI(t, func(t *testing.T, library string) {
		j := startJob(t, library, library, 3, "late")
		j.finish(t)
		for _, rank := range []int{0, 2} {
			var share float64
			if n, _ := fmt.Sscan(j.read(rank, "end"), &share); n != 1 || share > 0.2 {
				t.Errorf("rank %d: the helper took %.2f of a core (%q)", rank, share, j.read(rank, "end"))
			}
		}
	})
}

// TestMPIKills: whatever dies, all of the job ends, and no rank takes it for anything but a lost connection. (A
// launcher may kill a rank before it notices.)
func TestMPIKills(t *testing.T) {
	forMPI(t, func(t *testing.T, library string) {
		for _, victim := range []string{"helper", "coordinator", "launcher"} {
			j := startJob(t, library, library, 3, "forever")
			j.until(t, "not all ranks have joined", func() bool { return len(j.pids()) == 2*j.ranks })
			pid := map[string]int{"launcher": j.Process.Pid, "coordinator": j.pids()[2], "helper": j.pids()[3]}[victim]
			if err := unix.Kill(pid, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			j.finish(t)
			for rank := range j.ranks {
				end := j.read(rank, "end")
				if end != "" && !strings.HasPrefix(end, ErrLost.Error()) ||
					end == "" && victim == "helper" && rank == 1 {
					t.Errorf("%s killed: rank %d ended with %q", victim, rank, end)
				}
			}
			if j.ProcessState.Success() {
				t.Errorf("%s killed: the launcher ended with status 0", victim)
			}
		}
	})
}

// TestMPISilence: no node waits longer than its timeout for one that has stopped.
func TestMPISilence(t *testing.T) {
	forMPI(t, func(t *testing.T, library string) {
		j := startJob(t, library, library, 3, "impatient")
		j.until(t, "not all ranks have joined", func() bool { return len(j.pids()) == 2*j.ranks })
		if err := unix.Kill(j.pids()[3], unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		j.finish(t)
		for rank := range j.ranks {
			end := j.read(rank, "end")
			if !strings.HasPrefix(end, ErrSilent.Error()) ||
				strings.Contains(end, "nothing came from") != (rank == 0) ||
				rank == 0 && !strings.Contains(end, "from node 1 (") {
				t.Errorf("rank %d ended with %q", rank, end)
			}
		}
	})
}

// TestMPIWrongLauncher: each rank would be a job of its own, without an error of either MPI.
func TestMPIWrongLauncher(t *testing.T) {
	all := libraries(t)
	if len(all) < 2 {
		t.Skip("there is one MPI library")
	}
	for i, launcher := range all {
		j := startJob(t, launcher, all[1-i], 2, "forever")
		j.finish(t)
		if said := j.said.String(); !strings.Contains(said, ErrLauncher.Error()) ||
			!strings.Contains(said, "started 2 ranks") || len(j.pids()) > 0 {
			t.Errorf("%s with the helper of %s: %s", launcher, all[1-i], said)
		}
	}
}
