package torch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hogwild/hogwild/rundir/tensor"
)

// usual are the keys under which checkpoints have the weights, beside those of an optimizer.
var usual = []string{"state_dict", "model_state_dict", "model"}

// stateDict is the tensors of a state_dict: of the value itself, or of the one dictionary in it that has tensors.
func stateDict(top any) ([]tensor.Tensor, error) {
	d, ok := top.(*dict)
	if t, is := top.(tensor.Tensor); is {
		return nil, fmt.Errorf("holds a single tensor, of shape %v, without a name: %s",
			t.Shape[:min(8, len(t.Shape))], Advice)
	}
	if !ok {
		return nil, fmt.Errorf("holds %s, and not a state_dict: %s", kind(top), Advice)
	}
	if d.hasTensors() {
		return d.tensors()
	}
	var names []string
	found, seen := map[string]*dict{}, map[*dict]bool{} // a pickle can name one dictionary any number of times
	for i, key := range d.keys {
		name, _ := key.(string)
		inner, ok := d.values[i].(*dict)
		if ok && name != "" && !seen[inner] && inner.hasTensors() {
			names, found[name] = append(names, name), inner
		}
		seen[inner] = true
	}
	known := slices.DeleteFunc(slices.Clone(usual), func(name string) bool { return found[name] == nil })
	switch {
	case len(names) == 1:
		return found[names[0]].tensors()
	case len(known) == 1:
		return found[known[0]].tensors()
	case len(names) == 0:
		return nil, errors.New("holds no tensors: " + Advice)
	}
	return nil, fmt.Errorf("holds several state_dicts, %.200q: save one of them alone", strings.Join(names, ", "))
}

// hasTensors reports whether a value of the dictionary is a tensor.
func (d *dict) hasTensors() bool {
	return slices.ContainsFunc(d.values, func(v any) bool { _, ok := v.(tensor.Tensor); return ok })
}

// tensors are the values, with their keys as names. What is no tensor is refused.
func (d *dict) tensors() ([]tensor.Tensor, error) {
	ts, seen := make([]tensor.Tensor, len(d.keys)), map[string]bool{}
	for i, key := range d.keys {
		name, ok := key.(string)
		t, is := d.values[i].(tensor.Tensor)
		switch {
		case !ok:
			return nil, fmt.Errorf("has %s as the name of a tensor: %s", kind(key), Advice)
		case !is:
			return nil, fmt.Errorf("has %.100q, which is %s and not a tensor: %s", name, kind(d.values[i]), Advice)
		case seen[name]:
			return nil, fmt.Errorf("has two tensors with the name %.100q", name)
		}
		t.Name, seen[name] = name, true
		ts[i] = t
	}
	return ts, nil
}
