package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hogwild/hogwild/data"
	"hogwild/hogwild/data/text"
)

// Spec is a model with nothing left open. Of one that the program registered it has the name alone.
type Spec struct {
	Options  Options // what it was made from
	Name     string  // softmax, logistic, hinge, linear, l1, mlp:WIDTHS
	Loss     Loss
	Widths   []int // of the hidden layers; none for a linear model
	Net      *Net  // of a convolutional network, else nil
	Features int   // inputs of the first layer
	Outputs  int   // of the last: one for each class, or 1 (see Loss)
	Classes  int   // 0 when values are predicted
	Bias     bool  // has each layer a bias?

	Shape           []int   // factor: rows and columns of the matrix
	Mean, Deviation float32 // factor: of the values in it

	Text *text.Options // words, text: how the text was read
}

// maxWidth bounds a hidden layer, far above what host memory makes sensible.
const maxWidth = 1 << 20

// linearName is the linear model with the given loss.
var linearName = map[Loss]string{
	CrossEntropy: "softmax", Logistic: "logistic", Hinge: "hinge", SquaredHinge: "squared-hinge",
	Squared: "linear", L1: "l1",
}

// Task says how labels must be read for this model, which is known before the
// data is: as "classes", as "values", or, "", as they look. The error for an
// unknown name lists the known ones.
func Task(name, loss string) (string, error) {
	if _, ok := registry[name]; ok {
		return "", noOptions(name, loss, true)
	}
	if name == ProgramName {
		return "", nil
	}
	if f := FamilyOf(name); f != Own {
		return f.task(name, loss)
	}
	task, err := layersTask("", loss)
	if err == nil && name != "" {
		err = unknown(name)
	}
	return task, err
}

// unknown refuses a name.
func unknown(name string) error {
	return fmt.Errorf("model: unknown model %q: the models are %s", name, known())
}

// Linear is the family of the models of linearName, and Perceptron the family of mlp:WIDTHS.
var (
	Linear = &Family{
		Layered: true, L1: true, Weighs: true,
		forms: []string{"softmax", "logistic", "hinge", "squared-hinge", "linear", "l1"},
		task:  layersTask, resolve: resolveLayers, build: newLayers,
	}
	Perceptron = &Family{
		Layered: true, Network: true, L1: true, Weighs: true, forms: []string{"mlp:WIDTHS (mlp:128; mlp:256,128)"},
		task: layersTask, resolve: resolveLayers, build: newLayers,
	}
)

// layersTask is Task for linear models and perceptrons.
func layersTask(name, loss string) (string, error) {
	_, l, err := parse(name, loss)
	switch {
	case err != nil || l == "":
		return "", err
	case l.values():
		return "values", nil
	}
	return "classes", nil
}

// Resolve fills in what name and loss leave open. An empty name is the linear model, or for a matrix factor:32 and for
// a graph cut; an empty loss is squared for values and cross-entropy for classes, except that a linear model tells two
// classes apart with the logistic loss. The softmax, logistic, hinge, linear and l1 models take no loss but their own.
func Resolve(o Options, m data.Meta) (Spec, error) {
	if o.Name == "" && m.Entries() {
		if o.Name = byShape(m.Shape); m.Implicit {
			o.Name = "bpr:64"
		}
	}
	if o.Layout != nil {
		return Spec{Options: o, Name: ProgramName}, nil
	}
	name := o.Name
	if _, ok := registry[name]; ok {
		return Spec{Options: o, Name: name}, noOptions(name, o.Loss, o.Bias)
	}
	f := FamilyOf(name)
	if m.Entries() && (f.Layered || f.Network) {
		return Spec{}, fmt.Errorf("model: %s has the entries of a matrix, and %s takes rows with labels: use "+
			"factor:32, or name a column with --target; hogwild.train(X, y) in Python takes sparse X", m.Name, name)
	}
	if f != Own {
		return f.resolve(o, m)
	}
	if name != "" {
		_, err := Task(name, o.Loss) // which refuses it
		return Spec{}, err
	}
	return resolveLayers(o, m)
}

// resolveLayers is Resolve for linear models and perceptrons.
func resolveLayers(o Options, m data.Meta) (Spec, error) {
	name := o.Name
	widths, l, err := parse(name, o.Loss)
	if err != nil {
		return Spec{}, err
	}
	s := Spec{Options: o, Name: name, Loss: l, Widths: widths, Features: m.Features, Outputs: 1,
		Classes: len(m.Classes), Bias: o.Bias}
	if l == "" {
		s.Loss = byLabels(s.Classes, widths != nil)
	}
	if name == "" {
		s.Name = linearName[s.Loss]
	}
	if s.Loss == CrossEntropy || s.Classes > 2 {
		s.Outputs = s.Classes
	}
	return s, s.check(m.Name)
}

// byShape returns the model of triples when none is named.
func byShape(matrix []int) string {
	if matrix == nil {
		return "cut"
	}
	return "factor:32"
}

// byLabels returns the loss when none is named.
func byLabels(classes int, hidden bool) Loss {
	switch {
	case classes == 0:
		return Squared
	case classes == 2 && !hidden:
		return Logistic
	}
	return CrossEntropy
}

// check refuses a model that does not suit its data.
func (s Spec) check(set string) error {
	switch {
	case s.Features < 1:
		return fmt.Errorf("model: %s has no features: there is nothing to learn from", set)
	case s.Loss.values() && s.Classes > 0:
		return fmt.Errorf("model: the %s loss predicts values, but %s has %d classes: use cross-entropy, logistic or "+
			"hinge", s.Loss, set, s.Classes)
	case !s.Loss.values() && s.Classes == 0:
		return fmt.Errorf("model: the %s loss needs classes, but the labels of %s are values: use squared or l1",
			s.Loss, set)
	case s.Classes == 1:
		return fmt.Errorf("model: all labels of %s are the same, so there is nothing to learn", set)
	}
	return nil
}

// parse reads a built-in model's name: the widths of its hidden layers, and its
// loss, which is "" if neither argument decides it.
func parse(name, loss string) (widths []int, l Loss, err error) {
	l = Loss(loss)
	if l != "" && !slices.Contains(Losses, l) {
		return nil, "",
			fmt.Errorf("model: unknown loss %q: the losses are cross-entropy, logistic, hinge, "+
				"squared-hinge, squared, l1", loss)
	}
	if name == "" {
		return nil, l, nil
	}
	if kind, _, _ := strings.Cut(name, ":"); kind == "mlp" {
		widths, err = parseWidths(name)
		return widths, l, err
	}
	for own, n := range linearName {
		if n != name {
			continue
		}
		if l != "" && l != own {
			return nil, "", fmt.Errorf("model: %s is the linear model with the %s loss; with the %s loss it is "+
				"called %s", name, own, l, linearName[l])
		}
		return nil, own, nil
	}
	return nil, l, nil
}

func parseWidths(name string) ([]int, error) {
	_, list, _ := strings.Cut(name, ":")
	var widths []int
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxWidth {
			return nil, fmt.Errorf("model: %q: width %q is not a number from 1 to %d (write mlp:128, or mlp:256,128)",
				name, text, maxWidth)
		}
		widths = append(widths, n)
	}
	return widths, nil
}
