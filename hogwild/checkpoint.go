package hogwild

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
)

// The files of a run folder. The first three are replaced atomically: whoever reads one
// finds the old or the new, never half of either. Beside them are TensorBoard's: see events.
const (
	weightsFile  = "weights.safetensors"  // the weights alone, as PyTorch names and shapes them
	snapshotFile = "snapshot.safetensors" // all that is needed to go on
	resultFile   = "result.json"          // what the run came to, when it has ended
	configFile   = "config.yaml"          // its settings
	metricsName  = "metrics.jsonl"        // a line for each epoch and each second
)

// Tensors of a snapshot beside the weights.
const (
	tensorState  = "hogwild.state"  // of the optimizers
	tensorSteps  = "hogwild.steps"  // taken with each state
	tensorExact  = "hogwild.exact"  // with centring: the weights as the run trains them
	tensorSlots  = "hogwild.slots"  // barrier mode, within a round: the replicas
	tensorChunks = "hogwild.chunks" // within an epoch: state and loss of each chunk
)

// position is how far a run has come.
type position struct {
	Epoch    uint64        `json:"epoch"` // the open one, from 1
	Round    int           `json:"round"` // barrier mode: its first round that is not complete
	Within   bool          `json:"within"`
	Seconds  float64       `json:"seconds"` // of training
	Examples int64         `json:"examples"`
	Lost     int64         `json:"lost"`
	Restarts int           `json:"restarts"`
	History  []EpochResult `json:"history"`
}

// snapshot is a consistent copy of a run, made while no worker was within a chunk.
type snapshot struct {
	config Job
	meta   data.Meta
	mean   []float32 // of the inputs
	pos    position
	w      []float32 // as the run trains them
	state  []float32
	steps  []uint64
	slots  []float32 // nil unless needed
	chunks []uint64  // nil at the gate between epochs
}

// capture copies the weights and what belongs to them. Only while no worker is
// within a chunk.
func (s *snapshot) capture(m *weights, w *world) {
	s.w = append(s.w[:0], m.w...)
	s.state = append(s.state[:0], m.state...)
	s.steps = append(s.steps[:0], m.steps...)
	s.slots, s.chunks = s.slots[:0], s.chunks[:0]
	if !s.pos.Within {
		return
	}
	s.chunks = append(s.chunks, w.chunks...)
	for _, slot := range m.slots {
		s.slots = append(s.slots, slot...)
	}
}

// restore writes the copy back, into segments made for the same configuration.
func (s *snapshot) restore(m *weights, w *world, optimizer string) error {
	copy(m.w, s.w)
	same := s.config.Optimizer == optimizer && len(s.steps) == len(m.steps)
	if same && len(s.state) == len(m.state) {
		copy(m.state, s.state)
		copy(m.steps, s.steps)
	} else if len(s.state) > 0 && len(m.state) > 0 {
		return usage("resume: the snapshot holds the state of %d optimizers (%s), this run needs %d (%s): keep workers, optimizer and optimizer-state",
			len(s.steps)/lineWords, s.config.Optimizer, len(m.opts), optimizer)
	}
	if !s.pos.Within {
		return nil
	}
	if len(s.chunks) != len(w.chunks) || (len(m.slots) > 0 && len(s.slots) != len(m.slots)*len(m.w)) {
		return usage("resume: the snapshot was made within an epoch, and this run cuts epochs in another way: keep workers, batch and average-every")
	}
	copy(w.chunks, s.chunks) // each free, done or lost
	for r := range m.slots {
		copy(m.slots[r], s.slots[r*len(m.w):])
	}
	return nil
}

// mayResume refuses a configuration with which the run could not go on where it stopped.
func (s *snapshot) mayResume(c *Job, meta data.Meta) error {
	was := s.config
	type field struct {
		name     string
		was, now any
	}
	fields := []field{
		{"data checksum", s.meta.Checksum, meta.Checksum}, {"training rows", s.meta.Rows, meta.Rows},
		{"scale", s.meta.Scale, meta.Scale}, {"target", was.Target, c.Target},
		{"seed", was.Seed, c.Seed}, // it decides which rows are held out for the test
		{"model", was.Model, c.Model}, {"loss", was.Loss, c.Loss}, {"bias", was.Bias, c.Bias},
	}
	if s.pos.Within { // the epoch must be cut into the same chunks, in the same order
		fields = append(fields, []field{
			{"mode", was.Mode, c.Mode}, {"average", was.Average, c.Average},
			{"batch", was.Batch, c.Batch}, {"partition", was.Partition, c.Partition},
			{"average-every", was.AverageEvery, c.AverageEvery}}...)
		if c.Mode == "sync" || c.Partition == "contiguous" {
			fields = append(fields, field{"workers", was.Workers, c.Workers})
		}
		if c.Mode == "sync" { // as the replicas have it
			fields = append(fields, field{"center", was.Law.Center, c.Law.Center})
		}
	}
	for _, f := range fields {
		if f.was != f.now {
			return usage("resume: the snapshot has %s %v, this run %v: leave it as it was", f.name, f.was, f.now)
		}
	}
	return nil
}

// plain are the weights on inputs as they are; trained lists the tensors of w.
func (s *snapshot) plain(trained []model.Param) []float32 {
	if !s.config.Law.Center {
		return s.w
	}
	return fold(trained, s.w, s.mean)
}

// saveWeights writes the plain weights, the tensors params, into the run folder.
func (s *snapshot) saveWeights(dir string, params, trained []model.Param) error {
	meta, err := s.metadata()
	if err != nil {
		return err
	}
	return WriteTensors(filepath.Join(dir, weightsFile), meta, weightTensors(params, s.plain(trained)))
}

// save writes them, and the snapshot.
func (s *snapshot) save(dir string, params, trained []model.Param) error {
	if err := s.saveWeights(dir, params, trained); err != nil {
		return err
	}
	meta, err := s.metadata()
	if err != nil {
		return err
	}
	tensors := weightTensors(params, s.plain(trained))
	pos, err := json.Marshal(s.pos)
	if err != nil {
		return err
	}
	meta["hogwild.position"] = string(pos)
	tensors = append(tensors, FloatTensor(tensorState, []int{len(s.state)}, s.state), uint64Tensor(tensorSteps, s.steps))
	if s.config.Law.Center {
		tensors = append(tensors, FloatTensor(tensorExact, []int{len(s.w)}, s.w))
	}
	if s.pos.Within {
		tensors = append(tensors, FloatTensor(tensorSlots, []int{len(s.slots)}, s.slots), uint64Tensor(tensorChunks, s.chunks))
	}
	return WriteTensors(filepath.Join(dir, snapshotFile), meta, tensors)
}

// metadata is what any file with weights says about where they come from.
func (s *snapshot) metadata() (map[string]string, error) {
	config, err1 := json.Marshal(s.config)
	meta, err2 := json.Marshal(s.meta)
	return map[string]string{
		"format":          "pt", // what PyTorch's loaders look for
		"hogwild.version": Version,
		"hogwild.config":  string(config),
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
	config  Job
	meta    data.Meta
	pos     *position
	tensors map[string]Tensor
}

// readSaved reads a weights or snapshot file that this program wrote.
func readSaved(path string) (*saved, error) {
	text, tensors, err := ReadTensors(path)
	if err != nil {
		return nil, err
	}
	f := &saved{path: path, tensors: map[string]Tensor{}}
	if text["hogwild.config"] == "" {
		return nil, fmt.Errorf("%s: has no model and scaling with its weights: it was not written by hogwild", path)
	}
	err = errors.Join(json.Unmarshal([]byte(text["hogwild.config"]), &f.config),
		json.Unmarshal([]byte(text["hogwild.data"]), &f.meta))
	if p := text["hogwild.position"]; err == nil && p != "" {
		f.pos = &position{}
		err = json.Unmarshal([]byte(p), f.pos)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: its metadata: %w", path, err)
	}
	for _, t := range tensors {
		f.tensors[t.Name] = t
	}
	return f, nil
}

// weights are the model's weights in memory order.
func (f *saved) weights(params []model.Param) ([]float32, error) {
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

// readSnapshot reads the snapshot of a run folder, all but the weights, which need
// the model: see load.
func readSnapshot(dir string) (*saved, error) {
	path := filepath.Join(dir, snapshotFile)
	if _, err := os.Stat(path); err != nil {
		return nil, usage("resume %s: no %s in it: the run ended before its first snapshot; start it anew", dir, snapshotFile)
	}
	f, err := readSaved(path)
	if err == nil && f.pos == nil {
		err = fmt.Errorf("%s: holds weights but no position to go on from", path)
	}
	if err != nil {
		return nil, usage("resume: %w", err)
	}
	return f, nil
}

// load makes a snapshot of the file, with weights for a run that trains the tensors
// trained. A run that centres goes on exactly where one that did so stopped, and from
// the plain weights of any other.
func (f *saved) load(params, trained []model.Param, center bool) (*snapshot, error) {
	s := &snapshot{config: f.config, meta: f.meta, pos: *f.pos}
	var errs [5]error
	s.w, errs[0] = f.weights(params)
	if exact, ok := f.tensors[tensorExact]; ok && center {
		s.w, errs[0] = exact.Floats()
	} else if center && errs[0] == nil {
		s.w = unfold(trained, s.w)
	}
	s.state, errs[1] = f.tensors[tensorState].Floats()
	s.steps, errs[2] = uint64s(f.tensors[tensorSteps])
	if s.pos.Within {
		s.slots, errs[3] = f.tensors[tensorSlots].Floats()
		s.chunks, errs[4] = uint64s(f.tensors[tensorChunks])
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, usage("resume: %s: %w", f.path, err)
	}
	return s, nil
}

// SavedConfig is the configuration of the run whose snapshot is in dir: what
// `--resume` starts from.
func SavedConfig(dir string) (Config, error) {
	f, err := readSnapshot(dir)
	if err != nil {
		return Config{}, err
	}
	f.config.Resume, f.config.Run = dir, dir
	return f.config.Config, nil
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
