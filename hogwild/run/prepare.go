package run

import (
	"context"
	"fmt"
	"sync"

	"hogwild/hogwild/config"
	"hogwild/hogwild/core"
	"hogwild/hogwild/crew"
	"hogwild/hogwild/data"
	"hogwild/hogwild/prepare"
)

// coordinator is the life of a run.
type coordinator struct {
	*scorer
	*crew.Crew
	abilities  []core.Ability
	anyNumber  bool                    // the user named no number of workers
	secondHalf float64                 // mean loss of the second half of the last epoch
	cancel     context.CancelCauseFunc // ends the run
	next       *coordinator            // carries on from this one
	early      sync.Mutex              // of the lock on the folder, until the run has begun to make it
	making     bool                    // it has
}

func newCoordinator(c config.Config, o core.Options) *coordinator {
	r := &coordinator{abilities: abilities()}
	run := core.New(c, o, r)
	r.Crew = &crew.Crew{Run: run}
	r.scorer = &scorer{&keeper{saver: &saver{Run: run, evaluated: make(chan evaluation, 1)}}}
	return r
}

// prepare does all that can fail because of what the user gave, before any process
// is started: data, model, memory, what is resumed, the run folder.
func (r *coordinator) prepare() error {
	var err error
	_ = r.Peers.Together(func() error { err = r.take(); return nil }) // the error is this node's: all hear of it now
	if err = r.settleJob(err); err != nil {
		return err // all nodes have one
	}
	if err = r.Peers.Agree(nil, prepare.Memory(r.Run)); err != nil {
		return err
	}
	if err = prepare.Weights(r.Run); err == nil {
		err = r.renewed(r.Owner.Upload())
	}
	if err == nil {
		r.Rounds, err = r.Peers.Start(r.Memory, r.Resumed, &r.Position)
	}
	if err = r.Peers.Agree(nil, err); err == nil {
		_, err = r.Rounds.Align() // processors with other instructions may round the first weights in another way
	}
	if err == nil {
		r.early.Lock()
		r.making = true
		r.early.Unlock()
		err = prepare.Folder(r.Run)
	}
	return r.Peers.Agree(nil, err)
}

// take locks the run folder and reads the data.
func (r *coordinator) take() error {
	r.early.Lock()
	err := prepare.Claim(r.Run)
	r.early.Unlock()
	if err == nil {
		err = prepare.Profiles(&r.Options)
	}
	if err == nil {
		err = prepare.Task(r.Run, r.anyNumber)
	}
	return err
}

// settleJob decides what the run decides for itself, the same on all nodes.
func (r *coordinator) settleJob(own error) error {
	var data []string
	if own == nil {
		data = []string{r.Train.Checksum, r.Test.Checksum, fmt.Sprint(r.Train.Rows)}
	}
	note, err := r.Peers.Settle(&r.Job, data, own, r.Choose)
	if note != "" {
		r.Report.Event("%s", note)
	}
	return err
}

// close gives back whatever was made.
func (r *coordinator) close() {
	defer close(r.Closed)
	defer r.Folder.Close()
	r.Interrupted = nil        // the run has ended: this is no time for hurry
	_ = r.Tell(&core.Closes{}) // while the folder is locked
	unkillable := r.Workers != nil && !r.Workers.Close(r.Patience/core.Hurry)
	if r.Owner != nil && !unkillable {
		_ = r.Ask(r.Patience, r.Owner.Close) // after the last use: there is nothing left to lose
	}
	if r.Silenced.Err() != nil || unkillable {
		return // who does not return may yet use the shared memory: it goes when this process ends
	}
	if r.Block != nil {
		_ = r.Block.Seg.Close()
	}
	if r.Mem != nil {
		_ = r.Mem.Seg.Close()
	}
	for _, s := range []*data.Set{r.Train, r.Validation, r.Test} {
		if s != nil && !r.Borrowed {
			_ = s.Close()
		}
	}
}
