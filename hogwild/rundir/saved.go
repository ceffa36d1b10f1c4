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

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/data/text"
	"hogwild/hogwild/model"
	"hogwild/hogwild/tuning"
)

// Saved is a file with weights, read back.
type Saved struct {
	path    string
	Bytes   []byte // the file
	Damage  error  // of a snapshot: the newest cannot be read, and this is the previous one
	Job     tuning.Job
	Meta    data.Meta
	Pos     *Position
	form    string // of the exact weights of a run that centred
	tensors map[string]Tensor
	file    os.FileInfo // of the newest snapshot, before it was read
}

// ReadSaved reads a weights or snapshot file that this program wrote.
func ReadSaved(path string) (*Saved, error) {
	file, err := readWeights(path, 0)
	if err != nil {
		return nil, err
	}
	return parseSaved(path, file)
}

// parseSaved reads the file of a path, which is for errors.
func parseSaved(path string, file []byte) (*Saved, error) {
	text, tensors, err := parseTensors(path, file)
	if err != nil {
		return nil, err
	}
	if text[metaConfig] == "" {
		return nil, fmt.Errorf("%s: has weights without a model and scaling: hogwild did not write it", path)
	}
	return describe(path, file, text, tensors)
}

// describe reads the metadata of a file that this program wrote.
func describe(path string, file []byte, about map[string]string, tensors []Tensor) (*Saved, error) {
	f := &Saved{path: path, Bytes: file, form: cmp.Or(about[metaForm], formLocal), tensors: map[string]Tensor{}}
	f.Job.Asked, f.Job.Asked.Data = config.Default(), "" // of settings that are newer than the file
	err := errors.Join(json.Unmarshal([]byte(about[metaConfig]), &f.Job),
		json.Unmarshal([]byte(about["hogwild.data"]), &f.Meta))
	if p := about["hogwild.position"]; err == nil && p != "" {
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
	if f.Meta.Text != nil {
		if f.Meta.Text.Vocabulary, err = f.words(about[metaWords]); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return f, nil
}

// words returns the vocabulary of a text, of a sha256 if that is known. A snapshot has it; for weights it lies next to
// them, or is in the snapshot there. Where there is none they can still be trained on.
func (f *Saved) words(sum string) (v *text.Vocabulary, err error) {
	dir := filepath.Dir(f.path)
	t, own := f.tensors[tensorWords]
	if own {
		v, err = text.ParseVocabulary(t.Data, sum)
	} else {
		v, err = text.ReadVocabulary(filepath.Join(dir, WordsFile), sum)
	}
	if n := f.Meta.Features - f.Meta.Text.Buckets; err == nil && len(v.Words) != n {
		err = fmt.Errorf("%s has %d words, and the weights %d", WordsFile, len(v.Words), n)
	}
	switch {
	case own || err == nil:
		return v, err
	case f.Pos != nil: // a snapshot of an earlier version, to be resumed: the data has the words
		return nil, nil
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	}
	if s, err := ReadSaved(filepath.Join(dir, SnapshotFile)); err == nil && sum != "" {
		v, _ = text.ParseVocabulary(s.tensors[tensorWords].Data, sum) // nil if it has none, or another run's
	}
	return v, nil
}

// Weights returns the model's weights in memory order.
func (f *Saved) Weights(params []model.Param) ([]float32, error) {
	values := make([][]float32, len(params))
	for i, p := range params {
		t, ok := f.tensors[p.Name]
		if !ok {
			return nil, fmt.Errorf("tensor %s is missing", p.Name)
		}
		if !slices.Equal(t.Shape, p.Shape) {
			return nil, fmt.Errorf("tensor %s has shape %v, the model needs %v", p.Name, t.Shape, p.Shape)
		}
		v, err := t.Floats() // integers of a program's model too
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	w := make([]float32, model.Size(params))
	return w, model.Import(params, values, w)
}

// ReadSnapshot reads the snapshot of a run folder, all but the weights, which need the model: see Load. If
// the newest is missing or damaged, that is the previous one, and Damage says why.
func ReadSnapshot(dir string) (*Saved, error) {
	switch info, err := os.Stat(dir); {
	case errors.Is(err, os.ErrNotExist):
		return nil, config.Usage("resume %s: no such folder; give the folder behind saved in of the report", dir)
	case err != nil:
		return nil, config.Usage("resume: %w", err)
	case !info.IsDir():
		return nil, config.Usage("resume %s: it is a file; give the run folder, which has config.yaml and %s",
			dir, SnapshotFile)
	case !HasSnapshot(dir):
		return nil, config.Usage("resume %s: %s", dir, lacks(dir, SnapshotFile))
	}
	newest := filepath.Join(dir, SnapshotFile)
	info, _ := os.Stat(newest)
	f, damage := hasPosition(ReadSaved(newest))
	if damage == nil {
		f.file = info
		return f, nil
	}
	if f, err := hasPosition(ReadSaved(filepath.Join(dir, PreviousFile))); err == nil {
		f.Damage = damage
		return f, nil
	}
	return nil, config.Usage("resume: %w", damage)
}

// IsNewest reports whether the snapshot of the run folder is still the one that was read.
func (f *Saved) IsNewest(dir string) bool {
	now, err := os.Stat(filepath.Join(dir, SnapshotFile))
	return err == nil && f.file != nil && os.SameFile(now, f.file) && now.ModTime().Equal(f.file.ModTime()) &&
		now.Size() == f.file.Size()
}

// Release gives up the file and its tensors, which have been loaded.
func (f *Saved) Release() { f.Bytes, f.tensors = nil, nil }

// ParseSnapshot reads a snapshot whose Bytes another node has read from its file.
func ParseSnapshot(file []byte) (*Saved, error) {
	f, err := hasPosition(parseSaved("the snapshot of node 0", file))
	if err != nil {
		err = config.Usage("resume: %w", err)
	}
	return f, err
}

// hasPosition refuses a file that is no snapshot.
func hasPosition(f *Saved, err error) (*Saved, error) {
	if err == nil && f.Pos == nil {
		err = fmt.Errorf("%s: holds weights, but no training state to resume from", f.path)
	}
	return f, err
}

// Load makes a snapshot of the file, with weights for the run c that trains the tensors
// trained on inputs of these means. It goes on exactly where the saved one stopped, if both keep
// their weights in one form, else from the same function.
func (f *Saved) Load(c *tuning.Job, params, trained []model.Param, mean []float32) (*Snapshot, error) {
	s := &Snapshot{Job: f.Job, Meta: f.Meta, Pos: *f.Pos, Damaged: f.Damage != nil}
	var errs [8]error
	s.W, errs[0] = f.Weights(params)
	merged, exact := c.Used.MergesCentered(), f.tensors[tensorExact]
	if exact.Name != "" && c.Used.Center == f.Job.Used.Center && c.Asked.Standard == f.Job.Asked.Standard {
		s.W, errs[0] = exact.Floats()
		if errs[0] == nil && len(s.W) == model.Size(trained) {
			changeForm(trained, s.W, mean, f.form == formMerged, merged)
		}
	} else if errs[0] == nil {
		s.W = fromPlain(trained, s.W, mean, merged, c.Asked.Standard)
	}
	s.state, errs[1] = f.tensors[tensorState].Floats()
	s.steps, errs[2] = uint64s(f.tensors[tensorSteps])
	if s.Pos.Within {
		s.slots, errs[3] = f.tensors[tensorSlots].Floats()
		s.chunks, errs[4] = uint64s(f.tensors[tensorChunks])
	}
	if dual, ok := f.tensors[tensorDual]; ok {
		s.dual, errs[7] = uint64s(dual)
	}
	if best, ok := f.tensors[tensorBest]; ok {
		s.Best, errs[5] = best.Floats()
	}
	if outer, ok := f.tensors[tensorOuter]; ok {
		s.Outer, errs[6] = outer.Floats()
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, config.Usage("resume: %s: %w", f.path, err)
	}
	return s, nil
}

// SavedConfig returns the configuration of the run whose snapshot is in dir: what `--resume` starts from.
func SavedConfig(dir string) (config.Config, error) {
	f, err := ReadSnapshot(dir)
	if err != nil {
		return config.Config{}, err
	}
	return f.Resumed(dir), nil
}

// Resumed returns the configuration of the run whose snapshot this is, to be resumed in dir.
func (f *Saved) Resumed(dir string) config.Config {
	c := f.Job.Asked
	c.Resume, c.Run = dir, dir
	c.Init, c.InitPartial = "", false                     // the position says what it started from
	c.Node, c.Nodes, c.HostNode, c.HostNodes = 0, 0, 0, 0 // its launcher says
	if c.Batch == 0 && c.GlobalBatch == 0 {
		c.Batch = f.Job.Used.Batch // another device or optimizer would choose another one
	}
	return c
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
