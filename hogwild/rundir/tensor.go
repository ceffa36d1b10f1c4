package rundir

import (
	"encoding/binary"
	"fmt"
	"math"

	"hogwild/internal/half"
	"hogwild/shm"
)

// Tensor is one named array of a safetensors file.
type Tensor struct {
	Name  string
	DType string // F32, F16, BF16, I64 and so on: see elements
	Shape []int  // empty for a single number
	Data  []byte // little endian, the last dimension fastest
}

// FloatTensor returns v, whose memory it shares, as a tensor of type F32. The product of the shape is len(v);
// WriteTensors checks it.
func FloatTensor(name string, shape []int, v []float32) Tensor {
	return Tensor{Name: name, DType: "F32", Shape: shape, Data: shm.Bytes(v)}
}

// element is how a type lies in a file.
type element struct {
	bytes int
	float func([]byte) float32
}

var little = binary.LittleEndian

// elements are the types that can be read, by their names in safetensors.
var elements = map[string]element{
	"F64":  {8, func(b []byte) float32 { return float32(math.Float64frombits(little.Uint64(b))) }},
	"F32":  {4, func(b []byte) float32 { return math.Float32frombits(little.Uint32(b)) }},
	"F16":  {2, func(b []byte) float32 { return half.Float(little.Uint16(b)) }},
	"BF16": {2, func(b []byte) float32 { return math.Float32frombits(uint32(little.Uint16(b)) << 16) }},
	"I64":  {8, func(b []byte) float32 { return float32(int64(little.Uint64(b))) }},
	"I32":  {4, func(b []byte) float32 { return float32(int32(little.Uint32(b))) }},
	"I16":  {2, func(b []byte) float32 { return float32(int16(little.Uint16(b))) }},
	"I8":   {1, func(b []byte) float32 { return float32(int8(b[0])) }},
	"U64":  {8, func(b []byte) float32 { return float32(little.Uint64(b)) }},
	"U32":  {4, func(b []byte) float32 { return float32(little.Uint32(b)) }},
	"U16":  {2, func(b []byte) float32 { return float32(little.Uint16(b)) }},
	"U8":   {1, func(b []byte) float32 { return float32(b[0]) }},
	"BOOL": {1, func(b []byte) float32 { return float32(b[0]) }},
}

// Floats returns a copy of the elements as float32 numbers.
func (t Tensor) Floats() ([]float32, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	e := elements[t.DType]
	v := make([]float32, len(t.Data)/e.bytes)
	for i := range v {
		v[i] = e.float(t.Data[i*e.bytes:][:e.bytes])
	}
	return v, nil
}

// check compares the length of the data with the type and the shape.
func (t Tensor) check() error {
	size := elements[t.DType].bytes
	if size == 0 {
		return fmt.Errorf("tensor %q has type %q: only F64, F32, F16, BF16, BOOL and integers are read",
			t.Name, t.DType)
	}
	for _, s := range t.Shape {
		if s < 0 || (s > 0 && size > math.MaxInt/s) {
			return fmt.Errorf("tensor %q has shape %v: negative or too large", t.Name, t.Shape)
		}
		size *= s
	}
	if size != len(t.Data) {
		return fmt.Errorf("tensor %q of shape %v and type %s needs %d bytes, it has %d", t.Name, t.Shape, t.DType,
			size, len(t.Data))
	}
	return nil
}
