package tuning

import (
	"cmp"
	"encoding/json"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// Tuning is what a run decides for itself. The coordinator works it out from the settings and the
// training data, and every process of the run has the same.
type Tuning struct {
	Batch int `json:"batch"` // examples per worker and step
	// of the inputs as the run learns on them, the bias's column included; 0: nothing is known of this model
	Lambda    float64 `json:"lambda"`
	Raw       float64 `json:"raw"`       // lambda of the inputs as they are
	Curvature float64 `json:"curvature"` // h of the loss at the outputs: see lossCurvature; 0: none
	InFlight  int     `json:"in_flight"` // steps in flight at once
	// on GPUs they are divided among this many workers: where processes take turns, one of each GPU; 0: it is on cores
	Sharers int `json:"sharers,omitempty"`
	// as many of them cost nothing at the learning rate asked for; 0: not known
	MaxInFlight float64 `json:"max_in_flight"`
	Cap         float64 `json:"cap,omitempty"` // beyond as many the rate is lowered; 0: not known
	// on a GPU: as many steps, at the learning rate used, may keep their change of the bias back together; 0: not known
	MaxBiasHeld float64 `json:"max_bias_held,omitempty"`
	// with a longer rate steps of this batch grow, however few are in flight; 0: not known
	MaxLR    float64 `json:"max_lr"`
	LR       float64 `json:"lr"`        // used
	Momentum float64 `json:"momentum"`  // used
	Center   bool    `json:"center"`    // the inputs are learned on less their means
	BiasStep float64 `json:"bias_step"` // of a linear model's bias against its weights'
	// local steps that a worker may take between two merges within the limit; 0: any number
	MaxLocalSteps int  `json:"max_local_steps"`
	Capped        bool `json:"capped"` // LR is less than was asked for
	// each was to have the rate asked for times their number; 0: the rate is not scaled
	Replicas int `json:"replicas,omitempty"`
	// of the whole run, where they are few for those in flight: see fewSteps; 0: they are not
	FewSteps int `json:"few_steps,omitempty"`

	Auto string `json:"auto,omitempty"` // what Settle filled in, for people

	MergeEvery int `json:"merge_every"` // local steps between two merges; 1: in place
	// a merge is of frequent features, or of model.HotRows rows, and one in this many of all; 1 or 0: each of all
	RareMerge int `json:"rare_merge,omitempty"`
	// of the dual solver: each worker steps as if this many did what it does; 0 or 1: it alone
	Spread         float64 `json:"spread,omitempty"`
	BiasMergeEvery int     `json:"bias_merge_every"` // the same of a bias that alone is copied
	// merges are of this many rows of each table, and all else is written in place; 0: merges are of all
	HotRows int `json:"hot_rows,omitempty"`

	Slower bool `json:"slower,omitempty"` // merging costs these workers more than they gain: one worker is faster
}

// MergesCentered reports whether the weights that workers share are centred ones in their merged
// form: see model.Centered.
func (t *Tuning) MergesCentered() bool { return t.Center && t.MergeEvery > 1 }

// Job is a run as all its processes know it.
type Job struct {
	Asked config.Config // by the user, with the workers, the model and the loss that were left open
	Used  Tuning        // what the run makes of that
}

// flatJob is a job as it stands in JSON: the settings, and among them what is used.
type flatJob struct {
	*config.Config
	Tuning *Tuning `json:"tuning"`
}

// MarshalJSON writes one object.
func (j Job) MarshalJSON() ([]byte, error) { return json.Marshal(flatJob{&j.Asked, &j.Used}) }

// UnmarshalJSON reads what MarshalJSON writes. What the text does not have stays as it is.
func (j *Job) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &flatJob{&j.Asked, &j.Used})
}

// AsAsked returns the job that takes the settings as they are.
func AsAsked(c config.Config) *Job {
	return &Job{c, Tuning{Batch: c.AskedBatch(), LR: c.LR, Momentum: c.Momentum, BiasStep: 1, MergeEvery: 1,
		BiasMergeEvery: 1}}
}

// Sharers returns how many workers share the steps in flight on GPUs.
func (j *Job) Sharers() int { return cmp.Or(j.Used.Sharers, j.Asked.Workers) }

// OfWorker returns how many of the steps in flight one worker has.
func (j *Job) OfWorker() int { return max(1, j.Used.InFlight/j.Sharers()) }

// Plain makes of the weights w of the tensors trained, as the run trains them, the weights of the model that it leaves
// behind; mean is the inputs'.
func (j *Job) Plain(trained []model.Param, w, mean []float32) []float32 {
	return model.ToPlain(trained, w, mean, j.Used.MergesCentered(), j.Asked.Standard)
}

// TrainedOptions returns the options of the model that the run trains; ModelOptions has the options of the model that
// it leaves behind.
func (j *Job) TrainedOptions(set *data.Set) model.Options {
	o := j.Asked.ModelOptions()
	o.BiasStep = float32(j.Used.BiasStep)
	if j.Used.Center {
		o.Center, o.Mean = true, set.Mean
	}
	return o
}
