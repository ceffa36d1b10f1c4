package rundir

import (
	"fmt"

	"hogwild/internal/human"
)

// Scale is a change of the number of workers.
type Scale struct {
	Epoch   int     `json:"epoch"`   // from 1
	Seconds float64 `json:"seconds"` // of training since the start of the run
	From    int     `json:"from"`
	To      int     `json:"to"`
}

// String says it in words.
func (s Scale) String() string {
	return fmt.Sprintf("scaled from %s to %d in epoch %d, after %.1f s", human.Plural(s.From, "worker"), s.To,
		s.Epoch, s.Seconds)
}
