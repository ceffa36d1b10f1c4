package hogwild

// Result is what a run comes to. Its JSON form is the contract of `--json`.
type Result struct {
	Mode              string   `json:"mode"`
	Device            string   `json:"device"`
	Workers           int      `json:"workers"`
	Model             string   `json:"model"`
	Data              string   `json:"data"`
	Batch             int      `json:"batch"`
	Epochs            int      `json:"epochs"`   // completed
	Examples          int64    `json:"examples"` // trained in all
	Seconds           float64  `json:"seconds"`  // training only
	ExamplesPerSecond float64  `json:"examples_per_second"`
	StartupSeconds    float64  `json:"startup_seconds"` // first worker's exec to the last worker's first update
	TrainLoss         float64  `json:"train_loss"`
	TestLoss          float64  `json:"test_loss"`
	TestAccuracy      *float64 `json:"test_accuracy,omitempty"`
	TestRMSE          *float64 `json:"test_rmse,omitempty"`
	TestR2            *float64 `json:"test_r2,omitempty"`
	Restarts          int      `json:"restarts"`
	LostExamples      int64    `json:"lost_examples"`
	Seed              uint64   `json:"seed"`
	Version           string   `json:"version"`
	Run               string   `json:"run"`

	Stopped string        `json:"stopped,omitempty"` // why it ended early: interrupted, terminated, target loss, target accuracy
	History []EpochResult `json:"-"`
	Events  []string      `json:"-"` // what happened to workers, a line each
}

// EpochResult is one epoch: a line of progress, and a line of metrics.jsonl.
type EpochResult struct {
	Kind         string   `json:"kind"` // "epoch"
	Epoch        int      `json:"epoch"`
	Seconds      float64  `json:"seconds"`  // of training since the start of the run
	Examples     int64    `json:"examples"` // trained since the start of the run
	LR           float64  `json:"lr"`       // at the end of the epoch
	TrainLoss    float64  `json:"train_loss"`
	TestLoss     float64  `json:"test_loss"`
	TestAccuracy *float64 `json:"test_accuracy,omitempty"`
	TestRMSE     *float64 `json:"test_rmse,omitempty"`
	TestR2       *float64 `json:"test_r2,omitempty"`
}

// WorkerStatus is one worker as the display and metrics.jsonl show it.
type WorkerStatus struct {
	Rank     int     `json:"rank"`
	PID      int     `json:"pid"`
	State    string  `json:"state"`               // starting, training, waiting, restarting, gone
	Examples int64   `json:"examples"`            // trained since the start of the run
	Rate     float64 `json:"examples_per_second"` // over the last interval
	Restarts int     `json:"restarts"`
}

// Status is a run at one moment.
type Status struct {
	Kind     string         `json:"kind"`  // "second"
	Epoch    int            `json:"epoch"` // the one under way, from 1
	Epochs   int            `json:"epochs"`
	Seconds  float64        `json:"seconds"` // of training since the start of the run
	Examples int64          `json:"examples"`
	Total    int64          `json:"-"` // examples when all epochs are done
	Rate     float64        `json:"examples_per_second"`
	Workers  []WorkerStatus `json:"workers"`
	Last     *EpochResult   `json:"-"` // the last epoch evaluated, nil before the first
}
