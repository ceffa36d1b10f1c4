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

// NPY is the name of a file for the tensor, and the file: an array in the order of PyTorch's. Errors match
// config.ErrUsage.
func NPY(t rundir.Tensor) (name string, file []byte, err error) {
	name = t.Name + ".npy"
	if t.Name == "" || strings.ContainsAny(name, "/\x00") || !filepath.IsLocal(name) {
		return "", nil, config.Usage("npy: tensor %s: its name cannot be that of a file; give the module another one", human.Quote(t.Name))
	}
	kind, ok := numpyType[t.DType]
	if !ok {
		return "", nil, config.Usage("npy: tensor %s has type %s, which NumPy lacks: save it as float32", human.Quote(t.Name), t.DType)
	}
	return name, append(data.NPYHead(kind, t.Shape), t.Data...), nil
}
