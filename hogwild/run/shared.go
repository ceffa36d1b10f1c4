package run

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/device"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/worker"
	"hogwild/hogwild/workers"
	"hogwild/shm"
)

// shared is the memory that the processes of the run share, and the processes.
type shared struct {
	*task
	owner     device.Owner  // of the device memory
	setup     *device.Setup // what it sees of the rest
	block     *control.Block
	announced control.Header // what workers are told
	mem       *control.Weights
	workers   *workers.Set
	aside     sync.WaitGroup // goroutines that look into shared memory: all end before it is unmapped
	busy      bool           // an evaluation runs, or a save: it uses the copy of the weights

	patience    time.Duration   // see ask
	interrupted <-chan struct{} // closed by a signal, or when the caller wants no more
	cause       func() error    // why it was
	silenced    context.Context // done once the GPU was waited for in vain; its cause is a silence
	giveUp      context.CancelCauseFunc
}

// own makes the memory of the place where the weights are to be.
func (r *shared) own() error {
	b, err := worker.Backend(&r.job.Asked)
	if err != nil {
		return err
	}
	job := r.job // as it is now: see renewSetup
	if r.setup, err = device.NewSetup(&job, r.mem, r.train); err != nil {
		return err
	}
	if r.owner, err = b.Own(r.setup); err != nil {
		return config.Usage("%w", err)
	}
	return nil
}

// renewSetup has the device's owner see the job and the shared memory as they are now.
func (r *shared) renewSetup() error {
	m, err := control.OpenWeights(r.mem.Seg, &r.job)
	if err != nil {
		return err
	}
	job := r.job
	setup, err := device.NewSetup(&job, m, r.train)
	if err != nil {
		return err
	}
	r.mem, *r.setup = m, *setup
	return nil
}

// startOf is where a run begins that continues at a position.
func (r *shared) startOf(p *rundir.Position) control.Start {
	s := control.Start{Epoch: p.Epoch, Rounds: p.Rounds}
	if p.Within {
		s.Base, s.Round, s.Longer = p.Base, p.Round, max(1, p.Longer)
	}
	if s.Rounds == 0 { // another mode trained until then: the states of optimizers are as old as with rounds
		s.Rounds = int(p.Epoch-1) * r.block.Plan.Rounds
	}
	return s
}

// startStates gives each new worker an optimizer's state. In sync mode, where all are at rest,
// it is worker 0's: it has seen as much as the weights have. In async it begins with none.
func (r *shared) startStates(from int) {
	if !r.job.Asked.PrivateState() {
		return
	}
	for rank := from; rank < r.job.Asked.Workers; rank++ {
		o := r.mem.Optimizers[rank]
		*o.Steps = 0
		if r.block.Plan.Barrier {
			*o.Steps = *r.mem.Optimizers[0].Steps
		}
		for i := range o.Slots {
			clear(o.Slots[i])
			if r.block.Plan.Barrier {
				copy(o.Slots[i], r.mem.Optimizers[0].Slots[i])
			}
		}
	}
}

// listen turns the workers' calls into a channel, until the run stops, which calls
// for the last time. A call that nobody has heard yet stands for those after it.
func (r *shared) listen() <-chan struct{} {
	calls := make(chan struct{}, 1)
	word := &r.block.Futexes[control.FutexCall]
	r.aside.Go(func() {
		for {
			seen := atomic.LoadUint32(word)
			select {
			case calls <- struct{}{}:
			default:
			}
			if r.block.Stopped() || shm.Wait(word, seen, time.Second) != nil {
				return
			}
		}
	})
	return calls
}

// hold has workers wait before their next chunk, until letGo.
func (r *shared) hold() {
	r.block.Set(control.WordPause, 1)
	r.block.Tick()
	r.block.Call() // they may all be waiting already
}

// quiet reports whether nobody is within a chunk. One who is paused keeps the others
// from getting beyond their barrier, so waiting there is quiet too.
func (r *shared) quiet() bool {
	paused := false
	for rank := range r.workers.Most() {
		if r.workers.Left(rank) {
			continue
		}
		switch r.block.Rank(rank, control.RankState) {
		case control.StatePaused:
			paused = true
		case control.StateWaiting, control.StateGone:
		default:
			return false
		}
	}
	return paused
}

// complete reports whether the open epoch is: every chunk done or lost, and in
// barrier mode the last average taken.
func (r *shared) complete() bool {
	if left, _, _, _ := r.block.Progress(); left > 0 {
		return false
	}
	return !r.block.Plan.Barrier || r.roundDone(r.block.Plan.Rounds-1)
}

// roundDone reports whether all chunks of a round are done, and it is averaged.
func (r *shared) roundDone(round int) bool {
	_, averaged := r.block.Tickets(r.block.Get(control.WordEpoch), round)
	if round < r.block.First(r.block.Get(control.WordEpoch)) {
		return true // before this run resumed
	}
	for rank := range r.job.Asked.Workers {
		if r.block.Barrier.Arrived(rank) < averaged {
			return false
		}
	}
	return true
}

// lastDone is when the last chunk of the open epoch was done. In barrier mode an average comes after
// it, between nodes a round: just now.
func (r *shared) lastDone() (at uint64) {
	if r.block.Plan.Barrier || r.several() {
		return control.Monotonic()
	}
	for rank := range r.workers.Most() {
		at = max(at, r.block.Rank(rank, control.RankDone))
	}
	return at
}

// began is when the first worker was ready to train; at the end of time if none is yet.
func (r *shared) began() uint64 {
	first := uint64(math.MaxUint64)
	for rank := range r.job.Asked.Workers {
		if t := r.block.Rank(rank, control.RankBegan); t != 0 {
			first = min(first, t)
		}
	}
	return first
}

// secondHalfLoss returns the mean loss of the second half of the open epoch, all of which is done;
// of an epoch of one chunk it is that of the whole.
func (r *shared) secondHalfLoss() float64 {
	p, epoch := &r.block.Plan, int(r.block.Get(control.WordEpoch))-1
	sum, n := 0.0, 0
	for i := range p.Chunks() {
		c := p.At(epoch, i)
		state, loss := r.block.Chunk(i)
		if state == control.ChunkDone && (p.Chunks() == 1 || c.Seen-int64(epoch)*int64(p.N) >= int64(p.N/2)) {
			sum, n = sum+loss, n+c.Count
		}
	}
	return sum / float64(n)
}

// instruments are those of all workers together.
func (r *shared) instruments() *control.Instruments {
	sum, waited := make(control.Record, control.RecordWords), uint64(0)
	for rank, one := range r.mem.Records[:r.workers.Most()] {
		sum.Plus(one)
		waited += r.block.Rank(rank, control.RankWaited)
	}
	return sum.Instruments(float64(waited) / 1e9)
}

// shares adds up the workers of each device, in the order of ranks; nil if there is one
// device only.
func (r *shared) shares(workers []rundir.WorkerStatus) (all []rundir.Share) {
	total := int64(0)
	for _, w := range workers {
		device := r.owner.Where(w.Rank)
		i := slices.IndexFunc(all, func(s rundir.Share) bool { return s.Device == device })
		if i < 0 {
			i = len(all)
			all = append(all, rundir.Share{Device: device})
		}
		all[i].Examples += w.Examples
		total += w.Examples
	}
	if len(all) < 2 {
		return nil
	}
	for i := range all {
		all[i].Share = float64(all[i].Examples) / float64(max(total, 1))
	}
	return all
}

// trainMetrics are the means that the programs tell of in the open epoch.
func (r *shared) trainMetrics() map[string]float64 { return control.Means(r.mem.Measures) }

// ownRate reports whether a program's optimizer takes the steps, at a rate that is not the run's.
func (r *shared) ownRate() bool {
	return r.mem != nil && slices.ContainsFunc(r.mem.Measures, control.Measures.OwnRate)
}

// programOf is the process of a program that a worker waits for, or waited for when it died; 0: there is none.
func (r *shared) programOf(rank int) int {
	if r.job.Asked.Program == "" {
		return 0
	}
	return int(r.block.Rank(rank, control.RankProgram))
}

// insider is device memory that no other process may be able to open. Then there is one rank,
// and it trains in the coordinator's process.
type insider interface{ Inside() bool }

// startsInside reports whether the memory is such.
func (r *shared) startsInside() bool {
	o, ok := r.owner.(insider)
	return ok && o.Inside()
}

// mayStartInside reports whether the rank of a worker that cannot start may be tried here. A program is another process
// in any case.
func (r *shared) mayStartInside() bool {
	_, ok := r.owner.(insider)
	return ok && r.job.Asked.Workers == 1 && r.job.Asked.Program == ""
}

// release gives back what a dead worker had: its chunks, its locks, its turn.
func (r *shared) release(rank int) {
	if pid := r.programOf(rank); pid != 0 {
		r.workers.Orphan(pid)
	}
	r.mem.FreeLocks(rank)
	r.mem.PassTicket(rank)
	r.block.Release(rank)
}
