// Package export writes the weights of a run as files that other programs load. The scaling of the inputs is in
// them: they take inputs as the training data had them, and predict what the run predicts.
//
//	onnx.go      a model as an ONNX graph
//	graph.go     the parts of such a graph
//	fasttext.go  a model of text as fastText's
//	vectors.go   vectors of words as word2vec's
package export

import (
	"encoding/json"
	"fmt"
	"math"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/model"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/saved"
)

// The versions of the format and of its operators. ONNX Runtime 1.12 and later read them.
const (
	irVersion = 8
	opset     = 17
)

// Arrays says where the weights are of a model that no format has a place for.
const Arrays = rundir.WeightsFile + " has the arrays, which safetensors.numpy.load_file and hogwild.load read in Python"

// ONNX returns the model as a graph. Its input is float32: [batch, features], or, of a convolutional network, [batch,
// channels, height, width]. Outputs of a classifier are logits [batch, outputs], probabilities [batch, classes]
// where the loss has any, and label [batch], the number of the class in the metadata "classes"; else value [batch, 1].
// Errors match config.ErrUsage.
func ONNX(s *saved.Saved) ([]byte, error) {
	spec, meta := s.Spec(), s.Meta()
	switch f := spec.Family(); {
	case f.Layered || f.Network:
	case f.OfWords():
		return nil, config.Usage("onnx: a graph cannot express the model %s: use --to bin for its vectors", s.Model())
	case f.OfText():
		return nil, config.Usage("onnx: a graph cannot express the model %s, whose inputs are texts: use --to fasttext",
			s.Model())
	case f.Entries || f.Projects || f.Chunks:
		return nil, config.Usage("onnx: the inputs of the model %s are ids of rows, not numbers: %s", s.Model(), Arrays)
	default:
		return nil, foreign(s, "use torch.onnx.export in the program")
	}
	g, size := &graph{tensors: map[string]saved.Tensor{}}, 0
	for _, t := range s.Tensors() {
		g.tensors[t.Name] = t
		size += 4 * len(t.Values)
	}
	if size > math.MaxInt32-1<<20 {
		return nil, config.Usage("onnx: the weights have %d bytes, and an ONNX file at most 2 GiB: %s", size, Arrays)
	}
	shape := []int{meta.Features}
	if n := spec.Net; n != nil {
		shape = []int{n.Channels, n.Height, n.Width}
	}
	g.value(graphInput, "input", typeFloat, shape...)
	x := g.scale("input", meta, shape)
	if spec.Net != nil {
		x = g.convolutions(x, spec)
	} else {
		x = g.layers(x, "%d", 0, 2, len(spec.Widths)+1)
	}
	g.outputs(x, spec)
	return onnxFile(s.Model(), g, meta)
}

// scale adds x' = x*mul + add.
func (g *graph) scale(x string, meta data.Meta, shape []int) string {
	for _, step := range []struct {
		op     string
		values []float32
	}{{"Mul", meta.Mul}, {"Add", meta.Add}} {
		name := "input." + step.op
		switch len(step.values) {
		case 0:
			continue
		case 1:
			g.constant(name, nil, step.values)
		default:
			g.constant(name, shape, step.values)
		}
		x = g.node(step.op, []string{x, name})
	}
	return x
}

// convolutions adds the network's convolutions, and the layers after them.
func (g *graph) convolutions(x string, spec model.Spec) string {
	for i, c := range spec.Net.Convs {
		x = g.node("Conv", g.weights(x, fmt.Sprintf("conv%d", i+1)))
		if c.Pool > 1 {
			x = g.node("MaxPool", []string{x}, ints("kernel_shape", c.Pool, c.Pool), ints("strides", c.Pool, c.Pool))
		}
		x = g.node("Relu", []string{x})
	}
	x = g.node("Flatten", []string{x})
	return g.layers(x, "fc%d", 1, 1, len(spec.Net.Hidden)+1)
}

// layers adds n linear layers, with ReLU between them, whose names count from first by step.
func (g *graph) layers(x, name string, first, step, n int) string {
	for i := range n {
		if i > 0 {
			x = g.node("Relu", []string{x})
		}
		x = g.node("Gemm", g.weights(x, fmt.Sprintf(name, first+i*step)), integer("transB", 1))
	}
	return x
}

// outputs adds what a prediction is made of, and the prediction. Of several logistic outputs, one class against the
// rest each, the probabilities are scaled to sum 1.
func (g *graph) outputs(z string, spec model.Spec) {
	if spec.Classes == 0 {
		g.rename(z, "value", 1)
		return
	}
	g.rename(z, "logits", spec.Outputs)
	switch {
	case spec.Loss == model.CrossEntropy:
		g.rename(g.node("Softmax", []string{"logits"}, integer("axis", -1)), "probabilities", spec.Classes)
	case spec.Loss == model.Logistic && spec.Outputs == 1:
		g.constant("one", nil, []float32{1})
		p := g.node("Sigmoid", []string{"logits"})
		rest := g.node("Sub", []string{"one", p})
		g.rename(g.node("Concat", []string{rest, p}, integer("axis", 1)), "probabilities", 2)
	case spec.Loss == model.Logistic:
		p := g.node("Sigmoid", []string{"logits"})
		g.rename(g.node("LpNormalization", []string{p}, integer("axis", -1), integer("p", 1)),
			"probabilities", spec.Classes)
	}
	label := "logits"
	if spec.Outputs == 1 { // the only output is compared with 0
		g.constant("zero", nil, []float32{0})
		zeros := g.node("Mul", []string{"logits", "zero"})
		label = g.node("Concat", []string{zeros, "logits"}, integer("axis", 1))
	}
	g.rename(g.node("ArgMax", []string{label}, integer("axis", 1), integer("keepdims", 0)), "label")
}

// onnxFile returns the graph in a file, with the names of the classes and of the columns.
func onnxFile(name string, g *graph, meta data.Meta) ([]byte, error) {
	var file, set rundir.Message
	file.Integer(modelIR, irVersion)
	file.Bytes(modelProducer, []byte("hogwild"))
	file.Bytes(modelProducerVersion, []byte(config.Version))
	g.Bytes(graphName, []byte(name))
	file.Bytes(modelGraph, g.Message)
	set.Bytes(opsetDomain, nil)
	set.Integer(opsetVersion, opset)
	file.Bytes(modelOpset, set)
	for _, m := range []struct {
		key  string
		list []string
	}{{"classes", meta.Classes}, {"columns", meta.Columns}} {
		if len(m.list) == 0 {
			continue
		}
		text, err := json.Marshal(m.list)
		if err != nil {
			return nil, err
		}
		var entry rundir.Message
		entry.Bytes(entryKey, []byte(m.key))
		entry.Bytes(entryValue, text)
		file.Bytes(modelMetadata, entry)
	}
	return file, nil
}

// foreign refuses a model that only a program of the user's computes.
func foreign(s *saved.Saved, cure string) error {
	if s.Model() == model.ProgramName {
		return config.Usage("onnx: the module is in a program, and only that can compute it: %s", cure)
	}
	return config.Usage("onnx: the model %s is custom code, which is not saved with the weights: %s", s.Model(), Arrays)
}
