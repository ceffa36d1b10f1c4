package rundir

import (
	"fmt"

	"hogwild/internal/human"
)

// Nodes is what a job on several nodes has spent on speaking with each other, as node 0 has seen it.
type Nodes struct {
	Nodes   int    `json:"nodes"`
	Library string `json:"library"`     // what moved the numbers
	Rounds  int    `json:"node_rounds"` // in which weights were averaged
	Bytes   int64  `json:"node_bytes"`  // that a node gave to be summed, in all rounds
	// from when a round was due on all nodes until its sum was there; workers train meanwhile
	SumSeconds  float64 `json:"sum_seconds"`
	WaitSeconds float64 `json:"wait_seconds"` // workers of node 0 waited for rounds and other nodes
}

// WorkersText is "4 workers", or "3 nodes with 4 workers".
func WorkersText(nodes, workers int) string {
	text := human.Plural(workers, "worker")
	if nodes > 1 {
		text = human.Plural(nodes, "node") + " with " + text
	}
	return text
}

// Text is a line for people.
func (n *Nodes) Text() string {
	text := fmt.Sprintf("%d, %s; %s", n.Nodes, n.Library, human.Plural(n.Rounds, "round"))
	if n.Rounds > 0 {
		text += fmt.Sprintf(" of %s in %.2g s", human.Bytes(n.Bytes/int64(n.Rounds)), n.SumSeconds/float64(n.Rounds))
	}
	return text + fmt.Sprintf("; waited %.2f s", n.WaitSeconds)
}
