package bench

import (
	"encoding/json"
	"errors"

	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// reached is how soon the runs of a case had a loss, as results.json of earlier versions has it.
type reached struct {
	Target  human.Number   `json:"target_loss"`
	Seconds []human.Number `json:"seconds_to_target"`
	Epochs  []human.Number `json:"epochs_to_target"`
}

// readLists makes runs of an old results.json, whose cases have what is the same in all results, and for each number of
// a result a list with an entry for each run, by the same name: null where there is none.
func (e *Experiment) readLists(text []byte) error {
	var old struct {
		Cases []struct {
			reached
			Failed    []string
			Diverged  []bool
			Further   []reached `json:"further_targets"`
			Histories [][]rundir.EpochResult
		}
		Took map[string][]float64 `json:"command_seconds"`
	}
	var raw struct{ Cases []map[string]any }
	if len(e.Cases) == 0 || e.Cases[0].Runs != nil {
		return nil
	}
	err := errors.Join(json.Unmarshal(text, &old), json.Unmarshal(text, &raw))
	for k := range e.Cases {
		m, was := &e.Cases[k], old.Cases[k]
		for i := range min(len(was.Failed), len(e.Seeds), len(was.Histories)) {
			r := Run{Seed: e.Seeds[i], Failed: was.Failed[i], Diverged: i < len(was.Diverged) && was.Diverged[i],
				History: was.Histories[i]}
			if took := old.Took[m.Name]; i < len(took) {
				r.Took = took[i]
			}
			if r.Failed == "" {
				r.Result = &rundir.Result{}
				err = errors.Join(err, entries(raw.Cases[k], i, r.Result))
			}
			m.Runs = append(m.Runs, r)
		}
		for _, t := range append([]reached{was.reached}, was.Further...) {
			m.Targets = append(m.Targets, t.Target)
			for i := range m.Runs[:min(len(m.Runs), len(t.Seconds), len(t.Epochs))] {
				r := &m.Runs[i]
				r.SecondsToTarget = append(r.SecondsToTarget, t.Seconds[i])
				r.EpochsToTarget = append(r.EpochsToTarget, t.Epochs[i])
			}
		}
	}
	return err
}

// entries sets a result to what an old case has of a run.
func entries(old map[string]any, run int, r *rundir.Result) error {
	now := map[string]any{"train_loss": nil, "test_loss": nil, "examples_per_second": nil}
	for key, value := range old {
		list, isList := value.([]any)
		switch {
		case key == "staleness_histogram" && run > 0, // it is of all runs
			key == "nodes" && value == 1.0: // which a result leaves out
		case !isList || key == "notes" || key == "staleness_histogram":
			now[key] = value
		case run < len(list) && list[run] != nil:
			now[key] = list[run]
		}
	}
	for figure, samples := range map[string]string{"staleness_mean": "staleness_samples",
		"lost_updates_below": "lost_updates_samples"} {
		if now[figure] != nil {
			now[samples] = 1
		}
	}
	text, err := json.Marshal(now)
	return errors.Join(err, json.Unmarshal(text, r))
}
