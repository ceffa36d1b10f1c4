package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/config"
)

// TestIdleSettings gives each setting along with each context on the command line, in the environment and in a file:
// all refuse it, with its place, exactly where config says that it has no effect; a file may give a default all the
// same. What a file has and the command line takes the effect of is left out.
func TestIdleSettings(t *testing.T) {
	type pair = []string // flags and values, as name=value
	contexts := []pair{{"mode=async"}, {"mode=atomic"}, {"mode=delayed:3"}, {"mode=sync"},
		{"mode=sync", "average=gradients"}, {"optimizer=momentum"},
		{"optimizer=adam"}, {"mode=sync", "optimizer=adagrad"}, {"schedule=cosine"}, {"schedule=step"}, {"gpu=0"},
		{"gpu=auto"}, {"batch=16"},
		{"global-batch=64"}, {"model=factor:8"}, {"model=softmax"}}
	folder, refusals, drops := t.TempDir(), 0, 0
	for _, setting := range []string{"average=weights", "average=gradients", "average-every=5", "average-every=epoch",
		"batch=8", "global-batch=8", "merge-every=8", "gradient-delay=1us", "gpu-mem-free=4GiB",
		"in-flight=4",
		"momentum=0.9", "momentum=0.5", "beta1=0.5", "beta2=0.999",
		"optimizer-state=private", "optimizer-state=shared", "lr-min=0.001",
		"decay=0.1", "decay=0.5", "biases=true", "l1=0.1", "lr=0.5"} {
		name, _, _ := strings.Cut(setting, "=")
		for _, context := range contexts {
			if slices.ContainsFunc(context, func(c string) bool {
				return strings.HasPrefix(c, name+"=") || c == "batch=16" && name == "global-batch"
			}) {
				continue
			}
			all := append(slices.Clone(context), setting, "workers=4")
			if slices.Contains(context, "mode=delayed:3") {
				all[len(all)-1] = "workers=1"
			}
			file := filepath.Join(folder, "all.yaml")
			for _, c := range []struct {
				source string
				o      trial
				place  string
			}{
				{"flags", read(t, all, nil, ""), ""},
				{"environment", read(t, nil, all, ""), "environment variable " + variable(name) + ": "},
				{"file", read(t, nil, nil, settingsFile(t, file, all)), fmt.Sprintf("%s:%d:1: ", file, len(all)-1)},
			} {
				of := fmt.Sprintf("%s beside %v, by %s", setting, context, c.source)
				idle, byDefault := false, false
				for i := range c.o.options.Idle(nil) {
					if i.Setting == name {
						idle, byDefault = true, !i.Changed
					}
				}
				text := fmt.Sprint(c.o.err)
				want := c.place + name + " "
				switch {
				case idle && (c.source != "file" || !byDefault):
					refusals++
					if !strings.HasPrefix(text, want) {
						t.Errorf("%s: %s, want %s...", of, text, want)
					}
				case strings.Contains(text, name) && strings.Contains(text, "no effect"):
					t.Errorf("%s: %s", of, text)
				}
			}
			o := read(t, all[:len(all)-2], nil, settingsFile(t, file, append(helpful[name], setting)))
			for _, line := range o.options.dropped {
				drops++
				if !strings.Contains(line, " has no effect with") ||
					!strings.HasSuffix(line, "; the setting is ignored") {
					t.Errorf("%s in a file, %v: %s", setting, context, line)
				}
			}
			for i := range o.options.Idle(nil) {
				if i.Setting == name && i.Changed && !strings.HasPrefix(fmt.Sprint(o.err), file+":") {
					t.Errorf("%s in a file, %v: %+v, %v", setting, context, i, o.err)
				}
			}
		}
	}
	if refusals < 300 || drops < 15 {
		t.Errorf("%d refusals and %d settings left out: too few", refusals, drops)
	}
}

// helpful is what lets a setting have an effect.
var helpful = map[string][]string{
	"average-every": {"mode=sync"}, "momentum": {"optimizer=momentum"}, "beta1": {"optimizer=adam"},
	"decay": {"schedule=exp"},
}

// TestLeftOut: a run on GPUs is trained on cores by --gpu= alone, whether its settings are in a file or it is resumed.
func TestLeftOut(t *testing.T) {
	file := settingsFile(t, filepath.Join(t.TempDir(), "gpus.yaml"),
		[]string{"gpu=auto:2", "gpu-mem-free=4GiB", "workers=6", "in-flight=64"})
	got := read(t, []string{"gpu="}, nil, file)
	want := config.Default()
	want.Workers = 6
	if o := got.options; got.err != nil || o.Config != want || len(o.dropped) != 2 {
		t.Errorf("%+v, %v, left out: %q", o.Config, got.err, o.dropped)
	}
	was := config.Default()
	was.GPU, was.GPUMemFree, was.Workers = "auto", "4GiB", 6
	o, s, err := trainSettings()
	if err == nil {
		_, err = s.arguments([]string{"--gpu="})
	}
	if err == nil {
		err = s.inherit(&was, "runs/gpus")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := o.leaveOut(s, nil); err != nil || s.checkIdle(&o.Config) != nil || o.Config != want ||
		len(o.dropped) != 1 {
		t.Errorf("%+v, %v, left out: %q", o.Config, err, o.dropped)
	}
}

// trial is what train makes of flags.
type trial struct {
	options *trainOptions
	err     error
}

// read reads settings as train does: flags, variables of the environment, and a file, if there is one.
func read(t *testing.T, flags, variables []string, file string) trial {
	t.Helper()
	o, s, err := trainSettings()
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, f := range flags {
		args = append(args, "--"+f)
	}
	if file != "" {
		args = append(args, "--config", file)
	}
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		os.Setenv(variable(name), value)
		defer os.Unsetenv(variable(name))
	}
	if _, err := s.arguments(args); err != nil {
		t.Fatal(err)
	}
	if err := s.environment(); err != nil {
		t.Fatal(err)
	}
	if err := o.files(s); err != nil {
		t.Fatal(err)
	}
	return trial{o, s.placed(s.checkIdle(&o.Config))}
}

// settingsFile writes a file of settings.
func settingsFile(t *testing.T, file string, settings []string) string {
	t.Helper()
	text := strings.ReplaceAll(strings.Join(settings, "\n"), "=", ": ")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}
