// Package peers carries out one job on several nodes: one run on each, with its own workers. It implements core.Peers,
// by which a run meets the others; how numbers get from node to node, package nodes knows.
//
//	agree.go    how nodes agree on a job
//	leave.go    how a job ends
//	rounds.go   what nodes learn from each other while they train
//	group.go    the nodes, and how they speak
//	message.go  what they say
package peers

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"hogwild/hogwild/core"
	"hogwild/hogwild/model"
	"hogwild/hogwild/nodes"
	"hogwild/internal/human"
)

// group is the nodes of a job, as this one sees them.
type group struct {
	engine   nodes.Engine
	place    nodes.Place
	interval time.Duration // between two meetings at most
	stop     atomic.Int64  // why this node ends the job: see the reasons
	over     bool          // the connection is lost
	inOrder  bool          // all nodes have come to their end
}

// New returns this node's part of the job of an engine's nodes, or nil if there is one only.
func New(e nodes.Engine, timeout time.Duration) core.Peers {
	if e == nil || e.Place().Nodes < 2 {
		return nil
	}
	return &group{engine: e, place: e.Place(), interval: min(time.Second, timeout/4)}
}

// First reports whether this is node 0, which has the run folder.
func (p *group) First() bool { return p.place.Node == 0 }

// Name returns the node's name.
func (p *group) Name() string { return p.place.String() }

// exchange takes this node's part in a meeting, and returns what all have said.
func (p *group) exchange(mine message) (message, error) {
	if reason := p.stop.Load(); reason != reasonNone {
		mine[sayStop+reason], mine[sayWho] = 1, float64(1+p.place.Node)
	}
	err := p.engine.Sum(mine[:])
	return mine, err
}

// Together returns when all nodes have come to it and f has returned on each. Meanwhile they meet
// every beat: however long f takes, none is silent.
func (p *group) Together(f func() error) error {
	done := make(chan struct{})
	var failed error
	var panicked any
	go func() {
		defer close(done)
		debug.SetPanicOnFault(true) // the caller may guard against data that cannot be read: see data.Guard
		defer func() {
			if panicked = recover(); panicked != nil {
				p.stop.CompareAndSwap(reasonNone, reasonFailed)
			}
		}()
		if failed = f(); failed != nil {
			p.stop.CompareAndSwap(reasonNone, reasonOf(failed))
		}
	}()
	for {
		var mine message
		select {
		case <-done:
			mine[sayReady] = 1
		case <-time.After(p.interval):
		}
		all, err := p.exchange(mine)
		if stops := all.stops(); err == nil && stops != nil {
			err = stops
		}
		if err != nil {
			if <-done; panicked != nil {
				panic(panicked) // where the caller of Run can recover
			}
			return cmp.Or(failed, err)
		}
		if all[sayReady] == float64(p.place.Nodes) {
			return nil
		}
	}
}

// Score adds up what all nodes' shares of a set come to.
func (p *group) Score(own func() (model.Score, error)) (s model.Score, err error) {
	err = p.Together(func() (err error) {
		s, err = own()
		return err
	})
	if err != nil {
		return s, err
	}
	sums := []float64{float64(s.N), s.Loss, float64(s.Correct), s.SqErr, s.Y, s.Y2}
	err = p.engine.Sum(sums)
	return model.Score{N: int(sums[0]), Loss: sums[1], Correct: int(sums[2]), SqErr: sums[3], Y: sums[4], Y2: sums[5]},
		err
}

// ShareNumbers gives all nodes node 0's numbers, in pieces: a whole copy in bytes would be the largest thing in memory.
func (p *group) ShareNumbers(numbers []float32) error {
	for piece := range slices.Chunk(numbers, 1<<20) {
		var own []byte
		if p.First() {
			own, _ = binary.Append(nil, binary.LittleEndian, piece) // of a known size
		}
		all, err := p.engine.Share(own)
		if err != nil {
			return err
		}
		if _, err := binary.Decode(all, binary.LittleEndian, piece); err != nil {
			return err
		}
	}
	return nil
}

// Lost adds to an error that the connection is lost what to do.
func (p *group) Lost(err error, folder string) error {
	if !errors.Is(err, nodes.ErrLost) || p.over {
		return err
	}
	p.over = true
	what := "the job has ended, and is continued from its last snapshot"
	if folder != "" {
		what = fmt.Sprintf("to continue, start the job again with --run %s --resume %[1]s", human.ShellPath(folder))
	}
	return fmt.Errorf("%v: %w; %s", p.place, err, what)
}

// Leave returns when this node has nothing left to do, and the others neither: a launcher may end all processes when
// the first of them ends with an error.
func (p *group) Leave(rest func()) {
	if p.over {
		rest()
		if !p.First() {
			// MPICH's launcher kills all processes when the first one fails: node 0 saves meanwhile
			time.Sleep(2 * p.interval)
		}
		return
	}
	p.stop.Store(reasonNone)
	p.inOrder = p.Together(func() error { rest(); return nil }) == nil
}

// Abandon leaves without a word, unless all nodes have come to their end.
func (p *group) Abandon() {
	if !p.inOrder {
		p.engine.Abandon()
		p.over = true
	}
}
