package rundir

import (
	"hogwild/hogwild/rundir/tensor"
	"hogwild/hogwild/rundir/torch"
)

// formats are the files of weights that can be read beside safetensors. To take one away, delete its line here and its
// package.
var formats = []struct {
	is   func(file []byte) bool
	read func(file []byte) ([]tensor.Tensor, error)
}{
	{torch.Is, torch.Read},
}
