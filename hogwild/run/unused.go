package run

import (
	"fmt"
	"slices"
	"strings"

	"hogwild/hogwild/model"
	"hogwild/internal/human"
)

// A layer that the loss does not depend on keeps its first weights, and nothing else tells: the run
// trains, and is saved. So the first epoch compares the weights with those before it, tensor by
// tensor. The owner's copy holds those, which until the first epoch's end has no other use, and a
// comparison on cores stops at the first weight that has changed. No worker takes part.

const mostNamed = 8 // tensors in a line

// watchTensors begins the comparison, if the run has its first epoch before it.
func (r *coordinator) watchTensors() error {
	r.saver.copy.W = make([]float32, len(r.mem.W))
	if p := &r.epochs.position; p.Epoch > 1 || p.Within || r.job.Sample > 0 {
		return nil
	}
	err := r.keepCopy(false)
	for i, p := range r.params {
		if !p.Fixed {
			r.epochs.unmoved = append(r.epochs.unmoved, i)
		}
	}
	return err
}

// dropChanged drops the tensors that have changed since the copy before.
func (r *coordinator) dropChanged(changed []bool) {
	r.epochs.unmoved = slices.DeleteFunc(r.epochs.unmoved, func(i int) bool { return changed[i] })
}

// tellUnused names the tensors that the first epoch has not changed.
func (r *coordinator) tellUnused() {
	if len(r.epochs.unmoved) == 0 {
		return
	}
	names := make([]string, len(r.epochs.unmoved))
	for i, tensor := range r.epochs.unmoved {
		names[i] = r.params[tensor].Name
	}
	r.epochs.position.Unused, r.epochs.unmoved = names, nil
	if !slices.ContainsFunc(r.params, func(p model.Param) bool { return !p.Fixed && !slices.Contains(names, p.Name) }) {
		r.report.event("the first epoch has changed no weight: no gradient reaches the model, or the learning rate is too small")
		return
	}
	they := "they are"
	if len(names) == 1 {
		they = "it is"
	}
	r.report.event("%s received no gradient in the first epoch, or one too small to matter: %s as initialised", listed(names), they)
}

// listed is the first few names.
func listed(names []string) string {
	if more := len(names) - mostNamed; more > 0 {
		return fmt.Sprintf("%s and %s", strings.Join(names[:mostNamed], ", "), human.Plural(more, "other tensor"))
	}
	return strings.Join(names, ", ")
}
