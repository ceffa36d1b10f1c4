package rundir

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"hogwild/hogwild/config"
	"hogwild/hogwild/model"
	"hogwild/internal/human"
)

// MatchedTensors are the tensors of a file that fit a model.
type MatchedTensors struct {
	InitFrom
	Lines  []string // of what did not fit, for people
	values map[string][]float32
}

// Fit finds the tensors of a model in the file, by their names and shapes. Names may have the prefixes of wrappers of
// PyTorch, in the file or in the model. If some are missing, too many or of another shape, the error, which
// matches config.ErrUsage, lists them and adds the cure; with partial it is an error only if none fits.
func (f *Weights) Fit(name string, params []model.Param, layout *model.Layout, partial bool,
	cure string) (*MatchedTensors, error) {
	var same map[string]string
	if layout != nil {
		same = layout.Same
	}
	m, err := f.match(params, same)
	if err != nil {
		return nil, err
	}
	fit := &MatchedTensors{InitFrom: InitFrom{f.Path, m.fit, len(params)}, values: map[string][]float32{}}
	if len(m.misfits) > 0 {
		fit.Lines = m.table()
		if !partial || m.fit == 0 {
			if m.fit == 0 && partial {
				cure = "give a file with weights of this model"
			}
			return nil, config.Table(fit.Lines, "%s: %d of the %d tensors of model %s are in it, %s: %s", f.Path, m.fit,
				len(params), name, m.counts(), cure)
		}
	}
	for _, alias := range slices.Sorted(maps.Keys(same)) {
		a, b := m.found[alias], m.found[same[alias]]
		if a.Name != "" && !bytes.Equal(a.Data, b.Data) {
			return nil, config.Usage("%s: %s and %s are one tensor in the model, and differ in the file: remove one "+
				"of them", f.Path, b.Name, a.Name)
		}
	}
	for _, p := range params {
		t, ok := m.found[p.Name]
		if !ok || !slices.Equal(t.Shape, p.Shape) {
			continue
		}
		v, err := t.Floats()
		if err != nil {
			return nil, config.Usage("%s: %w", f.Path, err)
		}
		for _, x := range v {
			if x-x != 0 {
				return nil, config.Usage("%s: tensor %s has the value %v: train from weights that are finite float32 "+
					"numbers", f.Path, t.Name, x)
			}
		}
		fit.values[p.Name] = v
	}
	return fit, nil
}

// Into writes the tensors that fit over w's, which are ps. Others, as the ones of centring, stay.
func (f *MatchedTensors) Into(ps []model.Param, w []float32) error {
	for i, at := range model.Offsets(ps) {
		v, ok := f.values[ps[i].Name]
		if !ok {
			continue
		}
		if err := model.Import(ps[i:i+1], [][]float32{v}, w[at:at+len(v)]); err != nil {
			return err
		}
	}
	return nil
}

// matched is which tensor of a file is which of a model.
type matched struct {
	found                        map[string]Tensor // by the name in the model
	fit, missing, other, surplus int
	misfits                      [][]string // rows of a table
	// what to type in Python if all shapes fit in their order; "" if they do not
	rename string
}

// match finds the file's tensors for a model's.
func (f *Weights) match(params []model.Param, same map[string]string) (*matched, error) {
	m := &matched{found: map[string]Tensor{}}
	names, plain := map[string]bool{}, map[string]string{}
	known := func(name string) {
		names[name] = true
		short := unwrapped(name)
		if _, twice := plain[short]; twice {
			name = "" // only the whole names tell them apart
		}
		plain[short] = name
	}
	for _, p := range params {
		known(p.Name)
	}
	for alias := range same {
		known(alias)
	}
	var surplus []Tensor
	for _, t := range f.tensors {
		name := t.Name
		if !names[name] {
			name = plain[unwrapped(name)]
		}
		if name == "" {
			surplus = append(surplus, t)
			continue
		}
		if was, twice := m.found[name]; twice {
			return nil, config.Usage("%s: tensors %s and %s are both %s of the model: remove one", f.Path,
				was.Name, t.Name, name)
		}
		m.found[name] = t
	}
	for _, alias := range slices.Sorted(maps.Keys(same)) { // either name will do
		name := same[alias]
		if _, ok := m.found[name]; !ok && m.found[alias].Name != "" {
			m.found[name] = m.found[alias]
		}
	}
	m.compare(params, surplus)
	if slices.EqualFunc(f.tensors, params,
		func(t Tensor, p model.Param) bool { return slices.Equal(t.Shape, p.Shape) }) {
		m.rename = renaming(params)
	}
	return m, nil
}

// renaming returns the line of Python that saves the tensors of a network under the names of the model.
func renaming(params []model.Param) string {
	const most = 8
	var names []string
	for _, p := range params[:min(most, len(params))] {
		names = append(names, strconv.Quote(p.Name))
	}
	if len(params) > most {
		names = append(names, "...")
	}
	return "torch.save(dict(zip([" + strings.Join(names, ", ") + "], net.state_dict().values())), \"net.pt\")"
}

// compare lists what does not fit.
func (m *matched) compare(params []model.Param, surplus []Tensor) {
	for _, p := range params {
		t, ok := m.found[p.Name]
		switch {
		case !ok:
			m.missing++
			m.misfits = append(m.misfits, []string{p.Name, "-", shapeText(p.Shape), "missing"})
		case !slices.Equal(t.Shape, p.Shape):
			m.other++
			m.misfits = append(m.misfits, []string{t.Name, shapeText(t.Shape), shapeText(p.Shape), "other shape"})
		default:
			m.fit++
		}
	}
	for _, t := range surplus {
		m.surplus++
		m.misfits = append(m.misfits, []string{t.Name, shapeText(t.Shape), "-", "surplus"})
	}
}

// counts says how many do not fit, and why.
func (m *matched) counts() string {
	var words []string
	for _, c := range []struct {
		n    int
		text string
	}{{m.missing, "missing"}, {m.other, "of another shape"}, {m.surplus, "surplus"}} {
		if c.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", c.n, c.text))
		}
	}
	return strings.Join(words, ", ")
}

// mostMisfits is how many rows a table of them has.
const mostMisfits = 16

// table returns the tensors that do not fit, as lines.
func (m *matched) table() []string {
	rows := [][]string{{"tensor", "in the file", "in the model", ""}}
	for _, row := range m.misfits[:min(len(m.misfits), mostMisfits)] {
		row[0] = short(row[0])
		rows = append(rows, row)
	}
	lines := strings.Split(strings.TrimSuffix(human.AlignedRight(rows), "\n"), "\n")
	for i := range lines {
		lines[i] = "  " + lines[i]
	}
	if n := len(m.misfits) - mostMisfits; n > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", n))
	}
	if m.rename != "" {
		lines = append(lines, "The shapes are those of the model, in its order. If only the names differ, save the "+
			"file again:", "  "+m.rename)
	}
	return lines
}

// short returns a name, cut at its front to a bounded length: the end tells most.
func short(name string) string {
	const most = 48
	if r := []rune(name); len(r) > most {
		name = "..." + string(r[len(r)-most+3:])
	}
	return human.Name(name)
}

// shapeText returns a shape as people write it: 128x784.
func shapeText(shape []int) string {
	if len(shape) == 0 {
		return "scalar"
	}
	words := make([]string, min(len(shape), 6))
	for i := range words {
		words[i] = fmt.Sprint(shape[i])
	}
	if len(shape) > len(words) {
		words = append(words, "...")
	}
	return strings.Join(words, "x")
}

// unwrapped returns a name without what DistributedDataParallel, DataParallel and torch.compile add to it.
func unwrapped(name string) string {
	name = strings.ReplaceAll(name, "_orig_mod.", "")
	for strings.HasPrefix(name, "module.") {
		name = strings.TrimPrefix(name, "module.")
	}
	return name
}
