package bench

import (
	"fmt"
	"slices"
	"strings"

	"hogwild/internal/human"
)

// SetLauncher makes a launcher start the nodes of all cases that have several.
func (p *Plan) SetLauncher(launcher string) error {
	switch some := false; {
	case launcher == "":
		return nil
	case !strings.Contains(launcher, NodesWord):
		return usage("launcher %q: it lacks %s, the number of nodes; e.g. 'mpirun -n %s'", launcher,
			NodesWord, NodesWord)
	default:
		for i := range p.Cases {
			if c := &p.Cases[i]; several(c.Value("nodes")) {
				c.Launcher, some = launcher, true
			}
		}
		if !some {
			return usage("launcher %q: no case has several nodes; set nodes, or leave launcher out", launcher)
		}
	}
	return nil
}

// RoundBytes is what a node gave to be summed in a round, on average.
func (m *Measured) RoundBytes() []Number { return ratios(m.NodeBytes, m.NodeRounds) }

// Communication is the share of the training time in which a round was on its way. Workers train
// meanwhile, except in the last round of an epoch.
func (m *Measured) Communication() []Number { return ratios(m.SumSeconds, m.Seconds) }

// Waiting is the share of the training time in which the workers of node 0 waited for rounds and other nodes.
func (m *Measured) Waiting() []Number { return ratios(m.WaitSeconds, m.Seconds) }

// Rounds is how many rounds an epoch were asked for.
func (m *Measured) Rounds() string {
	if m.Nodes < 2 {
		return ""
	}
	return m.Config.Rounds
}

// anyNodes reports whether a case has several nodes.
func anyNodes(cases []*Measured) bool {
	return slices.ContainsFunc(cases, func(c *Measured) bool { return c.Nodes > 1 })
}

// nodes says what nodes on one machine do not show.
func (e *Experiment) nodes() (notes []string) {
	cases := e.which(func(c *Measured) bool { return c.Nodes > 1 })
	if len(cases) == 0 {
		return nil
	}
	var ways []string
	for _, c := range cases {
		way := "in one process"
		if c.Launcher != "" {
			way = "started by " + c.Launcher
		}
		if c.Library != "" && c.Launcher != "" {
			way += " (" + c.Library + ")"
		}
		if !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	most := slices.MaxFunc(cases, func(a, b *Measured) int { return a.Nodes*a.Workers - b.Nodes*b.Workers })
	return []string{fmt.Sprintf("nodes are %s: all share this machine's %s (%d nodes with %s in %s), so their speed "+
		"is not that of as many machines. "+
		"Compare losses, and the share of communication, which here has no network", strings.Join(ways, ", or "),
		human.Plural(e.Machine.Cores, "core"), most.Nodes, human.Plural(most.Workers, "worker"), most.Name)}
}
