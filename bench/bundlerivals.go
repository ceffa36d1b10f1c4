package bench

import "slices"

// Rival is a line of rivals/gpu.py: a run of one side of a job, with one setting and rate.
type Rival struct {
	Job      string   `json:"job"`
	Side     string   `json:"side"`
	Setting  string   `json:"setting"`
	LR       *float64 `json:"lr"` // nil: it has none
	Target   float64  `json:"target"`
	Ended    string   `json:"ended"` // reached, passes, diverged, slower or out of time
	Seconds  float64  `json:"seconds"`
	Wall     float64  `json:"wall"`
	Loss     *float64 `json:"loss"` // nil: it was not finite, or is not known
	Accuracy *float64 `json:"accuracy"`
	Passes   int      `json:"passes"`
	Rate     float64  `json:"rate"`
	Of       int      `json:"of"`               // runs that its side was to have
	Device   string   `json:"device,omitempty"` // of hogwild's runs
}

// Sweep is the best run of a side of a job, and what all of them took.
type Sweep struct {
	Rival
	Runs, Reached int
	Sweep         float64 // seconds by the clock
}

// better tells whether a run is faster to the target, or, if neither reached it, nearer to it.
func (v Rival) better(than Rival) bool {
	if reached := v.Ended == "reached"; reached != (than.Ended == "reached") {
		return reached
	} else if reached {
		return v.Seconds < than.Seconds
	}
	return v.Loss != nil && (than.Loss == nil || *v.Loss < *than.Loss)
}

// Sweeps are the sides of each job, in the order in which they ran.
func (r *Results) Sweeps() (all []Sweep) {
	for _, v := range r.Rivals {
		i := slices.IndexFunc(all, func(s Sweep) bool { return s.Job == v.Job && s.Side == v.Side })
		if i < 0 {
			i = len(all)
			all = append(all, Sweep{Rival: v})
		}
		s := &all[i]
		if v.better(s.Rival) {
			s.Rival = v
		}
		s.Runs++
		s.Sweep += v.Wall
		if v.Ended == "reached" {
			s.Reached++
		}
	}
	return all
}
