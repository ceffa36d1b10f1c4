package export

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"hogwild/hogwild/config"
	"hogwild/hogwild/model"
	"hogwild/hogwild/run"
	"hogwild/internal/human"
)

// solvers are the names of LIBLINEAR's solvers whose models predict as ours of that loss do. Their files
// differ in nothing else: how the weights were found does not matter.
var solvers = map[model.Loss]string{
	model.CrossEntropy: "MCSVM_CS", // the largest output counts; LIBLINEAR has no probabilities of it
	model.Logistic:     "L2R_LR",
	model.Hinge:        "L2R_L1LOSS_SVC_DUAL",
	model.Squared:      "L2R_L2LOSS_SVR",
	model.L1:           "L2R_L1LOSS_SVR_DUAL",
}

// LIBLINEAR is a linear model as the model file of LIBLINEAR, whose predict reads data in LIBSVM's format.
// Errors match config.ErrUsage.
func LIBLINEAR(s *run.Saved) ([]byte, error) {
	f, err := flatten(s, "libsvm", "LIBLINEAR")
	if err != nil {
		return nil, err
	}
	if f.first == 0 {
		return nil, config.Usage("libsvm: the feature numbers of %s count from 0, and LIBLINEAR's from 1: use --to vw or onnx", f.source)
	}
	labels, err := f.labels()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "solver_type %s\nnr_class %d\n", solvers[f.Loss], max(2, f.Classes))
	if labels != nil {
		fmt.Fprintf(&b, "label%s\n", labels)
	}
	bias := -1 // none
	if f.biased {
		bias = 1 // the value of a feature behind the last one, whose weight is the bias
	}
	fmt.Fprintf(&b, "nr_feature %d\nbias %d\nw\n", f.Features, bias)
	line := func(value func(k int) float64) {
		for k := range f.Outputs {
			b.WriteString(strconv.FormatFloat(value(k), 'g', 17, 64))
			b.WriteByte(' ')
		}
		b.WriteByte('\n')
	}
	for j := range f.Features {
		line(func(k int) float64 { return f.weight[k][j] })
	}
	if f.biased {
		line(func(k int) float64 { return f.bias[k] })
	}
	return b.Bytes(), nil
}

// labels are those of the classes, in the order of the outputs; a single output that is positive stands for the first.
func (f *flat) labels() (text []byte, err error) {
	for i := range f.classes {
		name := f.classes[i]
		if f.Outputs == 1 {
			name = f.classes[1-i]
		}
		v, err := strconv.ParseFloat(name, 64)
		if err != nil || v != math.Trunc(v) || math.Abs(v) > math.MaxInt32 {
			return nil, config.Usage("libsvm: the labels of LIBLINEAR are whole numbers, and a class is %s: use --to onnx, or train with numbered classes", human.Quote(name))
		}
		text = fmt.Appendf(text, " %d", int(v))
	}
	return text, nil
}
