package rundir

import "hogwild/internal/human"

// Nodes is what a job on several nodes has spent on speaking with each other, as node 0 has seen it.
type Nodes struct {
	Nodes       int     `json:"nodes"`
	Library     string  `json:"library"`      // what moved the numbers
	Rounds      int     `json:"node_rounds"`  // in which weights were averaged
	Bytes       int64   `json:"node_bytes"`   // that a node gave to be summed, in all rounds
	SumSeconds  float64 `json:"sum_seconds"`  // from when a round was due on all nodes until its sum was there; workers train meanwhile
	WaitSeconds float64 `json:"wait_seconds"` // workers of node 0 waited for rounds and other nodes
}

// Text is a line for people.
func (n *Nodes) Text() string {
	return human.Plural(n.Nodes, "node")
}
