package control

import "sync/atomic"

// AwaitNodes waits, after a round, until the coordinator has averaged the weights with the other nodes, if that
// is due. A worker that takes the place of a dead one may come here again, and late.
func (w *Block) AwaitNodes(rank int, epoch uint64, round int) error {
	for w.Plan.NodesMeet(round) {
		tick := atomic.LoadUint32(&w.Futexes[FutexTick]) // before what it announces
		if w.Stopped() {
			return ErrStopped
		}
		if w.Get(wordMerged) >= uint64(w.number(epoch, round)) {
			break
		}
		w.Await(rank, tick)
	}
	return nil
}

// MergeDue returns the round of the open epoch after which the workers wait for the other nodes next, and whether
// all do: then no worker touches the weights until Merged. False too if they will not wait any more in this epoch.
func (w *Block) MergeDue(epoch uint64) (round int, due bool) {
	for round = w.First(epoch); round < w.Plan.Rounds; round++ {
		if !w.Plan.NodesMeet(round) || w.Get(wordMerged) >= uint64(w.number(epoch, round)) {
			continue
		}
		_, averaged := w.Tickets(epoch, round)
		for rank := range w.Plan.Workers {
			if w.Barrier.Arrived(rank) < averaged {
				return round, false
			}
		}
		return round, true
	}
	return round, false
}

// Merged lets the workers continue after a round: the weights are averaged with the other nodes.
func (w *Block) Merged(epoch uint64, round int) {
	w.Set(wordMerged, uint64(w.number(epoch, round)))
	w.Tick()
}
