package bench

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
)

// TestLaunched: the launcher gets the number of nodes, the program and the flags, but not the flag nodes.
func TestLaunched(t *testing.T) {
	r := aRunner(t)
	p := aPlan([]uint64{1}, "good", "usage")
	for i := range p.Cases {
		p.Cases[i].Settings = append(p.Cases[i].Settings, Setting{"nodes", "3"})
	}
	launcher := `env RANKS={nodes} /bin/sh -c 'echo "$RANKS nodes" >> "` + r.Folder +
		`/starts"; case "$*" in *--nodes*) exit 9; esac; exec "$@"' sh`
	if err := p.SetLauncher(launcher); err != nil {
		t.Fatal(err)
	}
	good := p
	good.Cases = p.Cases[:1]
	e, err := r.Run(t.Context(), good)
	if err != nil || e.Cases[0].Runs[0].Failed != "" || e.Cases[0].Nodes != 3 {
		t.Fatalf("%+v, %v", e, err)
	}
	if got := strings.Join(starts(t, r), " "); got != "3 good.1 nodes" {
		t.Errorf("it started %s", got)
	}
	if done := r.Done(good); done[0] != 1 {
		t.Errorf("%d runs are done, want 1", done[0])
	}
	good.Cases[0].Launcher = ""
	if done := r.Done(good); done[0] != 0 {
		t.Error("a run of another launcher counts")
	}
	if _, err := r.Run(t.Context(), p); !errors.Is(err, config.ErrUsage) ||
		!strings.Contains(err.Error(), "no such file") {
		t.Errorf("a mistake behind a launcher: %v", err)
	}
	p.Cases = p.Cases[1:]
	p.Cases[0].Launcher = "/nowhere/mpirun -n {nodes}"
	if _, err := r.Run(t.Context(), p); !errors.Is(err, config.ErrUsage) ||
		!strings.Contains(err.Error(), "launcher /nowhere/mpirun -n {nodes}: ") {
		t.Errorf("no launcher: %v", err)
	}
}

// TestNodesInSummary: what nodes spend on each other is in the table, the CSV file and the notes; other experiments
// have none of it.
func TestNodesInSummary(t *testing.T) {
	e := handmade()
	none := text(t, func(w *bytes.Buffer) error { return errors.Join(e.WriteText(w), e.WriteCSV(w), e.WriteJSON(w)) })
	for _, absent := range []string{"NODES", "node_rounds", "nodes", "communication"} {
		if strings.Contains(none, absent) {
			t.Errorf("%s where no case has nodes", absent)
		}
	}
	c := &e.Cases[1] // 0.30, 0.30, 0.33 s
	c.Nodes, c.Config.Rounds = 2, "8"
	c.Settings = append(c.Settings, Setting{"nodes", "2"}, Setting{"rounds", "8"})
	c.each(func(r *rundir.Result) {
		r.Nodes = &rundir.Nodes{Nodes: 2, Library: "in process", Rounds: 80, Bytes: 80 * 2048, SumSeconds: 0.03,
			WaitSeconds: 0.06}
	})
	table := text(t, func(w *bytes.Buffer) error { return e.WriteText(w) })
	for _, want := range []string{"NODES", "2      8       80.0   2.00 KiB", "COMMUNICATION", "10%", "20%",
		"all share this machine's 2 cores (2 nodes with 2 workers in async-2)",
		"async-2: more workers than cores (2)"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	csv := text(t, func(w *bytes.Buffer) error { return e.WriteCSV(w) })
	for _, want := range []string{"nodes,rounds,used_mode", "communication_share",
		",80,80,80,2048,2048,2048,0.03,0.03,0.03,0.06,0.06,0.06,0.099,0.09,0.1,0.198,"} {
		if !strings.Contains(csv, want) {
			t.Errorf("no %q in\n%s", want, csv)
		}
	}
}
