package core

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/device"
	"hogwild/hogwild/tuning"
	"hogwild/hogwild/workers"
)

// Memory is what the processes of a run share, and the processes.
type Memory struct {
	Job        *tuning.Job  // of the run
	Owner      device.Owner // of the device memory
	Traits     device.Traits
	Block      *control.Block
	Announced  control.Header // what workers are told
	Weights    *control.Weights
	Workers    *workers.Set
	Background sync.WaitGroup // goroutines that look into shared memory: all end before it is unmapped
	Busy       bool           // an evaluation runs, or a save: it uses the copy of the weights

	DeviceTimeout time.Duration   // see CallDevice
	Interrupted   <-chan struct{} // closed by a signal, or when the caller wants no more
	Hung          context.Context // done once the GPU was waited for in vain; its cause is a deviceHung
	markHung      context.CancelCauseFunc

	setup *device.Setup // what the owner sees of the rest
}

// Own makes the memory of the place where the weights are to be.
func (r *Run) Own() (err error) {
	job := r.Job // as it is now: see Renew
	if r.Mem.setup, err = device.NewSetup(&job, r.Mem.Weights, r.Task.Train); err != nil {
		return err
	}
	if r.Mem.Owner, err = r.Task.Backend.Own(r.Mem.setup); err != nil {
		return config.Usage("%w", err)
	}
	r.Mem.Traits = r.Mem.Owner.Traits()
	return nil
}

// Renew has the device's owner see the job and the shared memory as they are now.
func (r *Run) Renew() error {
	m, err := control.OpenWeights(r.Mem.Weights.Seg, &r.Job)
	if err != nil {
		return err
	}
	job := r.Job
	setup, err := device.NewSetup(&job, m, r.Task.Train)
	if err != nil {
		return err
	}
	r.Mem.Weights, *r.Mem.setup = m, *setup
	return nil
}

// Quiet reports whether no worker is within a chunk. One that is paused keeps the others
// from getting beyond their barrier, so waiting there is quiet too.
func (r *Memory) Quiet() bool {
	paused := false
	for rank := range r.Workers.Capacity() {
		if r.Workers.State(rank) == workers.Left {
			continue
		}
		switch r.Block.Rank(rank, control.RankState) {
		case control.StatePaused:
			paused = true
		case control.StateWaiting, control.StateGone:
		default:
			return false
		}
	}
	return paused
}

// Complete reports whether the open epoch is: every chunk done or lost, and in
// barrier mode the last average taken.
func (r *Memory) Complete() bool {
	if left, _, _, _ := r.Block.Progress(); left > 0 {
		return false
	}
	return !r.Block.Plan.Barrier || r.RoundDone(r.Block.Plan.Rounds-1)
}

// RoundDone reports whether all chunks of a round are done, and it is averaged.
func (r *Memory) RoundDone(round int) bool {
	_, averaged := r.Block.Tickets(r.Block.Get(control.WordEpoch), round)
	if round < r.Block.First(r.Block.Get(control.WordEpoch)) {
		return true // before this run resumed
	}
	for rank := range r.Job.Asked.Workers {
		if r.Block.Barrier.Arrived(rank) < averaged {
			return false
		}
	}
	return true
}

// began returns when the first worker was ready to train, at the end of time if none is yet.
func (r *Memory) began() uint64 {
	first := uint64(math.MaxUint64)
	for rank := range r.Job.Asked.Workers {
		if t := r.Block.Rank(rank, control.RankBegan); t != 0 {
			first = min(first, t)
		}
	}
	return first
}

// Instruments returns the figures of all workers together.
func (r *Memory) Instruments() *control.Instruments {
	sum, waited := make(control.Record, control.RecordWords), uint64(0)
	for rank, one := range r.Weights.Records[:r.Workers.Capacity()] {
		sum.Plus(one)
		waited += r.Block.Rank(rank, control.RankWaited)
	}
	in := sum.Instruments(float64(waited) / 1e9)
	for i, table := range r.setup.Tables() {
		if one := sum.Table(i, table.Name); one.Samples > 0 {
			in.Tables = append(in.Tables, one)
		}
	}
	return in
}

// OwnRate reports whether a program's optimizer takes the steps, at a rate that is not the run's.
func (r *Memory) OwnRate() bool {
	return r.Weights != nil && slices.ContainsFunc(r.Weights.Measures, control.Measures.OwnRate)
}

// ProgramOf returns the process of a program that a worker waits for, or waited for when it died; 0: there is none.
func (r *Memory) ProgramOf(rank int) int {
	if r.Job.Asked.Program == "" {
		return 0
	}
	return int(r.Block.Rank(rank, control.RankProgram))
}

// Release gives back what a dead worker had: its chunks, its locks, its turn.
func (r *Memory) Release(rank int) {
	if pid := r.ProgramOf(rank); pid != 0 {
		r.Workers.Orphan(pid)
	}
	if r.Job.Asked.Mode.Grid > 0 {
		if i := r.Block.InHand(rank + 1)[rank]; i > 0 {
			r.Owner.PutBack(rank, r.Block.Plan.At(int(r.Block.Get(control.WordEpoch)-1), i-1))
		}
	}
	r.Weights.FreeLocks(rank)
	r.Weights.PassTicket(rank)
	r.Block.Release(rank)
}
