package bench

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/rundir"
	"hogwild/internal/atomicfile"
	"hogwild/internal/human"
)

// resultsFile is what an experiment's folder holds of it.
const resultsFile = "results.json"

// ReadExperiment reads the results.json of a folder, or such a file. Errors match
// config.ErrUsage.
func ReadExperiment(path string) (*Experiment, error) {
	if s, err := os.Stat(path); err == nil && s.IsDir() {
		path = filepath.Join(path, resultsFile)
	}
	text, err := atomicfile.Read(path, mostJSON)
	if errors.Is(err, os.ErrNotExist) {
		return nil, usage("%s does not exist: name the folder of a bench or sweep that has results", path)
	}
	e := &Experiment{}
	if err == nil && !json.Valid(text) {
		return nil, usage("%s: neither a run folder nor the results of an experiment (results.json)", path)
	}
	if err == nil {
		err = json.Unmarshal(text, e)
	}
	if err == nil && (e.Kind == "" || len(e.Cases) == 0) {
		err = errors.New("it has no cases")
	}
	if err != nil {
		return nil, usage("%s: not results of an experiment: %v", path, err)
	}
	return e, nil
}

// save writes results.json.
func (w *work) save(e *Experiment) error {
	return WriteFile(filepath.Join(w.Folder, resultsFile), e.WriteJSON)
}

// experiment is what the trials come to so far; nil if there are none.
func (w *work) experiment() *Experiment {
	p := w.plan
	e := &Experiment{Kind: p.Kind, Name: p.Name, About: p.About, Command: p.Command, Version: config.Version,
		Commit: rundir.Commit(), Machine: rundir.ThisMachine(), Seeds: p.Seeds, SameLR: p.SameLR,
		Notes: p.Notes, Commands: map[string][]Number{}}
	gpus := map[string]bool{}
	for i, c := range p.Cases {
		e.Cases = append(e.Cases, measured(c, w.trials[i]))
		for _, t := range w.trials[i] {
			took := math.NaN()
			if t != nil && t.Failed == "" {
				took = t.Took
			}
			e.Commands[c.Name] = append(e.Commands[c.Name], Number(took))
			if t == nil {
				continue
			}
			if e.Time.IsZero() || t.Time.Before(e.Time) {
				e.Time = t.Time
			}
			if t.Result != nil {
				for _, name := range t.Result.Machine.GPUs {
					gpus[name] = true
				}
			}
		}
	}
	if e.Time.IsZero() {
		return nil
	}
	e.Time = e.Time.Truncate(time.Second)
	e.Machine.GPUs = slices.Sorted(maps.Keys(gpus))
	e.setTargets(p.TargetLoss)
	return e
}

// measured is a case with what its trials, one for each seed, come to.
func measured(c Case, trials []*trial) Measured {
	m := Measured{Case: c, Mode: config.Default().Mode.String()}
	for _, s := range c.Settings { // until a run says so itself
		switch s.Flag {
		case "mode":
			m.Mode = s.Value
		case "workers":
			m.Workers, _ = strconv.Atoi(s.Value)
		case "nodes":
			m.Nodes, _ = strconv.Atoi(s.Value)
		}
	}
	stale := map[uint64]uint64{}
	for _, t := range trials {
		r, failed := &rundir.Result{}, notRun
		var history []rundir.EpochResult
		if t != nil {
			failed, history = t.Failed, t.History
			m.describe(t)
			if t.Result != nil {
				r = t.Result
			}
		}
		m.Failed, m.Diverged = append(m.Failed, failed), append(m.Diverged, t != nil && t.Diverged)
		m.Histories = append(m.Histories, history)
		m.add(r, failed == "")
		for _, bar := range instruments(r).StalenessHistogram {
			stale[uint64(bar[0])] += uint64(bar[1])
		}
	}
	for _, least := range slices.Sorted(maps.Keys(stale)) {
		m.Staleness = append(m.Staleness, [2]uint64{least, stale[least]})
	}
	return m
}

// describe sets what is the same in all repeats, or as the last one has it.
func (m *Measured) describe(t *trial) {
	if t.Config.Workers > 0 { // it came as far as to have settings
		m.Config = t.Config
		m.Config.Seed, m.Config.Run = 0, "" // of one repeat
		m.Mode, m.Workers = t.Config.Mode.String(), t.Config.Workers
	}
	if r := t.Result; r != nil {
		m.Mode, m.Workers, m.Device, m.Batch, m.Notes = r.Mode, r.Workers, r.Device, r.Batch, r.Notes
		m.Parameters, m.Values, m.Flops = r.Parameters, Number(r.ValuesPerExample), Number(r.FlopsPerExample)
	}
}

// add appends the figures of a repeat to the lists, NaN if it is not ok.
func (m *Measured) add(r *rundir.Result, ok bool) {
	put := func(list *[]Number, x float64, exists bool) {
		if !ok || !exists {
			x = math.NaN()
		}
		*list = append(*list, Number(x))
	}
	optional := func(list *[]Number, x *float64) {
		if x == nil {
			put(list, 0, false)
		} else {
			put(list, *x, true)
		}
	}
	put(&m.LRUsed, r.LRUsed, true)
	put(&m.Examples, float64(r.Examples), true)
	put(&m.Seconds, r.Seconds, true)
	put(&m.ExamplesPerSecond, r.ExamplesPerSecond, true)
	put(&m.WallSeconds, r.WallSeconds, r.WallSeconds > 0)
	put(&m.StartupSeconds, r.StartupSeconds, true)
	put(&m.TrainLoss, r.TrainLoss, true)
	put(&m.TestLoss, r.TestLoss, true)
	optional(&m.TestAccuracy, r.TestAccuracy)
	optional(&m.TestRMSE, r.TestRMSE)
	optional(&m.TestR2, r.TestR2)
	in := instruments(r)
	sampled := in.StalenessSamples > 0
	put(&m.StalenessMean, in.StalenessMean, sampled)
	put(&m.StalenessP99, float64(in.StalenessP99), sampled)
	put(&m.LostUpdates, in.LostUpdates, sampled)
	put(&m.LostBelow, in.LostBelow, in.LostSamples > 0)
	put(&m.Conflicts, in.Conflicts, sampled)
	put(&m.BarrierWait, in.BarrierWait, r.Instruments != nil)
	if m.Nodes > 1 {
		n := r.Nodes
		if n == nil {
			n, ok = &rundir.Nodes{}, false
		} else {
			m.Library = n.Library
		}
		put(&m.NodeRounds, float64(n.Rounds), true)
		put(&m.NodeBytes, float64(n.Bytes), true)
		put(&m.SumSeconds, n.SumSeconds, true)
		put(&m.WaitSeconds, n.WaitSeconds, true)
	}
	var rates []Number
	for _, w := range r.PerWorker {
		rates = append(rates, Number(w.Rate))
	}
	m.WorkerRate = append(m.WorkerRate, rates)
}

// instruments are those of a result, all zero if it has none.
func instruments(r *rundir.Result) *control.Instruments {
	if r.Instruments == nil {
		return &control.Instruments{}
	}
	return r.Instruments
}

// WriteJSON writes results.json, with the best cases of a sweep.
func (e *Experiment) WriteJSON(w io.Writer) error {
	return human.WriteJSON(w, struct {
		*Experiment
		Best []Best `json:"best,omitempty"`
	}{e, e.bests()})
}
