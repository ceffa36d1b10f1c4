// Package tensor is an array of numbers in the bytes of a file of weights, whatever its format.
package tensor

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Tensor is a named array in the bytes of a file.
type Tensor struct {
	Name   string
	DType  string // as safetensors names it: F32, F16, BF16, I64 and so on
	Shape  []int  // empty for a single number
	Stride []int  // of each dimension, in elements; nil: the last dimension is the fastest, without gaps
	Data   []byte // from its first element on, little endian
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
	"F16":  {2, func(b []byte) float32 { return half(little.Uint16(b)) }},
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

// Bytes is the size of an element of a type; 0 if the type is unknown.
func Bytes(dtype string) int { return elements[dtype].bytes }

// half is an IEEE number of 16 bits.
func half(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch exponent {
	case 0: // below the normal ones: fraction x 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)/(1<<24)))
	case 31: // infinity, NaN
		return math.Float32frombits(sign | 255<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent-15+127)<<23 | fraction<<13)
}

// Floats are the elements as float32 numbers, the last dimension fastest. With strides of 0 they can be more
// than the file has bytes: compare the shape first.
func (t Tensor) Floats() ([]float32, error) {
	n, err := t.Check()
	if err != nil {
		return nil, err
	}
	v, e := make([]float32, 0, n), elements[t.DType]
	t.each(n, e.bytes, func(element []byte) { v = append(v, e.float(element)) })
	return v, nil
}

// Packed is the tensor with its elements in a row, the last dimension fastest.
func (t Tensor) Packed() (Tensor, error) {
	n, err := t.Check()
	if err != nil || t.Stride == nil {
		return t, err
	}
	size := elements[t.DType].bytes
	data := make([]byte, 0, n*size)
	t.each(n, size, func(element []byte) { data = append(data, element...) })
	t.Data, t.Stride = data, nil
	return t, nil
}

// each calls do with each of the n elements, the last dimension fastest.
func (t Tensor) each(n, size int, do func(element []byte)) {
	if t.Stride == nil {
		for i := range n {
			do(t.Data[i*size : (i+1)*size])
		}
		return
	}
	index, at := make([]int, len(t.Shape)), 0
	for range n {
		do(t.Data[at*size : (at+1)*size])
		for d := len(index) - 1; d >= 0; d-- { // the next element: as an odometer counts
			index[d]++
			at += t.Stride[d]
			if index[d] < t.Shape[d] {
				break
			}
			at -= index[d] * t.Stride[d]
			index[d] = 0
		}
	}
}

// most is more elements than a file has.
const most = 1 << 40

// Check is the number of elements, all of which lie in Data.
func (t Tensor) Check() (n int, err error) {
	size := Bytes(t.DType)
	if size == 0 {
		return 0, fmt.Errorf("tensor %.100q has the type %.20q, which is not read", t.Name, t.DType)
	}
	if t.Stride != nil && len(t.Stride) != len(t.Shape) {
		return 0, fmt.Errorf("tensor %.100q has %d dimensions and %d strides", t.Name, len(t.Shape), len(t.Stride))
	}
	n, last := 1, 0
	for i := len(t.Shape) - 1; i >= 0; i-- {
		s, stride := t.Shape[i], n
		if t.Stride != nil {
			stride = t.Stride[i]
		}
		if s < 0 || stride < 0 || s > 0 && n > most/s || s > 1 && stride > (most-last)/(s-1) {
			return 0, fmt.Errorf("tensor %.100q has a shape or strides that are negative or too large", t.Name)
		}
		n, last = n*s, last+max(0, s-1)*stride
	}
	if n > 0 && (last+1)*size > len(t.Data) {
		return 0, fmt.Errorf("tensor %.100q ends behind its storage", t.Name)
	}
	return n, nil
}
