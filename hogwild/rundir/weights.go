package rundir

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data/format"
)

// Weights is a file of weights: one that this program has written, safetensors of another, or a state_dict of
// torch.save.
type Weights struct {
	Path    string // of the file
	Saved   *Saved // what it says of model and data; nil: this program did not write it
	tensors []Tensor
}

// ReadWeights reads a file of weights, or a run folder's, up to most bytes: see readWeights. Errors match
// config.ErrUsage.
func ReadWeights(path string, most int64) (*Weights, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		folder := path
		path = filepath.Join(path, WeightsFile)
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			return nil, config.Usage("%s: %s", folder, lacks(folder, WeightsFile))
		}
	}
	file, err := readWeights(path, most)
	if err != nil {
		return nil, config.Usage("%w", err)
	}
	if isTorch(file) {
		if file, err = fromTorch(path, len(file), cmp.Or(most, format.DefaultMemory())); err != nil {
			return nil, config.Usage("%w", err)
		}
	}
	f := &Weights{Path: path}
	if head := file[:min(len(file), 512)]; len(head) > 0 && head[0] >= ' ' && head[0] < 0x7f &&
		bytes.IndexByte(head, 0) < 0 {
		return nil, config.Usage("%s is text, such as a table, and not weights: name a file of weights or a run "+
			"folder here, and data with --data", path)
	}
	meta, tensors, err := decodeTensors(file)
	if err != nil {
		return nil, config.Usage("%s is damaged or not a safetensors file, nor one of torch.save: %w", path, err)
	}
	ours := meta[metaConfig] != ""
	for _, t := range tensors {
		if !ours || !strings.HasPrefix(t.Name, "hogwild.") { // what a snapshot has besides the weights
			f.tensors = append(f.tensors, t)
		}
	}
	if ours {
		if f.Saved, err = describe(path, file, meta, tensors); err != nil {
			return nil, config.Usage("%w", err)
		}
	}
	return f, nil
}

// Tensors returns the weights' tensors, and nothing else that a snapshot has.
func (f *Weights) Tensors() []Tensor { return f.tensors }
