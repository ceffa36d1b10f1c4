package run

import (
	"fmt"
)

// prepare does all that can fail because of what the user gave, before any process
// is started: data, model, memory, what is resumed, the run folder.
func (r *coordinator) prepare() error {
	var err error
	_ = r.Peers.Together(func() error { err = r.take(); return nil }) // the error is this node's: all hear of it now
	if err = r.settleJob(err); err != nil {
		return err // all nodes have one
	}
	if err = r.Peers.Agree(nil, makeMemory(r.crew.Run)); err != nil {
		return err
	}
	if err = writeWeights(r.crew.Run); err == nil {
		err = r.snapshots.noteCopied(r.Mem.Owner.Upload())
	}
	if err == nil {
		r.Rounds, err = r.Peers.Start(r.Mem, r.Resumed, &r.Position, r.Diverged)
	}
	if err = r.Peers.Agree(nil, err); err == nil {
		_, err = r.Rounds.Align() // processors with other instructions may round the first weights in another way
	}
	if err == nil {
		r.early.Lock()
		r.making = true
		r.early.Unlock()
		err = prepareFolder(r.crew.Run)
	}
	return r.Peers.Agree(nil, err)
}

// take locks the run folder and reads the data.
func (r *coordinator) take() error {
	r.early.Lock()
	err := claimFolder(r.crew.Run)
	r.early.Unlock()
	if err == nil {
		err = checkProfiles(&r.Options)
	}
	if err == nil {
		err = settleTask(r.crew.Run, r.anyNumber)
	}
	return err
}

// settleJob decides what the run decides for itself, the same on all nodes.
func (r *coordinator) settleJob(own error) error {
	var data []string
	if own == nil {
		data = []string{r.Task.Train.Checksum, r.Task.Test.Checksum, fmt.Sprint(r.Task.Train.Rows)}
	}
	note, err := r.Peers.Settle(&r.Job, data, own, r.Choose)
	if note != "" {
		r.Report.Event("%s", note)
	}
	if r.Options.OnPlan != nil {
		r.Options.OnPlan(r.Job.Asked.Epochs)
	}
	return err
}
