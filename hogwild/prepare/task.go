package prepare

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
	"hogwild/hogwild/plan"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/score"
	"hogwild/hogwild/tuning"
	"hogwild/hogwild/worker"
	"hogwild/internal/atomicfile"
	"hogwild/internal/human"
)

// Task reads the data, and finds the model that fits them. anyNumber: the user named no number of workers.
func Task(r *core.Run, anyNumber bool) error {
	c := &r.Job
	defer r.Report.During("reading " + rundir.DataText(c.Asked.Data) + " ...")()
	if err := r.Do.Tell(core.Reading{}); err != nil {
		return err
	}
	var err error
	if r.Backend, err = worker.Backend(&c.Asked); err == nil {
		r.Machine.GPUs, err = r.Backend.GPUs(&c.Asked)
	}
	if err != nil {
		return config.Usage("%w", err)
	}
	if err = keepTrace(&c.Asked); err != nil {
		return err
	}
	if r.Train == nil {
		s, err := c.Asked.ReadSets(data.Options{Memory: r.Options.TrainData, TestMemory: r.Options.TestData,
			Unjudged: r.Options.Unjudged})
		if err != nil {
			return err
		}
		r.Sets = s
		if err := r.Do.Tell(core.Read{HeldOut: s.HeldOut}); err != nil {
			return err
		}
	}
	if r.Train.Rows < c.Asked.Workers && anyNumber {
		c.Asked.Workers = r.Train.Rows
	}
	if r.Train.Rows < c.Asked.Workers {
		return config.Usage("workers %d: %s has only %s; use --workers %d", c.Asked.Workers, c.Asked.Data,
			human.Plural(r.Train.Rows, "training row"), r.Train.Rows)
	}
	if c.Asked.TargetAccuracy > 0 && len(r.Train.Classes) == 0 && r.Scorer == nil { // a program measures what it likes
		return config.Usage("target-accuracy %g: %s has values to predict, not classes; use target-loss",
			c.Asked.TargetAccuracy, c.Asked.Data)
	}
	auto := tuning.SettleRatings(&c.Asked, &r.Train.Meta)
	spec, err := model.Resolve(c.Asked.ModelOptions(), r.Train.Meta)
	if err != nil {
		return config.Usage("%w", err)
	}
	c.Asked.Model, c.Asked.Loss = spec.Name, string(spec.Loss)
	if err := c.Asked.CheckIdle(&r.Train.Meta); err != nil {
		return err
	}
	if err := c.Asked.CheckFamily(spec.Family()); err != nil {
		return err
	}
	c.Asked.Standard = standardOf(r, spec)
	plain, err := model.New(c.Asked.ModelOptions(), r.Train.Meta)
	if err != nil {
		return config.Usage("%w", err)
	}
	if r.Facts = tuning.Measure(&c.Asked, spec, plain, r.Train); math.IsNaN(r.Facts.RawLambda) ||
		math.IsInf(r.Facts.RawLambda, 0) {
		return config.Usage("the inputs of %s are so large that float32 does not hold their squares: leave scale out, "+
			"which standardises them, or divide them first", r.Train.Name)
	}
	if c.Asked.Tuned != "" {
		auto = append(auto, fmt.Sprintf("lr %g (%s)", c.Asked.LR, c.Asked.Tuned))
	}
	auto = slices.Concat(auto, tuning.Settle(&c.Asked, spec, r.Facts))
	// merges come on top: before a rehearsal takes time and memory
	if err := CheckMemory(r, model.Size(plain.Params())); err != nil {
		return err
	}
	r.Spec, r.Params = spec, plain.Params()
	r.Judge = score.NewJudge(spec, r.Sets)
	settled := core.Settled{Plain: plain, Auto: auto}
	if err := r.Do.Tell(&settled); err != nil {
		return err
	}
	c.Used.Auto = strings.Join(settled.Auto, ", ")
	if r.Begin != nil {
		c.Used.Auto = r.Begin.Auto
	}
	return c.Asked.CheckLRMin()
}

// standardOf is how the run learns values: one that is resumed as it did, also one from before they were standardised.
func standardOf(r *core.Run, spec model.Spec) data.Standard {
	c := &r.Job.Asked
	if r.Begin != nil || !spec.Standardizes() {
		return c.Standard
	}
	if was, err := rundir.SavedConfig(c.Resume); c.Resume != "" && err == nil {
		return was.Standard
	}
	return data.StandardOf(r.Train.Y, spec.Bias)
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

// CheckMemory refuses a number of weights that memory has no room for: with the optimizers' state, shared and in
// the copy that is saved, and what each worker has of its own or between two merges.
func CheckMemory(r *core.Run, p int) error {
	c := &r.Job
	copies := 2 * (1 + c.Asked.Optimizers()*c.Asked.Optimizer.Slots())
	if c.Asked.Mode.Traits().Barrier {
		copies += c.Asked.Workers
	} else if c.Used.MergeEvery > 1 {
		copies += 2 * c.Asked.Workers
	}
	if c.Asked.Mode.Grid > 0 { // each worker's of two ranges
		copies += plan.CeilDiv(2*c.Asked.Workers, c.Asked.Mode.Grid)
	}
	if c.Asked.Program != "" {
		copies++ // it maps one
	}
	need := min(4*float64(p)*float64(copies), math.MaxInt64/2) // some are more than an int64 counts
	if err := r.Sets.MayTake(c.Asked.MemoryLimit(), int64(need), "model "+c.Asked.Model,
		human.Count(int64(p))+" weights"); err != nil {
		return config.Usage("%w", err)
	}
	return nil
}

// Profiles refuses files of profiles that cannot be written.
func Profiles(o *core.Options) error {
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
