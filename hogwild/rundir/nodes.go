package rundir

import (
	"math"

	"hogwild/hogwild/control"
	"hogwild/hogwild/plan"
)

// NodesRound is what the nodes of a job have come to together after a round within an epoch. The workers may
// train on meanwhile.
type NodesRound struct {
	Weights []float32 // of all nodes, as the run trains them
	Round   int       // barrier mode: the workers' last round before it; -1: none
	// elsewhere: by the place of a chunk among all nodes' chunks: its updates are part of the weights
	Done     []bool
	Examples int     // of the open epoch as it is cut now, trained by all nodes
	Loss     float64 // summed over them
}

// DoneChunks sets done to the chunks of all nodes that are done in a snapshot within an epoch, and returns how many
// examples these are and their mean loss. Where the rest of an epoch is cut anew none of them is.
func (s *Snapshot) DoneChunks(p *plan.Plan, done []bool) (examples, loss float64) {
	whole := p.Whole()
	for g := range len(s.chunks) / 2 {
		if s.chunks[2*g]&(1<<32-1) != control.ChunkDone {
			continue
		}
		if g < len(done) {
			done[g] = true
		}
		examples += float64(whole.At(0, g).Count)
		loss += math.Float64frombits(s.chunks[2*g+1])
	}
	return examples, loss / max(1, examples)
}

// CaptureNodes copies what all nodes have after a round, with this node's states of optimizers, and sets the position
// to it. W is the control block of any node. Another number of nodes can continue from it if any worker may take any
// chunk, and in barrier mode, where the rest of the epoch is cut anew.
func (s *Snapshot) CaptureNodes(m *control.Weights, w *control.Block, n *NodesRound) {
	s.Begin(nil)
	s.W = append(s.W[:0], n.Weights...)
	s.captureState(m)
	p := &s.Pos
	p.Within, p.Round, p.Rounds = true, 0, w.Before(p.Epoch)
	if w.Plan.Barrier && !w.Plan.Shares {
		p.Rounds += n.Round + 1
		p.Base, p.BaseDone, p.BaseLoss = w.Plan.Covered(n.Round+1), p.BaseDone+n.Examples, p.BaseLoss+n.Loss
		p.Within = p.Base > 0
		return
	}
	p.Longer = w.Plan.Longer
	whole, each := w.Plan.Whole(), n.Loss/float64(max(1, n.Examples))
	to := 0 // of a rank's chunks, that are done in barrier mode
	if w.Plan.Barrier {
		p.Round = n.Round + 1
		_, to = whole.Round(0, n.Round)
	}
	for g := range whole.Chunks() {
		done, loss := g%whole.PerRank < to, 0.0
		if !w.Plan.Barrier {
			done = n.Done[g]
		}
		if done {
			loss = each * float64(whole.At(0, g).Count)
		}
		s.chunks = control.AppendChunk(s.chunks, p.Epoch, done, loss)
	}
}
