package nodes

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// InProcess returns the engines of n nodes in this process. A call that waits longer than timeout for the others, 0:
// for ever, returns ErrSilent.
func InProcess(n int, timeout time.Duration) []Engine {
	j := &job{parts: make([]any, n), timeout: timeout, lost: make(chan struct{})}
	j.turn = newTurn(n)
	host, _ := os.Hostname() // a name for people
	all := make([]Engine, n)
	for i := range all {
		all[i] = &inProcess{job: j, place: Place{Node: i, Nodes: n, Local: i, OnHost: n, Host: host,
			Library: "in process"}}
	}
	return all
}

// job is what the nodes share.
type job struct {
	mu      sync.Mutex
	parts   []any // what each node gave in the open call
	turn    *turn
	timeout time.Duration
	lost    chan struct{} // closed when a node has gone
	gone    sync.Once
}

// turn is one collective call.
type turn struct {
	missing int
	parts   []any         // of all, once it is over
	over    chan struct{} // closed when all have come
}

func newTurn(n int) *turn { return &turn{missing: n, over: make(chan struct{})} }

// inProcess is one node.
type inProcess struct {
	job    *job
	place  Place
	memory []float32
	left   bool
}

func (e *inProcess) Place() Place { return e.place }

// meet gives part, waits for all nodes, and returns what each gave.
func (e *inProcess) meet(part any) ([]any, error) {
	j := e.job
	select {
	case <-j.lost:
		return nil, ErrLost
	default:
	}
	j.mu.Lock()
	t := j.turn
	j.parts[e.place.Node] = part
	if t.missing--; t.missing == 0 {
		t.parts = j.parts
		j.parts, j.turn = make([]any, e.place.Nodes), newTurn(e.place.Nodes)
		close(t.over)
	}
	j.mu.Unlock()
	var late <-chan time.Time
	if j.timeout > 0 {
		late = time.After(j.timeout)
	}
	select {
	case <-t.over:
		return t.parts, nil
	case <-j.lost:
		return nil, ErrLost
	case <-late:
		return nil, e.silent(t)
	}
}

// silent names the nodes that have not come to a call.
func (e *inProcess) silent(t *turn) error {
	e.job.mu.Lock()
	defer e.job.mu.Unlock()
	var missing []string
	for i, part := range e.job.parts {
		if t == e.job.turn && part == nil {
			missing = append(missing, fmt.Sprintf("node %d", i))
		}
	}
	return fmt.Errorf("%w: nothing came from %s", ErrSilent, strings.Join(missing, ", "))
}

func (e *inProcess) Gather(mine []byte) ([][]byte, error) {
	parts, err := e.meet(append([]byte(nil), mine...))
	if err != nil || e.place.Node != 0 {
		return nil, err
	}
	all := make([][]byte, len(parts))
	for i, p := range parts {
		all[i] = p.([]byte)
	}
	return all, nil
}

func (e *inProcess) Share(b []byte) ([]byte, error) {
	parts, err := e.meet(append([]byte(nil), b...))
	if err != nil {
		return nil, err
	}
	return append([]byte(nil), parts[0].([]byte)...), nil
}

func (e *inProcess) Sum(numbers []float64) error {
	parts, err := e.meet(append([]float64(nil), numbers...))
	if err != nil {
		return err
	}
	sumOver(numbers, parts)
	return nil
}

func (e *inProcess) Memory(n int) ([]float32, error) {
	if len(e.memory) < n {
		e.memory = make([]float32, n)
	}
	return e.memory[:n], nil
}

func (e *inProcess) SumWeights(n int) error {
	parts, err := e.meet(append([]float32(nil), e.memory[:n]...))
	if err != nil {
		return err
	}
	sumOver(e.memory[:n], parts)
	return nil
}

// sumOver sets to to the sum of the parts, each as long.
func sumOver[T float32 | float64](to []T, parts []any) {
	clear(to)
	for _, p := range parts {
		for i, v := range p.([]T) {
			to[i] += v
		}
	}
}

func (e *inProcess) Leave() error {
	e.left = true
	_, err := e.meet(true)
	return err
}

func (e *inProcess) Abandon() {
	if !e.left {
		e.job.gone.Do(func() { close(e.job.lost) })
	}
}
