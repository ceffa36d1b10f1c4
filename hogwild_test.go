package hogwild

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"hogwild/hogwild/run"
)

// described are the lines of go doc that say a field or a method: names, then what they are.
var described = regexp.MustCompile(`^ {8}([A-Z]\w*(?:, [A-Z]\w*)*)((?: |\().*?)(?:  |\n)`)

// renamed is what types are called here.
var renamed = strings.NewReplacer("rundir.EpochResult", "Epoch", "data.Memory", "Data", "rundir.", "", "config.", "",
	"control.", "",
	"data.", "", "model.", "", "vec.", "", "saved.", "", "interface {}", "any")

// TestFace: go doc shows each field and method of the types that a program needs, with its type.
func TestFace(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command: go doc cannot be read")
	}
	for name, is := range map[string]reflect.Type{
		"Result": reflect.TypeFor[Result](), "Epoch": reflect.TypeFor[Epoch](),
		"Saved": reflect.TypeFor[*Saved](), "Data": reflect.TypeFor[Data](), "Model": reflect.TypeFor[Model](),
	} {
		out, err := exec.Command(goTool, "doc", name).CombinedOutput()
		if err != nil {
			t.Fatalf("go doc %s: %v: %s", name, err, out)
		}
		says := map[string]string{}
		for line := range strings.Lines(string(out)) {
			if m := described.FindStringSubmatch(line); m != nil {
				for _, n := range strings.Split(m[1], ", ") {
					says[n] = strings.TrimSpace(m[2])
				}
			}
		}
		for n, want := range membersOf(is) {
			if says[n] != want {
				t.Errorf("go doc hogwild.%s says %q of %s, which is %s: mend the comment in hogwild.go", name,
					says[n], n, want)
			}
			delete(says, n)
		}
		for n := range says {
			t.Errorf("go doc hogwild.%s tells of %s, which is not there: mend the comment in hogwild.go", name, n)
		}
	}
}

// membersOf returns the fields of a struct, or the methods of anything else.
func membersOf(is reflect.Type) map[string]string {
	all := map[string]string{}
	if is.Kind() != reflect.Struct {
		for i := range is.NumMethod() {
			m := is.Method(i)
			text := renamed.Replace(m.Type.String())
			if is.Kind() == reflect.Pointer { // the receiver comes first
				text = strings.Replace(strings.Replace(text, "*Saved, ", "", 1), "*Saved", "", 1)
			}
			all[m.Name] = strings.TrimPrefix(text, "func")
		}
		return all
	}
	for _, f := range reflect.VisibleFields(is) {
		if f.IsExported() && !f.Anonymous {
			all[f.Name] = renamed.Replace(f.Type.String())
		}
	}
	return all
}

// commandLine are the options of the command line, and of the Python package, alone.
var commandLine = map[string]bool{"Peers": true, "Snapshot": true, "Given": true, "Exits": true, "Unjudged": true,
	"Sets": true, "Unscored": true, "OnPlan": true}

// TestOptions: every option of a run has a field here that arrives.
func TestOptions(t *testing.T) {
	inner := reflect.TypeFor[run.Options]()
	for i := range inner.NumField() {
		name := inner.Field(i).Name
		if _, ok := reflect.TypeFor[Options]().FieldByName(name); ok == commandLine[name] {
			t.Errorf("Options.%s", name)
		}
	}
	var o Options
	for i := range reflect.TypeFor[Options]().NumField() {
		f := reflect.ValueOf(&o).Elem().Field(i)
		switch f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.String:
			f.SetString("x")
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case reflect.Func:
			o.OnEpoch = func(Epoch) {}
		case reflect.Interface:
			o.Progress = os.Stderr
		}
	}
	got := reflect.ValueOf(o.inner())
	for i := range got.NumField() {
		if name := got.Type().Field(i).Name; !commandLine[name] && got.Field(i).IsZero() {
			t.Errorf("Options.%s does not arrive", name)
		}
	}
}

// line returns points on y = 3x - 1.
func line(n int) *Data {
	d := &Data{}
	for i := range n {
		x := float32(i) / float32(n)
		d.Rows, d.Y = append(d.Rows, Row{Val: []float32{x}}), append(d.Y, 3*x-1)
	}
	return d
}

// TestTrain: it leaves no files behind, neither here nor among the temporary ones, and its model can predict.
func TestTrain(t *testing.T) {
	here, temporary := t.TempDir(), t.TempDir()
	t.Chdir(here)
	t.Setenv("TMPDIR", temporary)
	c := Default()
	c.Model, c.Workers, c.Batch, c.Epochs, c.LR, c.Scale = "linear", 2, 1, 40, 0.05, "standard"
	saved, result, err := Train(t.Context(), c, Options{TrainData: line(1000)})
	if err != nil {
		t.Fatal(err)
	}
	y, err := saved.Predict([]float32{2})
	if err != nil || y[0] < 4.9 || y[0] > 5.1 || result.Run != "" || result.Epochs != 40 {
		t.Errorf("at 2: %v, %v; %d epochs in %q", y, err, result.Epochs, result.Run)
	}

	ctx, stop := context.WithCancel(t.Context())
	saved, _, err = Train(ctx, c, Options{TrainData: line(1000), OnEpoch: func(Epoch) { stop() }})
	if !errors.Is(err, ErrInterrupted) || saved == nil {
		t.Errorf("interrupted: %v, %v", saved, err)
	}
	for _, dir := range []string{here, temporary} {
		if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || left != nil {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

// TestUsage: what a program gives wrongly is refused with what to do.
func TestUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	named := Default()
	named.Run = "somewhere"
	wrong := Default()
	wrong.Model, wrong.Epochs = "wrongly", 1
	Register("wrongly", func(Meta) (Model, error) { return wrongly{}, nil })
	for want, try := range map[string]struct {
		c Config
		d *Data
	}{
		"start from hogwild.Default()": {Config{}, nil},
		"has no rows; fill Rows":       {Default(), &Data{}},
		"call Run":                     {named, line(10)},
		"its method Predict is a func([]float32) float32; predictions need a func([]float32, *data.Batch, []float32) " +
			"[]float32": {wrong, line(10)},
	} {
		if _, _, err := Train(t.Context(), try.c, Options{TrainData: try.d}); !errors.Is(err, ErrUsage) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// wrongly is a model whose Predict is not the one of Predictor.
type wrongly struct{ Model }

func (wrongly) Predict(x []float32) float32 { return 0 }
