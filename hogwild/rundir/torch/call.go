package torch

import "hogwild/hogwild/rundir/tensor"

// class is the name of what a pickle may call: "torch._utils._rebuild_tensor_v2".
type class string

const (
	orderedDict      class = "collections.OrderedDict"
	rebuildTensor    class = "torch._utils._rebuild_tensor"
	rebuildTensorV2  class = "torch._utils._rebuild_tensor_v2"
	rebuildParameter class = "torch._utils._rebuild_parameter"
	size             class = "torch.Size"
	device           class = "torch.device"
)

// storages are the classes of storages, with the type of their elements.
var storages = map[class]string{
	"torch.DoubleStorage": "F64", "torch.FloatStorage": "F32", "torch.HalfStorage": "F16",
	"torch.BFloat16Storage": "BF16",
	"torch.LongStorage":     "I64", "torch.IntStorage": "I32", "torch.ShortStorage": "I16", "torch.CharStorage": "I8",
	"torch.ByteStorage": "U8", "torch.BoolStorage": "BOOL",
}

// stored is a storage: what tensors are views of.
type stored struct {
	dtype string
	data  []byte
}

// class is that of a name. One that is not known is refused here, before anything could be made of it.
func (m *machine) class(name string) any {
	c := class(name)
	switch c {
	case orderedDict, rebuildTensor, rebuildTensorV2, rebuildParameter, size, device:
		return c
	}
	if storages[c] == "" {
		m.fail("names %.100q, which is not carried out: only tensors are read; %s", name, Advice)
	}
	return c
}

// stored is the storage that a tuple describes: "storage", its class, its key, the device on which it was, and
// how many elements it has.
func (m *machine) stored(id any) any {
	t, _ := id.(tuple)
	if len(t) != 5 || t[0] != "storage" {
		m.fail("refers to %s outside the file, and not to a tensor", kind(id))
		return nil
	}
	c, _ := t[1].(class)
	key, ok := t[2].(string)
	count, isCount := t[4].(int)
	s := stored{dtype: storages[c]}
	if s.dtype == "" || !ok || !isCount {
		m.fail("has a storage without a type, a key and a length")
		return nil
	}
	data, err := m.storage(key)
	if err != nil {
		m.fail("%w", err)
		return nil
	}
	if n := len(data) / tensor.Bytes(s.dtype); count < 0 || count > n {
		m.fail("is damaged: storage %.100q should have %d elements and has %d", key, count, n)
		return nil
	}
	s.data = data[:count*tensor.Bytes(s.dtype)]
	return s
}

// call is what a call of the class makes.
func (m *machine) call(what any, args tuple) any {
	c, _ := what.(class)
	switch {
	case c == orderedDict && len(args) == 0:
		return &dict{}
	case (c == rebuildTensor || c == rebuildTensorV2) && len(args) >= 4:
		return m.view(args)
	case c == rebuildParameter && len(args) >= 1:
		return args[0]
	case c == size && len(args) == 1:
		return args[0]
	case c == device:
		return other("a device")
	}
	m.fail("is damaged: its pickle calls %s with %d arguments", kind(what), len(args))
	return nil
}

// view is a tensor: its storage, where it begins there, its shape and its strides.
func (m *machine) view(args tuple) any {
	s, ok := args[0].(stored)
	offset, isOffset := args[1].(int)
	shape, isShape := numbers(args[2])
	stride, isStride := numbers(args[3])
	if !ok || !isOffset || !isShape || !isStride || offset < 0 || offset > len(s.data)/tensor.Bytes(s.dtype) {
		m.fail("is damaged: a tensor without a storage, a shape and strides")
		return nil
	}
	if len(args) > 6 { // views that are conjugated or negated when they are read
		if d, ok := args[6].(*dict); ok && len(d.keys) > 0 {
			m.fail("has a lazily conjugated or negated tensor: call resolve_neg() on it, and save it again")
		}
	}
	t := tensor.Tensor{DType: s.dtype, Shape: shape, Stride: stride, Data: s.data[offset*tensor.Bytes(s.dtype):]}
	if _, err := t.Check(); err != nil {
		m.fail("is damaged: %w", err)
	}
	return t
}

// numbers are those of a tuple or a list.
func numbers(v any) ([]int, bool) {
	items, ok := v.(tuple)
	if l, is := v.(*list); is {
		items, ok = l.items, true
	}
	n := make([]int, len(items))
	for i, item := range items {
		number, is := item.(int)
		ok = ok && is
		n[i] = number
	}
	return n, ok
}
