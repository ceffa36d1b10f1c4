package nodes

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"hogwild/internal/machine"
)

// Launch is what the launcher of an MPI job tells each of its ranks in the environment.
// It is zero if there is no launcher.
type Launch struct {
	Launcher    string // "mpirun of Open MPI", "srun"
	Rank, Ranks int
	LocalRanks  int    // ranks on this host, 0 if it does not say
	says        string // the variable with the number of ranks: "PMI_SIZE=4"
}

// Launched reads the environment of this process.
func Launched() Launch { return launched(os.Getenv) }

// Variables returns the environment variables by which a launcher is recognised.
func Variables() string {
	var names []string
	for _, l := range launchers {
		if !slices.Contains(names, l.ranks) {
			names = append(names, l.ranks)
		}
	}
	return strings.Join(names, ", ")
}

// launchers in the order in which they are looked for. A launcher may use another one to reach the
// hosts, whose variables are then there too: mpirun within Slurm starts its daemons with srun.
var launchers = []struct{ name, ranks, rank, local, only string }{
	{"mpirun of Open MPI", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", ""},
	{"mpiexec of MPICH (hydra)", "PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS", ""},
	// SLURM_NTASKS is there in a batch script too, which is no rank.
	{"srun --mpi=pmix", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "", "PMIX_RANK"},
	{"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "", "SLURM_STEP_ID"},
}

func launched(env func(string) string) Launch {
	for _, l := range launchers {
		ranks, err := strconv.Atoi(env(l.ranks))
		if err != nil || l.only != "" && env(l.only) == "" {
			continue
		}
		rank, err := strconv.Atoi(env(l.rank))
		if err != nil || ranks < 1 {
			return Launch{}
		}
		local, _ := strconv.Atoi(env(l.local)) // not all say it
		if l.ranks == "PMI_SIZE" && env("SLURM_STEP_ID") != "" && env("MPI_LOCALNRANKS") == "" {
			l.name = "srun --mpi=pmi2"
		}
		return Launch{Launcher: l.name, Rank: rank, Ranks: ranks, LocalRanks: local, says: l.ranks + "=" + env(l.ranks)}
	}
	return Launch{}
}

// agrees refuses a job of another size than the launcher's. MPI libraries have no common way to
// find their launcher: a rank that does not find it is a job of one rank, without an error.
func (l Launch) agrees(p Place) error {
	if l.Ranks == 0 || l.Ranks == p.Nodes {
		return nil
	}
	return fmt.Errorf("%w: %s started %d ranks (%s), but hogwild-mpi, built with %s, finds a job of %d\n"+
		"start the job with the launcher of %s, or build hogwild-mpi with the mpicc of this one (make mpi "+
		"MPICC=...); under Slurm: srun --mpi=pmix",
		ErrLauncher, l.Launcher, l.Ranks, l.says, p.Library, p.Nodes, p.Library)
}

// Cores returns how many cores this node has for its workers: its part of the host's, unless the launcher has bound it
// to a part already.
func (p Place) Cores() int {
	mine, all := cores()
	if mine*p.OnHost > all {
		mine /= p.OnHost
	}
	return max(1, mine)
}

// cores returns how many cores this process can keep busy, and how many the host, or container, has: the first
// process's, within the same quota.
func cores() (mine, all int) {
	var m, a unix.CPUSet
	if unix.SchedGetaffinity(0, &m) != nil || unix.SchedGetaffinity(1, &a) != nil {
		return machine.Cores(), machine.Cores()
	}
	root := os.DirFS("/")
	return machine.WithinQuota(root, m.Count()), machine.WithinQuota(root, a.Count())
}

// hint returns a line for a helper that cannot join: what its library says is often of no help.
func (l Launch) hint() string {
	if l.Ranks == 0 {
		return ""
	}
	return fmt.Sprintf("\nthe launcher is %s: hogwild-mpi must be built with the mpicc of the same MPI library (make "+
		"mpi MPICC=...)", l.Launcher)
}

// Bound returns a line for a rank whose launcher gives it fewer cores than its share of the host; "" if it does not.
// Launchers bind ranks to single cores, for programs with one thread.
func (l Launch) Bound(p Place) string {
	mine, all := cores()
	if n, err := strconv.Atoi(os.Getenv("SLURM_CPUS_ON_NODE")); err == nil {
		all = min(all, n)
	}
	return l.bound(mine, all, p.OnHost)
}

func (l Launch) bound(mine, cores, onHost int) string {
	if l.Ranks == 0 || mine*onHost >= cores {
		return ""
	}
	cure := "--bind-to none gives it all"
	if strings.HasPrefix(l.Launcher, "srun") {
		cure = "srun -c CORES gives it more"
	}
	return fmt.Sprintf("%s lets this rank use %d of %d cores: %s", l.Launcher, mine, cores, cure)
}
