package hogwild

// Recorded is what a run folder holds of a run: its settings, what it came to and how it
// went. It may be read while the run goes on.
type Recorded struct {
	Folder  string        `json:"folder"`
	Config  Config        `json:"config"`
	Result  *Result       `json:"result,omitempty"` // result.json; nil: the run has not ended yet, or was killed
	Epochs  []EpochResult `json:"epochs"`           // of each epoch the last line
	Seconds []Status      `json:"seconds"`          // moments, a second apart
}

// ReadRun reads a run folder: config.yaml, metrics.jsonl and, if the run has ended,
// result.json.
func ReadRun(folder string) (*Recorded, error) { panic("not yet") }
