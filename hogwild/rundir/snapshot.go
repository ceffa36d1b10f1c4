// Package rundir reads and writes what a run leaves behind: the files of its folder, and its report.
//
//	state.go        how it ended, and which runs there are
//	folder.go       the folder of a run that is going on
//	events.go       TensorBoard's events
//	metrics.go      metrics.jsonl
//	recorded.go     a run read back
//	histogram.go    what they show of the weights
//	json.go         numbers that are not finite
//	growing.go      files that grow by lines or records
//	fit.go          how weights fit a model
//	weights.go      weights of any program
//	torch.go        files of PyTorch, by PyTorch
//	saved.go        weights and snapshots read back
//	restore.go      a snapshot written back
//	nodes.go        snapshots of several nodes
//	snapshot.go     weights and snapshots
//	sound.go        snapshots that no run has written
//	center.go       plain weights of a model that centres
//	socket.go       requests to a live run
//	reporttext.go   a result for people
//	report.go       Result, EpochResult, Best, Status
//	scores.go       Scores, Validation
//	detailtext.go   figures of classes and residuals, for people
//	detail.go       those figures
//	ranking.go      those of two classes by their odds
//	ranked.go       scores of all candidates for queries
//	machine.go      where it ran
//	lock.go         which run may write to a folder
//	safetensors.go  the format of weights and snapshots
//	tensor.go       an array in it
//	files.go        the files, and which are of a run
//	tfrecord.go     that of events
package rundir

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"hogwild/hogwild/config"
	"hogwild/hogwild/control"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/tuning"
	"hogwild/internal/atomicfile"
	"hogwild/internal/fault"
)

// Tensors of a snapshot besides the weights.
const (
	tensorState  = "hogwild.state"  // of the optimizers
	tensorSteps  = "hogwild.steps"  // taken with each state
	tensorExact  = "hogwild.exact"  // the weights as the run trains them, where those are others
	tensorSlots  = "hogwild.slots"  // barrier mode, within a round: the replicas
	tensorChunks = "hogwild.chunks" // within an epoch: state and loss of each chunk of all nodes
	tensorOuter  = "hogwild.outer"  // several nodes: the momentum of the outer step
	tensorDual   = "hogwild.dual"   // the bits of the dual variables of all rows, and of what workers keep with them
	tensorWords  = "hogwild.words"  // of a text: the vocabulary, as WordsFile has it
	tensorBest   = "hogwild.best"   // with a validation set: the plain weights of the best epoch, see Best
)

// Metadata: the settings of the run, in which form tensorExact is, and the sha256 of the vocabulary.
const (
	metaConfig = "hogwild.config"
	metaForm   = "hogwild.centered"
	metaWords  = "hogwild.words"
)

// Position is how far a run has come.
type Position struct {
	Epoch    uint64        `json:"epoch"` // the open one, from 1
	Round    int           `json:"round"` // barrier mode: its first round that is not complete
	Within   bool          `json:"within"`
	Longer   int           `json:"longer,omitempty"`       // plan.Plan's, of the open epoch; 0: 1
	Seconds  float64       `json:"seconds"`                // of training
	Wall     float64       `json:"wall_seconds,omitempty"` // the same with boundaries and pauses
	Examples int64         `json:"examples"`
	Lost     int64         `json:"lost"`
	Restarts int           `json:"restarts"`
	Scales   []Scale       `json:"scales,omitempty"`
	History  []EpochResult `json:"history"`
	Unused   []string      `json:"unused,omitempty"` // tensors that the first epoch has not changed

	Init      *InitFrom `json:"init,omitempty"`      // nil: the model's own first weights
	Rollbacks int       `json:"rollbacks,omitempty"` // after divergence
	Discarded int64     `json:"discarded,omitempty"` // examples that they made be trained in vain

	// Barrier mode. The rest of an epoch is cut anew when the number of workers changes, and when a job of several
	// nodes continues within it.
	Rounds   int     `json:"rounds,omitempty"`    // of the run, before the epoch's as it is cut now
	Base     int     `json:"base,omitempty"`      // examples of the epoch before that
	BaseDone int     `json:"base_done,omitempty"` // of them trained, not lost
	BaseLoss float64 `json:"base_loss,omitempty"` // summed over them
}

// Snapshot is a consistent copy of a run, made while no worker was within a chunk.
type Snapshot struct {
	Job    tuning.Job
	Meta   data.Meta
	Mean   []float32 // of the inputs
	Pos    Position
	W      []float32 // as the run trains them
	Outer  []float32 // several nodes: the momentum of the outer step; nil: it has none
	Best   []float32 // plain, of the best epoch of Pos.History; nil: there is none yet
	state  []float32
	steps  []uint64
	dual   []uint64         // bits of the dual variables, and of the bounds
	plain  func() []float32 // W as a plain model has it, which is made once; nil: not asked for yet
	shared []Tensor         // the same as tensors, for both files
	slots  []float32        // nil unless needed
	chunks []uint64         // of all nodes; nil between epochs, and where the rest of an epoch is cut anew

	Within  os.FileInfo // the folder that it is saved to, and to no other that gets its name; nil: any
	Damaged bool        // it was read from the PreviousFile: the newest is missing or damaged
}

// Begin says whose the weights of the next Capture are: plain returns them as a plain model has them, and W has them
// already, copied by a device's owner; nil: Capture copies them.
func (s *Snapshot) Begin(plain func() []float32) { s.plain, s.shared = plain, nil }

// Capture copies the weights, unless W has them, and what belongs to them. Only while no worker is
// within a chunk; of several nodes only between epochs.
func (s *Snapshot) Capture(m *control.Weights, w *control.Block) {
	if s.plain == nil {
		s.W = append(s.W[:0], m.W...)
	}
	s.captureState(m)
	if !s.Pos.Within {
		return
	}
	s.chunks, s.Pos.Longer = append(s.chunks, w.Chunks...), w.Plan.Longer
	for _, slot := range m.Slots {
		s.slots = append(s.slots, slot...)
	}
}

func (s *Snapshot) captureState(m *control.Weights) {
	s.state = append(s.state[:0], m.State...)
	s.steps = append(s.steps[:0], m.Steps...)
	s.slots, s.chunks, s.dual = s.slots[:0], s.chunks[:0], s.dual[:0]
	for _, a := range slices.Concat(m.Dual, m.Bounds) {
		s.dual = append(s.dual, math.Float64bits(a))
	}
}

// cutAnew reports whether the rest of the open epoch can be trained by any number of workers, with no table of its
// chunks.
func (s *Snapshot) cutAnew() bool { return s.Pos.Within && s.Pos.Base > 0 && len(s.chunks) == 0 }

// SameData refuses to resume a run on other data than it was trained on.
func (f *Saved) SameData(c *config.Config, checksum string) error {
	switch was := f.Job.Asked.Data; {
	case f.Meta.Checksum == checksum, was == c.Data && f.Job.Asked.Seed != c.Seed: // CheckResume says which seed
		return nil
	case was != c.Data:
		return config.Usage("resume %s: it was trained on %s: leave data out", c.Resume, was)
	default:
		return config.Usage("resume %s: the data of %s are not those that it was trained on: bring them back, or "+
			"start a new run", c.Resume, was)
	}
}

// CheckResume refuses a configuration with which the run could not go on where it stopped.
func (s *Snapshot) CheckResume(c *tuning.Job, meta data.Meta) error {
	was := s.Job
	type field struct {
		name     string
		was, now any
	}
	fields := []field{
		{"seed", was.Asked.Seed, c.Asked.Seed}, // it decides which rows are held out for the test
		{"training rows", s.Meta.Rows, meta.Rows},
		{"scale", s.Meta.Scale, meta.Scale}, {"target", was.Asked.Target, c.Asked.Target},
		{"ignore", was.Asked.Ignore, c.Asked.Ignore}, {"missing", was.Asked.Missing, c.Asked.Missing},
		{"columns", was.Asked.Columns, c.Asked.Columns}, {"weight", was.Asked.Weight, c.Asked.Weight},
		{"class-weight", was.Asked.ClassWeight, c.Asked.ClassWeight},
		{"validation", was.Asked.Validation, c.Asked.Validation},
		{"model", was.Asked.Model, c.Asked.Model}, {"loss", was.Asked.Loss, c.Asked.Loss},
		{"bias", was.Asked.Bias, c.Asked.Bias},
	}
	if was.Asked.Ascends() || c.Asked.Ascends() { // l2 bounds the dual variables
		fields = append(fields, field{"solver", was.Asked.Solver, c.Asked.Solver},
			field{"l2", was.Asked.L2, c.Asked.L2})
	}
	if s.Pos.Within {
		fields = append(fields, field{"mode", was.Asked.Mode, c.Asked.Mode},
			field{"partition", was.Asked.Partition, c.Asked.Partition})
	}
	if s.Pos.Within && !s.cutAnew() { // the epoch must be cut into the same chunks, in the same order
		fields = append(fields, []field{{"average", was.Asked.Average, c.Asked.Average},
			{"batch", was.Used.Batch, c.Used.Batch}, {"average-every", was.Asked.Steps(), c.Asked.Steps()}}...)
		if c.Asked.Mode.Traits().Barrier || c.Asked.Partition == config.Contiguous {
			name := "workers"
			if was.Asked.Nodes > 1 || c.Asked.Nodes > 1 {
				name = "workers on all nodes together"
			}
			fields = append(fields, field{name, was.Asked.AllWorkers(), c.Asked.AllWorkers()})
		}
		if c.Asked.Mode.Traits().Barrier { // as the replicas have it
			fields = append(fields, field{"center", was.Used.Center, c.Used.Center})
		}
	}
	for _, f := range fields {
		if f.was != f.now {
			return config.Usage("resume: the snapshot has %s %v, this run %v: resume with the same %s", f.name,
				f.was, f.now, f.name)
		}
	}
	if !s.Meta.ScaledAlike(&meta) { // a data cache that was converted again
		return config.Usage("resume: the snapshot was trained on inputs with another scaling than this run's: start " +
			"a new run")
	}
	return nil
}

// Plain returns the weights on inputs as they are; trained lists the tensors of w.
func (s *Snapshot) Plain(trained []model.Param) []float32 {
	if s.plain == nil {
		w := s.Job.Plain(trained, s.W, s.Mean)
		s.plain = func() []float32 { return w }
	}
	return s.plain()
}

// SaveWeights writes the plain weights, the tensors params, into the run folder: the best epoch's, where a validation
// set has chosen one.
func (s *Snapshot) SaveWeights(dir string, params, trained []model.Param) error {
	meta, err := s.metadata()
	if err != nil {
		return err
	}
	tensors := []Tensor(nil)
	if s.Best != nil {
		tensors, meta["hogwild.epoch"] = s.weightTensors(params, s.Best), strconv.Itoa(Best(s.Pos.History).Epoch)
	} else {
		tensors = s.plainTensors(params, trained)
	}
	return writeTensors(filepath.Join(dir, WeightsFile), meta, tensors, atomicfile.Options{Within: s.Within})
}

// Save writes the plain weights and the snapshot. The snapshot that was the newest is then the previous one, unless it
// is damaged.
func (s *Snapshot) Save(dir string, params, trained []model.Param) error {
	if err := fault.Point("snapshot.save"); err != nil {
		return err
	}
	if err := s.SaveWeights(dir, params, trained); err != nil {
		return err
	}
	return s.saveSnapshot(dir, params, trained, false)
}

// SaveAtOnce writes the snapshot alone, and does not wait for the disk: for a process that may be killed in a moment.
// Should the machine fail too, there is the previous snapshot.
func (s *Snapshot) SaveAtOnce(dir string, params, trained []model.Param) error {
	return s.saveSnapshot(dir, params, trained, true)
}

func (s *Snapshot) saveSnapshot(dir string, params, trained []model.Param, quick bool) error {
	meta, err := s.metadata()
	if err != nil {
		return err
	}
	tensors := slices.Clip(s.plainTensors(params, trained))
	pos, err := json.Marshal(s.Pos)
	if err != nil {
		return err
	}
	meta["hogwild.position"] = string(pos)
	tensors = append(tensors, FloatTensor(tensorState, []int{len(s.state)}, s.state),
		uint64Tensor(tensorSteps, s.steps))
	if s.Job.Used.Center {
		meta[metaForm] = formOf(s.Job.Used.MergesCentered())
	}
	if s.Job.Used.Center || s.Job.Asked.Standard.Deviation != 0 {
		tensors = append(tensors, FloatTensor(tensorExact, []int{len(s.W)}, s.W))
	}
	if s.Outer != nil {
		tensors = append(tensors, FloatTensor(tensorOuter, []int{len(s.Outer)}, s.Outer))
	}
	if len(s.dual) > 0 {
		tensors = append(tensors, uint64Tensor(tensorDual, s.dual))
	}
	if s.Best != nil {
		tensors = append(tensors, FloatTensor(tensorBest, []int{len(s.Best)}, s.Best))
	}
	if lines, _ := s.words(); lines != nil {
		tensors = append(tensors, Tensor{tensorWords, "U8", []int{len(lines)}, lines})
	}
	if s.Pos.Within {
		tensors = append(tensors, FloatTensor(tensorSlots, []int{len(s.slots)}, s.slots),
			uint64Tensor(tensorChunks, s.chunks))
	}
	o := atomicfile.Options{Within: s.Within, Ready: keepPrevious, Quick: quick}
	if s.Damaged {
		o.Ready = nil
	}
	if err := writeTensors(filepath.Join(dir, SnapshotFile), meta, tensors, o); err != nil {
		return err
	}
	s.Damaged = false
	return fault.Point("snapshot.saved")
}

// metadata returns what any file with weights says about where they come from.
func (s *Snapshot) metadata() (map[string]string, error) {
	settings, err1 := json.Marshal(s.Job)
	meta, err2 := json.Marshal(s.Meta)
	about := map[string]string{
		"format":          "pt", // what PyTorch's loaders look for
		"hogwild.version": config.Version,
		metaConfig:        string(settings),
		"hogwild.data":    string(meta),
	}
	if _, sum := s.words(); sum != "" {
		about[metaWords] = sum
	}
	return about, errors.Join(err1, err2)
}

// words returns the vocabulary as WordsFile has it, and its sha256; nil of what is no text.
func (s *Snapshot) words() (lines []byte, sum string) {
	if t := s.Meta.Text; t != nil && t.Vocabulary != nil {
		return t.Vocabulary.File()
	}
	return nil, ""
}

// plainTensors returns the tensors of the weights as they are now.
func (s *Snapshot) plainTensors(params, trained []model.Param) []Tensor {
	if s.shared == nil {
		s.shared = s.weightTensors(params, s.Plain(trained))
	}
	return s.shared
}

// weightTensors returns the weights as the model's tensors. Of a program's model they are all that its state_dict has,
// so that PyTorch takes the file as it is: integers as I64, and tied tensors under each of their names.
func (s *Snapshot) weightTensors(params []model.Param, w []float32) (ts []Tensor) {
	layout := s.Job.Asked.Layout
	for i, v := range model.Export(params, w) {
		t := FloatTensor(params[i].Name, params[i].Shape, v)
		if layout != nil && layout.Tensors[i].Kind == model.Integer {
			t = integerTensor(t.Name, t.Shape, v)
		}
		ts = append(ts, t)
	}
	if layout == nil {
		return ts
	}
	for _, name := range slices.Sorted(maps.Keys(layout.Same)) {
		for i, p := range params {
			if p.Name == layout.Same[name] {
				t := ts[i]
				t.Name = name
				ts = append(ts, t)
			}
		}
	}
	return ts
}

// integerTensor returns v, rounded, as a tensor of type I64.
func integerTensor(name string, shape []int, v []float32) Tensor {
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		if x-x != 0 { // an average of what diverged: not what a counter holds
			x = 0
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(int64(math.RoundToEven(float64(x)))))
	}
	return Tensor{Name: name, DType: "I64", Shape: shape, Data: b}
}

func uint64Tensor(name string, v []uint64) Tensor {
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return Tensor{Name: name, DType: "U64", Shape: []int{len(v)}, Data: b}
}
