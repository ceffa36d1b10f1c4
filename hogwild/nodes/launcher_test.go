package nodes

import (
	"fmt"
	"strings"
	"testing"
)

func TestLaunched(t *testing.T) {
	for _, c := range []struct{ name, env, want string }{
		{"no launcher", "", ""},
		{"Open MPI", "OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_RANK=3",
			"mpirun of Open MPI 3/4 2"},
		{"one rank", "OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=1",
			"mpirun of Open MPI 0/1 1"},
		{"MPICH", "PMI_SIZE=4 PMI_RANK=0 PMI_FD=9 MPI_LOCALNRANKS=1 MPI_LOCALRANKID=0",
			"mpiexec of MPICH (hydra) 0/4 1"},
		{"MPICH within Slurm, whose proxies srun has started",
			"PMI_SIZE=8 PMI_RANK=5 MPI_LOCALNRANKS=4 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1",
			"mpiexec of MPICH (hydra) 5/8 4"},
		{"Open MPI within Slurm", "OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 SLURM_STEP_ID=1 " +
			"SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=2", "mpirun of Open MPI 1/2 0"},
		{"one rank of Open MPI within Slurm", "OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 SLURM_STEP_ID=1 " +
			"SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=2", "mpirun of Open MPI 0/1 0"},
		{"srun", "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=2 SLURM_NTASKS=4", "srun 2/4 0"},
		{"srun with PMIx", "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=2 PMIX_RANK=2",
			"srun --mpi=pmix 2/4 0"},
		{"srun with PMI2", "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=2 PMI_SIZE=4 PMI_RANK=2 PMI_FD=7",
			"srun --mpi=pmi2 2/4 0"},
		{"a batch script", "SLURM_JOB_ID=7 SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_NODEID=0", ""},
		{"a shell of salloc", "SLURM_JOB_ID=7 SLURM_NTASKS=4 SLURM_STEP_ID=4294967290 SLURM_STEP_NUM_TASKS=1 " +
			"SLURM_PROCID=0", "srun 0/1 0"},
		{"nonsense", "OMPI_COMM_WORLD_SIZE=many", ""},
		{"no rank", "PMI_SIZE=4", ""},
	} {
		env := map[string]string{}
		for _, pair := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(pair, "=")
			env[name] = value
		}
		l := launched(func(name string) string { return env[name] })
		got := ""
		if l != (Launch{}) {
			got = fmt.Sprintf("%s %d/%d %d", l.Launcher, l.Rank, l.Ranks, l.LocalRanks)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestBound(t *testing.T) {
	openMPI, srun := Launch{Launcher: "mpirun of Open MPI", Ranks: 2}, Launch{Launcher: "srun --mpi=pmix", Ranks: 2}
	for _, c := range []struct {
		launch              Launch
		mine, cores, onHost int
		says                string
	}{
		{openMPI, 1, 2, 1, "1 of 2 cores: --bind-to none"},
		{openMPI, 2, 2, 1, ""},
		{openMPI, 1, 2, 2, ""},
		{openMPI, 64, 128, 2, ""},
		{openMPI, 1, 128, 2, "1 of 128 cores"},
		{srun, 1, 64, 1, "srun -c"},
		{Launch{}, 1, 64, 1, ""},
	} {
		if note := c.launch.bound(c.mine, c.cores, c.onHost); (note == "") != (c.says == "") ||
			!strings.Contains(note, c.says) {
			t.Errorf("%+v: %q", c, note)
		}
	}
}

func TestAgrees(t *testing.T) {
	l := Launch{Launcher: "srun", Ranks: 4, says: "SLURM_STEP_NUM_TASKS=4"}
	if err := l.agrees(Place{Nodes: 4}); err != nil {
		t.Error(err)
	}
	if err := (Launch{}).agrees(Place{Nodes: 1}); err != nil {
		t.Error(err)
	}
	err := l.agrees(Place{Nodes: 1, Library: "Open MPI 4.1.4"})
	if err == nil || strings.Count(err.Error(), "\n") > 3 {
		t.Fatal(err)
	}
	for _, word := range []string{"srun", "4 ranks", "SLURM_STEP_NUM_TASKS=4", "Open MPI 4.1.4",
		"--mpi=pmix", "make mpi"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not name %s", err, word)
		}
	}
}
