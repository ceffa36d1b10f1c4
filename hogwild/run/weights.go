package run

import (
	"fmt"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/core"
	"hogwild/hogwild/model"
	"hogwild/hogwild/program"
	"hogwild/hogwild/rundir"
)

// writeWeights writes the first weights: the model's own, or the weights of the run to resume.
func writeWeights(r *core.Run) error {
	r.Position = rundir.Position{Epoch: 1}
	from := r.Job.Asked.Resume
	if r.Rollback != nil {
		from = r.Rollback.Snapshot
	}
	if from != "" {
		return resumeFrom(r, from)
	}
	if err := r.Notify(&core.Begins{New: true}); err != nil {
		return err
	}
	r.FirstWeights(r.Task.Model, r.Mem.Weights.W)
	if init := r.Hooks.Init; init != nil {
		if err := init(); err != nil {
			return err
		}
	}
	model.ToStandard(r.Job.Asked.Standard, r.Task.Trained, r.Mem.Weights.W)
	if c, ok := model.CenteredOf(r.Task.Trained); ok && r.Job.Used.MergesCentered() {
		c.ToMerged(r.Mem.Weights.W, r.Task.Train.Mean)
	}
	return nil
}

// resumeFrom reads the snapshot of a folder, and continues from it.
func resumeFrom(r *core.Run, from string) error {
	f, err := readSnapshot(r, from)
	if err != nil {
		return err
	}
	if l := f.Job.Asked.Layout; l != nil && r.Job.Asked.Layout != nil {
		if err := program.Compare(l, r.Job.Asked.Layout); err != nil {
			return config.Usage("resume %s: %w", from, err)
		}
	}
	if err := f.SameData(&r.Job.Asked, r.Task.Train.Checksum); err != nil {
		return err
	}
	s, err := f.Load(&r.Job, r.Task.Params, r.Task.Trained, r.Task.Train.Mean)
	f.Release()
	if err != nil {
		return err
	}
	if err := s.CheckResume(&r.Job, r.Task.Train.Meta); err != nil {
		return err
	}
	if err := s.Check(r.Task.Params, r.Task.Trained); err != nil {
		return err
	}
	r.Position, r.Copy.Best, r.Copy.Damaged = s.Pos, s.Best, s.Damaged
	r.EarlierWall = s.Pos.Wall
	if f.Damage != nil {
		r.Report.Event("%v; the run continues from the previous snapshot, after epoch %d", f.Damage, s.Pos.Epoch-1)
	}
	if err := checkPosition(r, &s.Pos); err != nil {
		return err
	}
	if n := len(r.Position.History); n > 0 {
		r.Last = &r.Position.History[n-1]
	}
	r.Mem.Announced.Start = startOf(r, &s.Pos)
	if err := r.Mem.Block.Announce(r.Mem.Announced); err != nil {
		return err
	}
	if s.Pos.Within {
		r.Mem.Block.Set(control.WordEpoch, s.Pos.Epoch) // whose chunks these are
	}
	r.Resumed = s
	if err := r.Notify(&core.Begins{}); err != nil {
		return err
	}
	return s.Restore(r.Mem.Weights, r.Mem.Block, r.Job.Asked.Optimizer)
}

// checkPosition refuses to resume a run that has come to its end. If it was killed before it could report, it has
// ended already, and is concluded.
func checkPosition(r *core.Run, at *rundir.Position) error {
	done, epochs, from := int(at.Epoch)-1, r.Job.Asked.Epochs, r.Job.Asked.Resume
	trained := func() error {
		if done < epochs {
			return nil
		}
		are := "s are"
		if done == 1 {
			are = " is"
		}
		return config.Usage("resume %s: its %d epoch%s done; raise --epochs to train further", from, done, are)
	}
	e := &core.Resumes{At: at, Reported: r.Rollback != nil || at.Within || r.Peers.First() && concluded(from, done)}
	if err := trained(); err != nil && e.Reported {
		return err
	}
	if err := r.Notify(e); err != nil {
		return err
	}
	if !e.Reported && (done == epochs || e.Over != "") {
		r.End.Reason, r.End.AlreadyTrained = e.Over, true
		r.Report.Say(fmt.Sprintf("resume %s: all of it is trained; what is missing is the report", from))
		return nil
	}
	return trained()
}

// concluded reports whether the run in a folder has reported its end, after this many epochs.
func concluded(folder string, epochs int) bool {
	was, err := rundir.ReadSummary(folder)
	return err == nil && was.Result != nil && was.Result.Epochs == epochs && was.Ended() == rundir.Done
}

// readSnapshot reads the snapshot to resume: of several nodes the first does, and gives it to all.
func readSnapshot(r *core.Run, dir string) (*rundir.Saved, error) {
	var f *rundir.Saved
	file, err := r.Peers.Share(func() (file []byte, err error) {
		if f = r.Options.Snapshot; f == nil || r.Rollback != nil || !f.IsNewest(dir) {
			f, err = rundir.ReadSnapshot(dir)
		}
		if err == nil {
			file = f.Bytes
		}
		return file, err
	})
	if err != nil || f != nil {
		return f, err
	}
	return rundir.ParseSnapshot(file)
}

// startOf returns where a run begins that continues at a position.
func startOf(r *core.Run, p *rundir.Position) control.Start {
	s := control.Start{Epoch: p.Epoch, Rounds: p.Rounds}
	if p.Within {
		s.Base, s.Round, s.Longer = p.Base, p.Round, max(1, p.Longer)
	}
	if s.Rounds == 0 { // another mode trained until then: the states of optimizers are as old as with rounds
		s.Rounds = int(p.Epoch-1) * r.Mem.Block.Plan.Rounds
	}
	return s
}
