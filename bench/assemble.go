package bench

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"hogwild/hogwild/config"
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
		err = errors.Join(json.Unmarshal(text, e), e.readLists(text))
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

// experiment returns the results of the trials so far; nil if there are none.
func (w *work) experiment() *Experiment {
	p := w.plan
	e := &Experiment{Kind: p.Kind, Name: p.Name, About: p.About, Command: p.Command, Version: config.Version,
		Commit: rundir.Commit(), Machine: rundir.ThisMachine(), Seeds: p.Seeds, SameLR: p.SameLR, Notes: p.Notes}
	gpus := map[string]bool{}
	for i, c := range p.Cases {
		m, folder := measured(c, p.Seeds, w.trials[i]), w.folder(c, p.Seeds[0])
		if _, err := os.Stat(filepath.Join(folder, rundir.WeightsFile)); err == nil {
			m.Weights = folder
		}
		e.Cases = append(e.Cases, m)
		for _, t := range w.trials[i] {
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

// dropWeights removes the weights of all cases but the best of each group. Of several seeds the last one decides.
func (w *work) dropWeights() {
	e, seed := w.experiment(), w.plan.Seeds[0]
	if e == nil || !w.keeps(seed) {
		return
	}
	for _, g := range e.groups() {
		for _, c := range ByLoss(e.of(g))[1:] {
			_ = os.Remove(filepath.Join(w.folder(c.Case, seed), rundir.WeightsFile))
		}
	}
}

// measured is a case with what its trials, one for each seed, come to.
func measured(c Case, seeds []uint64, trials []*trial) Measured {
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
	for i, t := range trials {
		if t == nil {
			m.Runs = append(m.Runs, Run{Seed: seeds[i], Failed: notRun})
			continue
		}
		if t.Config.Workers > 0 { // it came as far as to have settings
			m.Config = t.Config
			m.Config.Seed, m.Config.Run = 0, "" // of one repeat
			m.Mode, m.Workers = t.Config.Mode.String(), t.Config.Workers
		}
		run := t.Run
		if t.Result != nil {
			m.Mode, m.Workers = t.Result.Mode, t.Result.Workers
			short := *t.Result // what is long, and not compared, is in the folder of the run alone
			short.Detail, short.PerWorker = nil, nil
			run.Result = &short
		}
		m.Runs = append(m.Runs, run)
	}
	return m
}

// WriteJSON writes results.json, with the best cases of a sweep.
func (e *Experiment) WriteJSON(w io.Writer) error {
	return human.WriteJSON(w, struct {
		*Experiment
		Best []Best `json:"best,omitempty"`
	}{e, e.bests()})
}
