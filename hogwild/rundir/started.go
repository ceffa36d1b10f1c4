package rundir

import "fmt"

// Started says what a run started from.
type Started struct {
	From    string `json:"from"`    // the file
	Tensors int    `json:"tensors"` // of the model that it had
	Of      int    `json:"of"`      // tensors of the model
}

// Text is what a report has of it.
func (s Started) Text() string {
	if s.Tensors == s.Of {
		return fmt.Sprintf("%s, all %d tensors", s.From, s.Of)
	}
	return fmt.Sprintf("%s, %d of %d tensors", s.From, s.Tensors, s.Of)
}
