package ability

import (
	"fmt"
	"slices"
	"strings"

	"hogwild/hogwild/core"
	"hogwild/hogwild/model"
	"hogwild/internal/human"
)

// Unused warns of tensors that no gradient reaches. A layer that the loss does not depend on keeps its first weights,
// and nothing else shows it: the run trains, and is saved. So the copy of the weights after the first epoch is compared
// with the one before it, tensor by tensor, where the weights are. On cores that stops at the first weight that has
// changed, and no worker takes part.
func Unused() core.Ability { return &unused{} }

type unused struct {
	unchanged []int // tensors, as far as is known
}

// Handle compares the copies that are made until the end of the first epoch, and reports the tensors that it has not
// changed.
func (a *unused) Handle(r *core.Run, e core.Event) error {
	switch e := e.(type) {
	case *core.Starts:
		if p := &r.Position; p.Epoch > 1 || p.Within || r.Job.Asked.Sample > 0 {
			return nil
		}
		err := r.Saver.CopyWeights()
		for i, p := range r.Task.Params {
			if !p.Fixed {
				a.unchanged = append(a.unchanged, i)
			}
		}
		if len(a.unchanged) > 0 {
			r.Hooks.Compared = a.compared
		}
		return err
	case *core.Completed:
		if e.Examples > 0 && len(a.unchanged) > 0 {
			var line string
			r.Position.Unused, line = unusedNames(r.Task.Params, a.unchanged)
			r.Report.Event("%s", line)
			a.unchanged, r.Hooks.Compared = nil, nil
		}
	}
	return nil
}

// compared leaves out the tensors that have changed, and reports whether others are left to look at.
func (a *unused) compared(changed []bool) (more bool) {
	a.unchanged = slices.DeleteFunc(a.unchanged, func(i int) bool { return changed[i] })
	return len(a.unchanged) > 0
}

const mostNamed = 8 // tensors in a line

// unusedNames returns the names of the tensors that the first epoch has not changed, and a line about them.
func unusedNames(params []model.Param, unchanged []int) (names []string, line string) {
	for _, tensor := range unchanged {
		names = append(names, params[tensor].Name)
	}
	if !slices.ContainsFunc(params, func(p model.Param) bool { return !p.Fixed && !slices.Contains(names, p.Name) }) {
		return names, "the first epoch has changed no weight: no gradient reaches the model, or the learning rate is " +
			"too small"
	}
	they := "they are"
	if len(names) == 1 {
		they = "it is"
	}
	return names, fmt.Sprintf("%s received no gradient in the first epoch, or one too small to matter: %s as "+
		"initialised", listed(names), they)
}

// listed returns the first few names.
func listed(names []string) string {
	if more := len(names) - mostNamed; more > 0 {
		return fmt.Sprintf("%s and %s", strings.Join(names[:mostNamed], ", "), human.Plural(more, "other tensor"))
	}
	return strings.Join(names, ", ")
}
