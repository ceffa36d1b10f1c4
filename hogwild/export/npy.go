package export

import (
	"path/filepath"
	"strings"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/rundir"
	"hogwild/internal/human"
)

// numpyType are NumPy's names of the types of tensors.
var numpyType = map[string]string{
	"F64": "<f8", "F32": "<f4", "F16": "<f2", "BOOL": "|b1", "U8": "|u1", "I8": "|i1",
	"I16": "<i2", "U16": "<u2", "I32": "<i4", "U32": "<u4", "I64": "<i8", "U64": "<u8",
}

// NPY returns the name of a file for the tensor, and the file: an array with its elements in PyTorch's order. NumPy has
// no BF16: such tensors become float32. Errors match config.ErrUsage.
func NPY(t rundir.Tensor) (name string, file []byte, err error) {
	name = t.Name + ".npy"
	if t.Name == "" || strings.ContainsAny(name, "/\x00") || !filepath.IsLocal(name) {
		return "", nil, config.Usage("npy: tensor %s: its name cannot be that of a file; give the module another one",
			human.Quote(t.Name))
	}
	if t.DType == "BF16" {
		v, err := t.Floats()
		if err != nil {
			return "", nil, config.Usage("npy: %w", err)
		}
		t = rundir.FloatTensor(t.Name, t.Shape, v)
	}
	return name, append(data.NPYHead(numpyType[t.DType], t.Shape), t.Data...), nil
}
