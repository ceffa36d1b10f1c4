package run

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hogwild/hogwild/model"
	"hogwild/internal/human"
)

// A layer that the loss does not depend on keeps its first weights, and nothing else tells: the run
// trains, and is saved. So the first epoch compares the weights with those before it, tensor by
// tensor. The saver's copy holds those, which until the first epoch's end has no other use, and a
// comparison stops at the first weight that has changed: it costs a copy that the end of the epoch
// would make anyway, and no worker takes part.

// unchanged is by how much, relative to itself, a weight may differ that no gradient has changed:
// the mean of equal replicas is rounded, as a third of three times a weight.
const unchanged = 1.0 / (1 << 20)

const mostNamed = 8 // tensors in a line

// learns tells whether steps are to change a tensor.
func learns(p model.Param) bool { return !p.Fixed && !model.IsCenter(p) }

// watchTensors begins the comparison, if the run has its first epoch before it.
func (r *coordinator) watchTensors() {
	if p := &r.epochs.position; p.Epoch > 1 || p.Within || r.job.Sample > 0 {
		return
	}
	for i, p := range r.trained {
		if learns(p) {
			r.epochs.unmoved = append(r.epochs.unmoved, i)
		}
	}
	r.saver.copy.W = append(r.saver.copy.W[:0], r.mem.W...)
}

// findMoved drops the tensors that have changed since the copy was taken: before it is taken anew.
func (r *coordinator) findMoved() {
	if len(r.epochs.unmoved) == 0 {
		return
	}
	at := model.Offsets(r.trained)
	r.epochs.unmoved = slices.DeleteFunc(r.epochs.unmoved, func(i int) bool {
		end := at[i] + r.trained[i].Len()
		return moved(r.saver.copy.W[at[i]:end], r.mem.W[at[i]:end])
	})
}

func moved(from, to []float32) bool {
	for i, v := range from {
		if !(math.Abs(float64(to[i])-float64(v)) <= unchanged*math.Abs(float64(v))) { // also if it is no number
			return true
		}
	}
	return false
}

// tellUnused names the tensors that the first epoch has not changed.
func (r *coordinator) tellUnused() {
	r.findMoved()
	if len(r.epochs.unmoved) == 0 {
		return
	}
	names := make([]string, len(r.epochs.unmoved))
	for i, tensor := range r.epochs.unmoved {
		names[i] = r.trained[tensor].Name
	}
	r.epochs.position.Unused, r.epochs.unmoved = names, nil
	if !slices.ContainsFunc(r.trained, func(p model.Param) bool { return learns(p) && !slices.Contains(names, p.Name) }) {
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
