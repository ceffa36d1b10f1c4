//go:build cuda

package cuda

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/config"
)

// TestImages is which images a GPU tries, in order.
func TestImages(t *testing.T) {
	for _, c := range []struct {
		source       string
		major, minor int
		want         string
	}{
		{"linear", 7, 0, "PTX sm_70"},
		{"factor", 7, 5, "PTX sm_70"},
		{"linear", 8, 0, "sm_80 cubin, PTX sm_70"},
		{"linear", 8, 6, "sm_86 cubin, PTX sm_70"},
		{"factor", 8, 9, "sm_86 cubin, PTX sm_70"},
		{"linear", 9, 0, "sm_90 cubin, PTX sm_70"},
		{"factor", 9, 0, "sm_90 cubin, PTX sm_90, PTX sm_70"},
		{"linear", 10, 3, "sm_100 cubin, PTX sm_70"},
		{"mlp_tensor", 7, 5, ""},
		{"mlp_tensor", 8, 6, "sm_86 cubin, PTX sm_80"},
		{"mlp_tensor", 9, 0, "sm_90 cubin, PTX sm_90, PTX sm_80"},
		{"factor", 11, 0, "PTX sm_90, PTX sm_70"},
		{"factor", 12, 1, "sm_120 cubin, PTX sm_90, PTX sm_70"},
	} {
		var got []string
		for _, i := range imagesOf(c.source, c.major, c.minor) {
			got = append(got, i.String())
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%s on %d.%d: %s, want %s", c.source, c.major, c.minor, got, c.want)
		}
	}
}

// TestStale: machine code that was made of other PTX is not loaded.
func TestStale(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Name = "linear.sm_70.ptx 00c0ffee"
	fmt.Fprint(z, "code")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if code, err := unpack(packed.Bytes(), z.Name); code != "code" || err != nil {
		t.Errorf("unpacked %q, %v", code, err)
	}
	if code, err := unpack(packed.Bytes(), "linear.sm_70.ptx 00c0ffef"); code != "" || !errors.Is(err, errStale) {
		t.Errorf("unpacked %q, %v, want none", code, err)
	}
}

// loadings is what becomes of loading the kernels of factor, which ship in every form, on different
// machines: which image is loaded, or what the error says.
var loadings = []struct {
	name     string
	switches []string
	want     string
	says     []string
}{
	{"cubin refused", nil, "PTX sm_90, compiled by the driver, after sm_90 cubin: error 209", nil},
	{"cubin taken", []string{"CUBINS=1"}, "sm_90 cubin", nil},
	{"cubin of an older GPU", []string{"CUBINS=1", "CAPABILITY=8.9"}, "sm_86 cubin", nil},
	{"driver older than the PTX", []string{"DRIVER=12000"},
		"PTX sm_70, compiled by the driver, after sm_90 cubin: error 209, PTX sm_90: error 222", nil},
	{"no compiler", []string{"CUBINS=1", "NO_JIT=1"}, "sm_90 cubin", nil},
	{"no compiler and no cubin", []string{"NO_JIT=1"}, "",
		[]string{"after sm_90 cubin: error 209, PTX sm_90: error 221", "CUDA error 221",
			"install libnvidia-ptxjitcompiler.so.1"}},
	{"no compiler and no cubin for it", []string{"CUBINS=1", "NO_JIT=1", "CAPABILITY=7.5"}, "",
		[]string{"(PTX sm_70 of factor)", "CUDA error 221"}},
}

// TestLoading is each of them, in a process of its own.
func TestLoading(t *testing.T) {
	for _, c := range loadings {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			var switches []string
			for _, s := range c.switches {
				switches = append(switches, "HOGWILD_FAKE_"+s)
			}
			if !replay(t, switches...) {
				return
			}
			var images []loaded
			err := withGPU(0, "", func(g *gpu) error {
				_, err := loadKernels(g, "factor")
				images = g.images
				return err
			})
			for _, text := range c.says {
				if err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("the error %v does not say %q", err, text)
				}
			}
			if c.says == nil && (err != nil || len(images) != 1 || images[0].String() != c.want) {
				t.Errorf("loaded %v (%v), want %s", images, err, c.want)
			}
		})
	}
}

// TestOldDriver: a run goes well with a driver that is too old for the PTX of its GPU, and
// says what its kernels are.
func TestOldDriver(t *testing.T) {
	needStandIn(t)
	c := digits(t, func(c *config.Config) { c.Model, c.Data, c.Epochs = "factor:8", "synth:lowrank:50x60x1000x3", 1 })
	r, err := apart(t, c, "HOGWILD_FAKE_DRIVER=12000").result(t)
	if err != nil {
		t.Fatal(err)
	}
	const want = "kernels on GPU 0: PTX sm_70, compiled by the driver, after sm_90 cubin: error 209, PTX sm_90: " +
		"error 222"
	if !slices.Contains(r.Notes, want) {
		t.Errorf("notes %q do not say %q", r.Notes, want)
	}
}
