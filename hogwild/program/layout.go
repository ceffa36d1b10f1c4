package program

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hogwild/hogwild/model"
)

// maxElements of all tensors together, so that no sum of sizes overflows.
const maxElements = 1 << 40

// kinds are those that a tensor can have.
var kinds = []string{model.Parameter, model.Frozen, model.Buffer, model.Integer}

// checkLayout refuses a layout that contradicts itself.
func checkLayout(l *model.Layout) error {
	if len(l.Tensors) == 0 {
		return errors.New("its model has no tensors")
	}
	for name := range l.Same {
		if reserved(name) {
			return isReserved(name)
		}
	}
	all, seen, trains := 0, map[string]bool{}, false
	for _, t := range l.Tensors {
		n := elements(t.Shape)
		switch {
		case t.Name == "":
			return errors.New("a tensor has no name")
		case seen[t.Name]:
			return fmt.Errorf("two tensors are called %s", t.Name)
		case reserved(t.Name):
			return isReserved(t.Name)
		case !slices.Contains(kinds, t.Kind):
			return fmt.Errorf("tensor %s is of kind %q; there are %s", t.Name, t.Kind, strings.Join(kinds, ", "))
		case n < 0 || n > maxElements-all:
			return fmt.Errorf("tensor %s has the shape %v: a size is negative, or they are too large", t.Name, t.Shape)
		}
		seen[t.Name] = true
		trains = trains || t.Kind == model.Parameter && n > 0
		all += n
	}
	if !trains {
		return errors.New("its model has no parameter to train")
	}
	for name, of := range l.Same {
		if seen[name] || !seen[of] {
			return fmt.Errorf("tensor %s is to be the same as %s: one has to be among the tensors, and not the other",
				name, of)
		}
	}
	if l.Rows < 0 || l.TestRows < 0 || l.Rows == 0 && l.TestRows > 0 {
		return fmt.Errorf("a data set of %d rows, and %d to test", l.Rows, l.TestRows)
	}
	return nil
}

// reserved reports whether a snapshot's other tensors, or the metadata of its file, may have the name.
func reserved(name string) bool { return strings.HasPrefix(name, "hogwild.") || name == "__metadata__" }

func isReserved(name string) error {
	return fmt.Errorf("tensor %s has a name that run folders use themselves: rename that attribute of the module", name)
}

// elements returns the number of a shape's elements; -1 if that is no shape, or above maxElements.
func elements(shape []int) int {
	n := 1
	for _, s := range shape {
		if s < 0 || s > 0 && n > maxElements/s {
			return -1
		}
		n *= s
	}
	return n
}

// Compare returns an error unless a program has the layout of the run. It lists what differs.
func Compare(run, program *model.Layout) error {
	var rows [][2]string
	add := func(name, format string, a ...any) { rows = append(rows, [2]string{name, fmt.Sprintf(format, a...)}) }
	now := map[string]model.Tensor{}
	for _, t := range program.Tensors {
		now[t.Name] = t
	}
	before := map[string]bool{}
	for _, t := range run.Tensors {
		before[t.Name] = true
		switch n, ok := now[t.Name]; {
		case !ok:
			add(t.Name, "missing: the run has %s %v", t.Kind, t.Shape)
		case !slices.Equal(n.Shape, t.Shape):
			add(t.Name, "%v, and %v in the run", n.Shape, t.Shape)
		case n.Kind != t.Kind:
			add(t.Name, "%s, and %s in the run", n.Kind, t.Kind)
		}
	}
	for _, t := range program.Tensors {
		if !before[t.Name] {
			add(t.Name, "surplus: %s %v", t.Kind, t.Shape)
		}
	}
	if rows == nil { // the same names
		for i, t := range run.Tensors {
			if n := program.Tensors[i]; n.Name != t.Name {
				add(n.Name, "comes where the run has %s: the order differs", t.Name)
				break
			}
		}
	}
	if run.Rows != program.Rows || run.TestRows != program.TestRows {
		add("the data set", "%d rows and %d to test, and %d and %d in the run", program.Rows, program.TestRows,
			run.Rows, run.TestRows)
	}
	if rows == nil {
		return nil
	}
	return errors.New("the program's model is not that of the run:" + table(rows))
}

// maxRows of a table are shown.
const maxRows = 8

// table lists names, with what is to be said of each.
func table(rows [][2]string) string {
	more := len(rows) - maxRows
	if more > 0 {
		rows = rows[:maxRows]
	}
	width := 0
	for _, r := range rows {
		width = max(width, len(r[0]))
	}
	var text strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&text, "\n  %-*s  %s", width, r[0], r[1])
	}
	if more > 0 {
		fmt.Fprintf(&text, "\n  and %d more", more)
	}
	return text.String()
}
