package run

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"hogwild/hogwild/clock"
	"hogwild/hogwild/config"
	"hogwild/hogwild/core"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/score"
	"hogwild/hogwild/tuning"
	"hogwild/hogwild/worker"
	"hogwild/internal/atomicfile"
	"hogwild/internal/human"
)

// settleTask reads the data, and finds the model that fits them. anyNumber: the user named no number of workers.
func settleTask(r *core.Run, anyNumber bool) error {
	c := &r.Job
	defer r.Report.During("reading " + rundir.DataText(c.Asked.Data) + " ...")()
	if err := r.Notify(&core.Reading{}); err != nil {
		return err
	}
	var err error
	if r.Task.Backend, err = worker.Backend(&c.Asked); err == nil {
		r.Task.Machine.GPUs, err = r.Task.Backend.GPUs(&c.Asked)
	}
	if err != nil {
		return config.Usage("%w", err)
	}
	if err = keepTrace(&c.Asked); err != nil {
		return err
	}
	if r.Task.Train == nil {
		if err := readSets(r); err != nil {
			return err
		}
	}
	if c.Asked.Mode.Grid == 0 {
		c.Asked.Apart = r.Task.Train.Grid
	}
	if r.Task.Train.Rows < c.Asked.Workers && anyNumber {
		c.Asked.Workers = r.Task.Train.Rows
	}
	if r.Task.Train.Rows < c.Asked.Workers {
		return config.Usage("workers %d: %s has only %s; use --workers %d", c.Asked.Workers, c.Asked.Data,
			human.Plural(r.Task.Train.Rows, "training row"), r.Task.Train.Rows)
	}
	// a program measures what it likes
	if c.Asked.TargetAccuracy > 0 && len(r.Task.Train.Classes) == 0 && r.Hooks.Program == nil {
		return config.Usage("target-accuracy %g: %s has values to predict, not classes; use target-loss",
			c.Asked.TargetAccuracy, c.Asked.Data)
	}
	auto := tuning.SettleRatings(&c.Asked, &r.Task.Train.Meta)
	spec, err := model.Resolve(c.Asked.ModelOptions(), r.Task.Train.Meta)
	if err != nil {
		return config.Usage("%w", err)
	}
	c.Asked.Model, c.Asked.Loss = spec.Name, string(spec.Loss)
	if err := c.Asked.CheckIdle(&r.Task.Train.Meta); err != nil {
		return err
	}
	if err := c.Asked.CheckFamily(spec.Family()); err != nil {
		return err
	}
	if err := weigh(r, spec.Family()); err != nil {
		return err
	}
	c.Asked.Standard = standardOf(r, spec)
	plain, err := model.New(c.Asked.ModelOptions(), r.Task.Train.Meta)
	if err != nil {
		return config.Usage("%w", err)
	}
	if r.Task.Facts = tuning.Measure(&c.Asked, spec, plain, r.Task.Train); math.IsNaN(r.Task.Facts.RawLambda) ||
		math.IsInf(r.Task.Facts.RawLambda, 0) {
		return config.Usage("the inputs of %s are so large that float32 does not hold their squares: leave scale out, "+
			"which standardises them, or divide them first", r.Task.Train.Name)
	}
	if c.Asked.Tuned != "" {
		auto = append(auto, fmt.Sprintf("lr %g (%s)", c.Asked.LR, c.Asked.Tuned))
	}
	auto = slices.Concat(auto, tuning.Settle(&c.Asked, spec, r.Task.Facts))
	// merges come on top: before a rehearsal takes time and memory
	if err := checkMemory(r, model.Size(plain.Params())); err != nil {
		return err
	}
	r.Task.Spec, r.Task.Params = spec, plain.Params()
	r.Task.Judge = score.NewJudge(spec, r.Task.Sets)
	settled := &core.Settled{Plain: plain, Auto: auto}
	if err := r.Notify(settled); err != nil {
		return err
	}
	c.Used.Auto = strings.Join(settled.Auto, ", ")
	if r.Rollback != nil {
		c.Used.Auto = r.Rollback.Auto
	}
	return c.Asked.CheckLRMin()
}

// weigh gives the training rows the weights of their classes, and refuses weights that would have no effect.
func weigh(r *core.Run, f *model.Family) error {
	c := &r.Job.Asked
	train, err := r.Task.Train.Weighed(c.ClassWeight)
	switch {
	case err != nil:
		return config.Usage("%w", err)
	case train.Weighted() && !f.Weighs:
		return config.Usage("model %s does not weigh rows: leave weight and class-weight out", c.Model)
	case train.Weighted() && c.GPU != "":
		return config.Usage("gpu %s: rows with weights are trained on cores; leave gpu out, or weight and class-weight",
			c.GPU)
	}
	r.Task.Train = train
	return nil
}

// readSets reads the data.
func readSets(r *core.Run) error {
	c := &r.Job.Asked
	c.Apart = config.KeepsApart(c)
	if was, err := rundir.SavedConfig(c.Resume); c.Resume != "" && err == nil && was.Mode == c.Mode {
		c.Apart = was.Apart // the chunks that are left are cut by it
	}
	s, err := c.ReadSets(data.Options{Memory: r.Options.TrainData, TestMemory: r.Options.TestData,
		Unjudged: r.Options.Unjudged, Apart: c.Apart})
	if err != nil {
		return err
	}
	r.Task.Sets = s
	return r.Notify(&core.Read{HeldOut: s.HeldOut})
}

// standardOf returns how the run learns values: one that is resumed as it did, also one from before they were
// standardised.
func standardOf(r *core.Run, spec model.Spec) data.Standard {
	c := &r.Job.Asked
	if r.Rollback != nil || !spec.Standardizes() {
		return c.Standard
	}
	if was, err := rundir.SavedConfig(c.Resume); c.Resume != "" && err == nil {
		return was.Standard
	}
	return data.StandardOf(r.Task.Train.Y, spec.Bias)
}

// keepTrace makes the trace of the clock part of the settings. A resumed run has it from its snapshot.
func keepTrace(c *config.Config) error {
	if c.Mode.Speeds.Kind == config.Trace && c.Traced == "" {
		if was, err := rundir.SavedConfig(c.Resume); err == nil && was.Mode == c.Mode {
			c.Traced = was.Traced
		}
	}
	return clock.KeepTrace(c)
}

// checkProfiles refuses files of profiles that cannot be written.
func checkProfiles(o *core.Options) error {
	return errors.Join(writable("cpuprofile", o.CPUProfile, atomicfile.Profile),
		writable("trace", o.Trace, atomicfile.Trace))
}

// writable returns an error if the file of a flag cannot be written, or is of another kind: better now than by worker
// 0.
func writable(flag, path string, kind atomicfile.Kind) error {
	if path == "" {
		return nil
	}
	if err := atomicfile.Check(path, kind, false); errors.Is(err, atomicfile.ErrOther) {
		return config.Usage("%s: %w", flag, err)
	}
	_, missing := os.Stat(path)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o666)
	if err == nil {
		err = f.Close()
	}
	if err == nil && missing != nil {
		err = os.Remove(path) // the run may not come so far
	}
	if err != nil {
		return config.Usage("%s: %w; name a file in a folder that can be written", flag, err)
	}
	return nil
}
