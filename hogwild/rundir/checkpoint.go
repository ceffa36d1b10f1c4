// Package rundir is what a run leaves behind: the files of its folder, and its report.
//
//	state.go        how it ended, and which runs there are
//	recorded.go     a run read back
//	metrics.go      metrics.jsonl
//	events.go       TensorBoard's events
//	histogram.go    what they show of the weights
//	json.go         numbers that are not finite
//	checkpoint.go   weights and snapshots
//	sound.go        snapshots that no run has written
//	center.go       plain weights of a model that centres
//	report.go       Result, EpochResult, Best, Status
//	scores.go       Scores, Validation
//	detailtext.go   figures of classes and residuals, for people
//	detail.go       those figures
//	machine.go      where it ran
//	text.go         bounds of texts, YAML
//	safetensors.go  the format of weights and snapshots
//	tfrecord.go     that of events
package rundir

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/tuning"
)

// The files of a run folder. The first three, and BestFile, are replaced atomically: whoever
// reads one finds the old or the new, never half of either. Beside them are TensorBoard's: see events.go.
const (
	WeightsFile  = "weights.safetensors"  // the weights alone, as PyTorch names and shapes them
	SnapshotFile = "snapshot.safetensors" // all that is needed to go on
	ResultFile   = "result.json"          // what the run came to, when it has ended
	ConfigFile   = "config.yaml"          // its settings
	MetricsName  = "metrics.jsonl"        // a line for each epoch and each second
)

// Tensors of a snapshot beside the weights.
const (
	tensorState  = "hogwild.state"  // of the optimizers
	tensorSteps  = "hogwild.steps"  // taken with each state
	tensorExact  = "hogwild.exact"  // with centring: the weights as the run trains them
	tensorSlots  = "hogwild.slots"  // barrier mode, within a round: the replicas
	tensorChunks = "hogwild.chunks" // within an epoch: state and loss of each chunk
	tensorBest   = "hogwild.best"   // with a validation set: the plain weights of the best epoch, see Best
)

// metaForm is the metadata that says in which form tensorExact is.
const metaForm = "hogwild.centered"

// Position is how far a run has come.
type Position struct {
	Epoch    uint64        `json:"epoch"` // the open one, from 1
	Round    int           `json:"round"` // barrier mode: its first round that is not complete
	Within   bool          `json:"within"`
	Seconds  float64       `json:"seconds"` // of training
	Examples int64         `json:"examples"`
	Lost     int64         `json:"lost"`
	Restarts int           `json:"restarts"`
	History  []EpochResult `json:"history"`
}

// Snapshot is a consistent copy of a run, made while no worker was within a chunk.
type Snapshot struct {
	Config tuning.Job
	Meta   data.Meta
	Mean   []float32 // of the inputs
	Pos    Position
	W      []float32 // as the run trains them
	Best   []float32 // plain, of the best epoch of Pos.History; nil: there is none yet
	state  []float32
	steps  []uint64
	slots  []float32 // nil unless needed
	chunks []uint64  // nil between epochs

	bestSaved int // the epoch whose weights are in the BestFile
}

// Capture copies the weights and what belongs to them. Only while no worker is
// within a chunk.
func (s *Snapshot) Capture(m *control.Weights, w *control.Block) {
	s.W = append(s.W[:0], m.W...)
	s.state = append(s.state[:0], m.State...)
	s.steps = append(s.steps[:0], m.Steps...)
	s.slots, s.chunks = s.slots[:0], s.chunks[:0]
	if !s.Pos.Within {
		return
	}
	s.chunks = append(s.chunks, w.Chunks...)
	for _, slot := range m.Slots {
		s.slots = append(s.slots, slot...)
	}
}

// Restore writes the copy back, into segments made for the same configuration.
func (s *Snapshot) Restore(m *control.Weights, w *control.Block, optimizer config.Optimizer) error {
	copy(m.W, s.W)
	same := s.Config.Optimizer == optimizer && len(s.steps) == len(m.Steps)
	if same && len(s.state) == len(m.State) {
		copy(m.State, s.state)
		copy(m.Steps, s.steps)
	} else if len(s.state) > 0 && len(m.State) > 0 {
		return config.Usage("resume: the snapshot holds the state of %d optimizers (%s), this run needs %d (%s): keep workers, optimizer and optimizer-state",
			len(s.steps)/control.RankWords, s.Config.Optimizer, len(m.Optimizers), optimizer)
	}
	if !s.Pos.Within {
		return nil
	}
	if len(s.chunks) != len(w.Chunks) || (len(m.Slots) > 0 && len(s.slots) != len(m.Slots)*len(m.W)) {
		return config.Usage("resume: the snapshot was taken within an epoch, and this run splits epochs differently: keep workers, batch and average-every")
	}
	copy(w.Chunks, s.chunks) // each free, done or lost
	for r := range m.Slots {
		copy(m.Slots[r], s.slots[r*len(m.W):])
	}
	return nil
}

// MayResume refuses a configuration with which the run could not go on where it stopped.
func (s *Snapshot) MayResume(c *tuning.Job, meta data.Meta) error {
	was := s.Config
	type field struct {
		name     string
		was, now any
	}
	fields := []field{
		{"seed", was.Seed, c.Seed}, // it decides which rows are held out for the test
		{"data checksum", s.Meta.Checksum, meta.Checksum}, {"training rows", s.Meta.Rows, meta.Rows},
		{"scale", s.Meta.Scale, meta.Scale}, {"target", was.Target, c.Target},
		{"validation", was.Validation, c.Validation},
		{"model", was.Model, c.Model}, {"loss", was.Loss, c.Loss}, {"bias", was.Bias, c.Bias},
	}
	if s.Pos.Within { // the epoch must be cut into the same chunks, in the same order
		fields = append(fields, []field{
			{"mode", was.Mode, c.Mode}, {"average", was.Average, c.Average},
			{"batch", was.Tuning.Batch, c.Tuning.Batch}, {"partition", was.Partition, c.Partition},
			{"average-every", was.Steps(), c.Steps()}}...)
		if c.Mode.Kind == config.Sync || c.Partition == "contiguous" {
			fields = append(fields, field{"workers", was.Workers, c.Workers})
		}
		if c.Mode.Kind == config.Sync { // as the replicas have it
			fields = append(fields, field{"center", was.Tuning.Center, c.Tuning.Center})
		}
	}
	for _, f := range fields {
		if f.was != f.now {
			return config.Usage("resume: the snapshot has %s %v, this run %v: keep it unchanged", f.name, f.was, f.now)
		}
	}
	if !s.Meta.ScaledAlike(&meta) { // a version whose auto scaled otherwise
		return config.Usage("resume: the snapshot was trained on inputs with another scaling than this run's: start a new run")
	}
	return nil
}

// Plain are the weights on inputs as they are; trained lists the tensors of w.
func (s *Snapshot) Plain(trained []model.Param) []float32 {
	return toPlain(trained, s.W, s.Mean, s.Config.Tuning.MergesCentered())
}

// SaveWeights writes the plain weights, the tensors params, into the run folder.
func (s *Snapshot) SaveWeights(dir string, params, trained []model.Param) error {
	meta, err := s.metadata()
	if err != nil {
		return err
	}
	return WriteTensors(filepath.Join(dir, WeightsFile), meta, weightTensors(params, s.Plain(trained)))
}

// saveBest writes the weights of the best epoch, unless that was done before.
func (s *Snapshot) saveBest(dir string, params []model.Param) error {
	best := Best(s.Pos.History)
	if s.Best == nil || best.Epoch == s.bestSaved {
		return nil
	}
	meta, err := s.metadata()
	if err != nil {
		return err
	}
	meta["hogwild.epoch"] = strconv.Itoa(best.Epoch)
	s.bestSaved = best.Epoch
	return WriteTensors(filepath.Join(dir, BestFile), meta, weightTensors(params, s.Best))
}

// Save writes them, those of the best epoch, and the snapshot.
func (s *Snapshot) Save(dir string, params, trained []model.Param) error {
	if err := errors.Join(s.SaveWeights(dir, params, trained), s.saveBest(dir, params)); err != nil {
		return err
	}
	meta, err := s.metadata()
	if err != nil {
		return err
	}
	tensors := weightTensors(params, s.Plain(trained))
	pos, err := json.Marshal(s.Pos)
	if err != nil {
		return err
	}
	meta["hogwild.position"] = string(pos)
	tensors = append(tensors, FloatTensor(tensorState, []int{len(s.state)}, s.state), uint64Tensor(tensorSteps, s.steps))
	if s.Config.Tuning.Center {
		meta[metaForm] = formOf(s.Config.Tuning.MergesCentered())
		tensors = append(tensors, FloatTensor(tensorExact, []int{len(s.W)}, s.W))
	}
	if s.Best != nil {
		tensors = append(tensors, FloatTensor(tensorBest, []int{len(s.Best)}, s.Best))
	}
	if s.Pos.Within {
		tensors = append(tensors, FloatTensor(tensorSlots, []int{len(s.slots)}, s.slots), uint64Tensor(tensorChunks, s.chunks))
	}
	return WriteTensors(filepath.Join(dir, SnapshotFile), meta, tensors)
}

// metadata is what any file with weights says about where they come from.
func (s *Snapshot) metadata() (map[string]string, error) {
	settings, err1 := json.Marshal(s.Config)
	meta, err2 := json.Marshal(s.Meta)
	return map[string]string{
		"format":          "pt", // what PyTorch's loaders look for
		"hogwild.version": config.Version,
		"hogwild.config":  string(settings),
		"hogwild.data":    string(meta),
	}, errors.Join(err1, err2)
}

func weightTensors(params []model.Param, w []float32) []Tensor {
	var ts []Tensor
	for i, v := range model.Export(params, w) {
		ts = append(ts, FloatTensor(params[i].Name, params[i].Shape, v))
	}
	return ts
}

// saved is a file with weights, read back.
type saved struct {
	path    string
	Config  tuning.Job
	Meta    data.Meta
	Pos     *Position
	form    string // of the exact weights of a run that centred
	tensors map[string]Tensor
}

// ReadSaved reads a weights or snapshot file that this program wrote.
func ReadSaved(path string) (*saved, error) {
	text, tensors, err := ReadTensors(path)
	if err != nil {
		return nil, err
	}
	f := &saved{path: path, form: cmp.Or(text[metaForm], formLocal), tensors: map[string]Tensor{}}
	if text["hogwild.config"] == "" {
		return nil, fmt.Errorf("%s: has weights without a model and scaling: hogwild did not write it", path)
	}
	f.Config.Config, f.Config.Data = config.Default(), "" // of settings that are newer than the file
	err = errors.Join(json.Unmarshal([]byte(text["hogwild.config"]), &f.Config),
		json.Unmarshal([]byte(text["hogwild.data"]), &f.Meta))
	if p := text["hogwild.position"]; err == nil && p != "" {
		f.Pos = &Position{}
		err = json.Unmarshal([]byte(p), f.Pos)
	}
	if err == nil {
		err = f.Meta.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: its metadata: %w", path, err)
	}
	for _, t := range tensors {
		f.tensors[t.Name] = t
	}
	return f, nil
}

// Weights are the model's weights in memory order.
func (f *saved) Weights(params []model.Param) ([]float32, error) {
	values := make([][]float32, len(params))
	for i, p := range params {
		t, ok := f.tensors[p.Name]
		if !ok {
			return nil, fmt.Errorf("tensor %s is missing", p.Name)
		}
		if !slices.Equal(t.Shape, p.Shape) {
			return nil, fmt.Errorf("tensor %s has shape %v, the model needs %v", p.Name, t.Shape, p.Shape)
		}
		v, err := t.Floats()
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	w := make([]float32, model.Size(params))
	return w, model.Import(params, values, w)
}

// ReadSnapshot reads the snapshot of a run folder, all but the weights, which need
// the model: see Load.
func ReadSnapshot(dir string) (*saved, error) {
	path := filepath.Join(dir, SnapshotFile)
	switch info, err := os.Stat(dir); {
	case errors.Is(err, os.ErrNotExist):
		return nil, config.Usage("resume %s: no such folder; give the one that the report shows at saved in", dir)
	case err != nil:
		return nil, config.Usage("resume: %w", err)
	case !info.IsDir():
		return nil, config.Usage("resume %s: it is a file; give the run folder, which has config.yaml and %s", dir, SnapshotFile)
	}
	if _, err := os.Stat(path); err != nil {
		return nil, config.Usage("resume %s: no %s in it: the run ended before its first snapshot; start a new one", dir, SnapshotFile)
	}
	f, err := ReadSaved(path)
	if err == nil && f.Pos == nil {
		err = fmt.Errorf("%s: holds weights, but no training state to resume from", path)
	}
	if err == nil && f.Config.Tuning.Batch == 0 { // "law" was the name of what a run decides for itself
		err = fmt.Errorf("%s: was written by an older hogwild, in another format; eval reads its weights, but only that version can resume it", path)
	}
	if err != nil {
		return nil, config.Usage("resume: %w", err)
	}
	return f, nil
}

// Load makes a snapshot of the file, with weights for the run c that trains the tensors
// trained on inputs of these means. A run that centres goes on exactly where one that did so
// stopped, if both keep their weights in one form, else from the same function; and from the
// plain weights of any other.
func (f *saved) Load(c *tuning.Job, params, trained []model.Param, mean []float32) (*Snapshot, error) {
	s := &Snapshot{Config: f.Config, Meta: f.Meta, Pos: *f.Pos}
	var errs [6]error
	s.W, errs[0] = f.Weights(params)
	merged := c.Tuning.MergesCentered()
	if exact, ok := f.tensors[tensorExact]; ok && c.Tuning.Center {
		s.W, errs[0] = exact.Floats()
		if errs[0] == nil && len(s.W) == model.Size(trained) {
			changeForm(trained, s.W, mean, f.form == formMerged, merged)
		}
	} else if c.Tuning.Center && errs[0] == nil {
		s.W = fromPlain(trained, s.W, mean, merged)
	}
	s.state, errs[1] = f.tensors[tensorState].Floats()
	s.steps, errs[2] = uint64s(f.tensors[tensorSteps])
	if s.Pos.Within {
		s.slots, errs[3] = f.tensors[tensorSlots].Floats()
		s.chunks, errs[4] = uint64s(f.tensors[tensorChunks])
	}
	if best, ok := f.tensors[tensorBest]; ok {
		s.Best, errs[5] = best.Floats()
	}
	err := errors.Join(errs[:]...)
	if err == nil {
		err = s.sound(params, trained)
	}
	if err != nil {
		return nil, config.Usage("resume: %s: %w", f.path, err)
	}
	return s, nil
}

// SavedConfig is the configuration of the run whose snapshot is in dir: what
// `--resume` starts from.
func SavedConfig(dir string) (config.Config, error) {
	f, err := ReadSnapshot(dir)
	if err != nil {
		return config.Config{}, err
	}
	c := f.Config.Config
	c.Resume, c.Run = dir, dir
	if c.Batch == 0 && c.GlobalBatch == 0 {
		c.Batch = f.Config.Tuning.Batch // another device or optimizer would choose another one
	}
	return c, nil
}

func uint64Tensor(name string, v []uint64) Tensor {
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return Tensor{Name: name, DType: "U64", Shape: []int{len(v)}, Data: b}
}

func uint64s(t Tensor) ([]uint64, error) {
	if t.DType != "U64" {
		return nil, fmt.Errorf("tensor %q is %q, not U64", t.Name, t.DType)
	}
	v := make([]uint64, len(t.Data)/8)
	for i := range v {
		v[i] = binary.LittleEndian.Uint64(t.Data[8*i:])
	}
	return v, nil
}
