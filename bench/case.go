package bench

// Case is one way to train: settings of hogwild train, by the names of its flags.
type Case struct {
	Name     string    `json:"name"`            // unique in its experiment, and fit for a folder: async-4
	Group    string    `json:"group,omitempty"` // cases of one group are compared: they learn the same from the same
	Settings []Setting `json:"settings"`
}

// Setting is a flag of hogwild train and its value.
type Setting struct {
	Flag  string `json:"flag"` // without dashes
	Value string `json:"value"`
}

// Plan is what is to be measured: each case once with every seed.
type Plan struct {
	Kind    string // bench, sweep or reproduce
	Name    string // of the experiment
	About   string // a sentence for the report
	Command string // that repeats it
	Cases   []Case
	Seeds   []uint64 // a repeat each
	// TargetLoss is the test loss to which times are taken; 0: by group, see Experiment.
	TargetLoss float64
	Floors     *Floors // what the machine can do, if it was measured
	Notes      []string
}
