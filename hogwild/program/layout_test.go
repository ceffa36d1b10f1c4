package program

import (
	"fmt"
	"strings"
	"testing"

	"hogwild/hogwild/model"
)

// What differs between two layouts is listed, each tensor once.
func TestCompare(t *testing.T) {
	tensors := func(names ...string) *model.Layout {
		l := &model.Layout{Rows: 5}
		for _, name := range names {
			name, kind, _ := strings.Cut(name, ":")
			if kind == "" {
				kind = model.Parameter
			}
			l.Tensors = append(l.Tensors, model.Tensor{Name: name, Shape: []int{len(name), 2}, Kind: kind})
		}
		return l
	}
	run := tensors("fc.weight", "fc.bias", "norm.mean:buffer")
	wide := tensors("fc.weight", "fc.bias", "norm.mean:buffer")
	wide.Tensors[0].Shape = []int{3}
	rows := tensors("fc.weight", "fc.bias", "norm.mean:buffer")
	rows.Rows, rows.TestRows = 6, 1
	var many []string
	for i := range 20 {
		many = append(many, fmt.Sprintf("layer%d", i))
	}
	for _, c := range []struct {
		program *model.Layout
		table   string
	}{
		{tensors("fc.weight", "fc.bias", "norm.mean:buffer"), ""},
		{tensors("fc.weight", "norm.mean:buffer", "head"), `
  fc.bias  missing: the run has parameter [7 2]
  head     surplus: parameter [4 2]`},
		{wide, `
  fc.weight  [3], and [9 2] in the run`},
		{tensors("fc.weight", "fc.bias:frozen", "norm.mean:buffer"), `
  fc.bias  frozen, and parameter in the run`},
		{tensors("fc.weight", "norm.mean:buffer", "fc.bias"), `
  norm.mean  comes where the run has fc.bias: the order differs`},
		{rows, `
  the data set  6 rows and 1 to test, and 5 and 0 in the run`},
		{tensors(append(many, "fc.weight", "fc.bias", "norm.mean:buffer")...), `
  layer0  surplus: parameter [6 2]
  layer1  surplus: parameter [6 2]
  layer2  surplus: parameter [6 2]
  layer3  surplus: parameter [6 2]
  layer4  surplus: parameter [6 2]
  layer5  surplus: parameter [6 2]
  layer6  surplus: parameter [6 2]
  layer7  surplus: parameter [6 2]
  and 12 more`},
	} {
		want := ""
		if c.table != "" {
			want = "the program's model is not that of the run:" + c.table
		}
		got := ""
		if err := Compare(run, c.program); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
