package control

import "hogwild/hogwild/plan"

// First returns the first round of an epoch that was not complete when these workers began.
func (w *Block) First(epoch uint64) int {
	if epoch == w.start.Epoch {
		return w.start.Round
	}
	return 0
}

// Before returns how many rounds the run has before an epoch's, as it is cut now.
func (w *Block) Before(epoch uint64) int {
	if epoch == w.start.Epoch {
		return w.start.Rounds
	}
	first := w.whole.After(w.start.Base)
	return w.start.Rounds + first.Rounds + int(epoch-w.start.Epoch-1)*w.whole.Rounds
}

// number returns the number of a round in the run, from 1.
func (w *Block) number(epoch uint64, round int) int { return w.Before(epoch) + round + 1 }

// Tickets returns the two meetings of a round: when all have trained, and when all
// have averaged.
func (w *Block) Tickets(epoch uint64, round int) (trained, averaged uint64) {
	n := 2 * uint64(w.number(epoch, round))
	return n - 1, n
}

// Hold asks that all ranks wait after a round, the one under way or the next. Rank 0 says which it is,
// before it reaches the round's last meeting: so all others know when they leave it.
func (w *Block) Hold() { w.Set(wordHold, 1) }

// Decide gives rank 0's answer to Hold, within a round.
func (w *Block) Decide(epoch uint64, round int) {
	if w.Get(wordHold) != 0 {
		w.Set(wordHeld, uint64(w.number(epoch, round)))
	}
}

// HeldAfter returns the round of an epoch after which all wait, if rank 0 has named one.
func (w *Block) HeldAfter(epoch uint64) (round int, ok bool) {
	round = int(w.Get(wordHeld)) - w.Before(epoch) - 1
	return round, round >= 0
}

// Held tells, after a round, whether all wait until the number of workers has changed.
func (w *Block) Held(epoch uint64, round int) bool {
	// in this order: another one may be held by now
	return w.Get(wordHeld) == uint64(w.number(epoch, round)) || w.Scaled()
}

// Round says what each rank trained in a round that is complete.
func (w *Block) Round(epoch uint64, round int) plan.Round {
	r := plan.Round{Number: w.number(epoch, round), Examples: make([]int, w.Plan.Workers)}
	for rank := range r.Examples {
		from, to := w.Plan.Round(rank, round)
		for i := from; i < to; i++ {
			if state, _ := w.Chunk(i); state == ChunkDone {
				r.Examples[rank] += w.Plan.At(int(epoch-1), i).Count
			}
		}
	}
	from, _ := w.Plan.Round(0, round)
	r.Seen = w.Plan.At(int(epoch-1), from).Seen
	return r
}
