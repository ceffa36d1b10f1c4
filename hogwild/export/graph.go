package export

import (
	"encoding/binary"
	"fmt"
	"math"

	"hogwild/hogwild/rundir"
	"hogwild/hogwild/saved"
)

// The numbers of the fields and of the types, as onnx.proto has them.
const (
	modelIR, modelProducer, modelProducerVersion, modelGraph, modelOpset, modelMetadata = 1, 2, 3, 7, 8, 14

	opsetDomain, opsetVersion = 1, 2
	entryKey, entryValue      = 1, 2

	graphNode, graphName, graphInitializer, graphInput, graphOutput = 1, 2, 5, 11, 12

	nodeInput, nodeOutput, nodeName, nodeOp, nodeAttribute = 1, 2, 3, 4, 5

	attributeName, attributeInt, attributeInts, attributeType = 1, 3, 8, 20
	attributeIsInt, attributeIsInts                           = 2, 7

	tensorDim, tensorType, tensorName, tensorData = 1, 2, 8, 9
	typeFloat, typeInt64                          = 1, 7

	valueName, valueType               = 1, 2
	typeTensor, typeElement, typeShape = 1, 1, 2
	shapeDim, dimValue, dimName        = 1, 1, 2
)

// graph is a GraphProto to which nodes are added in the order of computation.
type graph struct {
	rundir.Message
	tensors map[string]saved.Tensor // the weights, by name
	nodes   int
}

// value declares an input or an output with a batch of such arrays. Without a shape it is one number a row.
func (g *graph) value(field uint64, name string, element int64, shape ...int) {
	var dims, dim, tensor, kind, value rundir.Message
	dim.Bytes(dimName, []byte("batch"))
	dims.Bytes(shapeDim, dim)
	for _, n := range shape {
		dim = nil
		dim.Integer(dimValue, int64(n))
		dims.Bytes(shapeDim, dim)
	}
	tensor.Integer(typeElement, element)
	tensor.Bytes(typeShape, dims)
	kind.Bytes(typeTensor, tensor)
	value.Bytes(valueName, []byte(name))
	value.Bytes(valueType, kind)
	g.Bytes(field, value)
}

// constant adds an array of the graph; without a shape it is one number.
func (g *graph) constant(name string, shape []int, values []float32) {
	var t rundir.Message
	for _, n := range shape {
		t.Integer(tensorDim, int64(n))
	}
	t.Integer(tensorType, typeFloat)
	t.Bytes(tensorName, []byte(name))
	raw := make([]byte, 0, 4*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	t.Bytes(tensorData, raw)
	g.Bytes(graphInitializer, t)
}

// weights adds a layer's weights, and returns its inputs: x, the weight and, if there is one, the bias.
func (g *graph) weights(x, layer string) []string {
	in := []string{x}
	for _, part := range []string{".weight", ".bias"} {
		if t, ok := g.tensors[layer+part]; ok {
			g.constant(t.Name, t.Shape, t.Values)
			in = append(in, t.Name)
		}
	}
	return in
}

// node adds an operation, and returns the name of its result.
func (g *graph) node(op string, inputs []string, attributes ...rundir.Message) string {
	g.nodes++
	result := fmt.Sprintf("%s_%d", op, g.nodes)
	g.operation(op, inputs, result, attributes...)
	return result
}

func (g *graph) operation(op string, inputs []string, result string, attributes ...rundir.Message) {
	var n rundir.Message
	for _, in := range inputs {
		n.Bytes(nodeInput, []byte(in))
	}
	n.Bytes(nodeOutput, []byte(result))
	n.Bytes(nodeName, []byte(result))
	n.Bytes(nodeOp, []byte(op))
	for _, a := range attributes {
		n.Bytes(nodeAttribute, a)
	}
	g.Bytes(graphNode, n)
}

// rename makes a result an output of the graph: of width numbers a row, or else of one integer.
func (g *graph) rename(result, output string, width ...int) {
	g.operation("Identity", []string{result}, output)
	element := int64(typeFloat)
	if width == nil {
		element = typeInt64
	}
	g.value(graphOutput, output, element, width...)
}

// integer returns an attribute with one number.
func integer(name string, v int64) rundir.Message {
	var a rundir.Message
	a.Bytes(attributeName, []byte(name))
	a.Integer(attributeInt, v)
	a.Integer(attributeType, attributeIsInt)
	return a
}

// ints returns an attribute with several numbers.
func ints(name string, values ...int) rundir.Message {
	var a rundir.Message
	a.Bytes(attributeName, []byte(name))
	for _, v := range values {
		a.Integer(attributeInts, int64(v))
	}
	a.Integer(attributeType, attributeIsInts)
	return a
}
