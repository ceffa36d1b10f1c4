package model

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hogwild/hogwild/data"
)

func images(shape ...int) data.Meta {
	m := data.Meta{Name: "photos", Features: 1, Shape: shape, Classes: make([]string, 10)}
	for _, n := range shape {
		m.Features *= n
	}
	return m
}

func TestConvShapes(t *testing.T) {
	for _, c := range []struct {
		name  string
		shape []int
		want  Net
	}{
		{"convnet", []int{28, 28}, Net{1, 28, 28, []Conv{{10, 5, 2, 0}, {20, 5, 2, .5}}, []Hidden{{50, .5}}}},
		{"conv:8@3", []int{3, 32, 30}, Net{3, 32, 30, []Conv{{8, 3, 1, 0}}, nil}},
		{"conv:8@3d.25,4@1p3d0.125,7,5d.75", []int{1, 9, 9},
			Net{1, 9, 9, []Conv{{8, 3, 1, .25}, {4, 1, 3, .125}}, []Hidden{{7, 0}, {5, .75}}}},
	} {
		s, err := Resolve(Options{Name: c.name, Bias: true}, images(c.shape...))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if d := cmp.Diff(c.want, *s.Net); d != "" || s.Loss != CrossEntropy || s.Outputs != 10 {
			t.Errorf("%s: %s with %d outputs\n%s", c.name, s.Loss, s.Outputs, d)
		}
	}
}

func TestConvRefusals(t *testing.T) {
	for _, c := range []struct{ name, loss, want string }{
		{"conv", "", `layer 1, "", is not CHANNELS@KERNEL[pPOOL][d[RATE]] or, after the convolutions, WIDTH[d[RATE]]`},
		{"conv:10@5q", "", `layer 1, "10@5q", is not`},
		{"conv:10@5,20@x", "", `layer 2, "20@x", is not`},
		{"conv:0@5", "", `layer 1, "0@5"`},
		{"conv:10@0", "", `layer 1, "10@0"`},
		{"conv:10@5p0", "", `layer 1, "10@5p0"`},
		{"conv:10@5p2d1", "", `layer 1, "10@5p2d1"`},
		{"conv:10@5,50,20@5", "", `layer 3, "20@5", is not`},
		{"conv:99999999@5", "", `with numbers from 1 to 1048576`},
		{"conv:50", "", `"conv:50" has no convolution: begin with CHANNELS@KERNEL, e.g. conv:10@5p2,20@5p2d,50d`},
		{"convnet", "mse", `unknown loss "mse"`},
	} {
		if _, err := Task(c.name, c.loss); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Task(%q, %q): %v\nwant %s", c.name, c.loss, err, c.want)
		}
	}
	flat := images(28, 28)
	flat.Shape = nil
	values := images(28, 28)
	values.Classes = nil
	for _, c := range []struct {
		name, loss string
		meta       data.Meta
		want       string
	}{
		{"convnet", "", flat, `convnet needs images, but photos has 784 features without height and width`},
		{"conv:3@5", "", images(28, 4),
			`images of photos are 28 x 4; the input of convolution 1 is 28 x 4, smaller than its kernel of 5`},
		{"convnet", "", images(13, 13), `the input of convolution 2 is 4 x 4`},
		{"conv:3@5p9", "", images(12, 12), `the pooling of convolution 1, 9 x 9, leaves no pixels`},
		{"conv:171196@5,233017@5", "", images(28, 28),
			`convolution 2 has 233017 channels of 24 x 24: at most 233016 of this size; use fewer channels or more pooling`},
		{"convnet", "squared", images(28, 28), `predicts values, but photos has 10 classes`},
		{"convnet", "cross-entropy", values, `needs classes`},
	} {
		_, err := New(Options{Name: c.name, Loss: c.loss, Bias: true}, c.meta)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s on %v: %v\nwant %s", c.name, c.loss, c.meta.Shape, err, c.want)
		}
	}
}
