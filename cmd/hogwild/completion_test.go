package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"hogwild/hogwild/config"
)

// shells complete a command line, and print what it may become, a line each. The program is
// on PATH.
var shells = map[string]struct{ program, script string }{
	"bash": {"bash", `eval "$(hogwild completion bash)"
		COMP_LINE=$1 COMP_POINT=${#1}
		compopt() { :; } # readline is not there
		_hogwild
		printf '%s\n' "${COMPREPLY[@]}"`},
	"fish": {"fish", `hogwild completion fish | source
		complete -C $argv[1] | string replace -r '\t.*' ''; true`},
	// zsh completes only at a prompt; what the widget would be given is looked at instead.
	"zsh": {"zsh", `compdef() { :; }
		_describe() { print -l -- ${(P)2} | sed -e 's/\\:/\x01/g' -e 's/:.*//' -e 's/\x01/:/g'; }
		_files() { print -l -- *(N); }
		compset() { :; }
		source <(hogwild completion zsh)
		words=(${(z)1}); [[ $1 == *' ' ]] && words+=('')
		CURRENT=${#words}
		_hogwild || true`},
}

func TestCompletionInShells(t *testing.T) {
	bin := t.TempDir()
	self, err := os.Executable() // which is hogwild when it is called so: see TestMain
	if err == nil {
		err = os.Symlink(self, filepath.Join(bin, "hogwild"))
	}
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, name := range []string{"mnist.csv", "model.yaml"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, shell := range shells {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(shell.program); err != nil {
				t.Skip(err)
			}
			for _, c := range []struct{ line, want string }{
				{"hogwild tr", "train"},
				{"hogwild data ", "convert get info make"},
				{"hogwild help comp", "completion"},
				{"hogwild train --average-", "--average-every --average-lr"},
				{"hogwild train --mode lo", "locked"},
				{"hogwild train --optimizer ad", "adam adagrad"},
				{"hogwild train --config mo", "model.yaml"},
				{"hogwild train --limit ", ""},
				{"hogwild train --epochs ", "auto"},
				{"hogwild eval mn", "mnist.csv"},
				{"hogwild completion ", "bash zsh fish"},
			} {
				run := exec.Command(shell.program, "-c", shell.script, name, c.line)
				if name == "fish" {
					run.Args = []string{"fish", "--no-config", "-c", shell.script, c.line}
				}
				run.Dir = folder
				run.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + folder}
				out, err := run.CombinedOutput()
				got, want := strings.Fields(string(out)), strings.Fields(c.want)
				if name == "zsh" { // it filters files itself
					got = slices.DeleteFunc(got,
						func(s string) bool { return !strings.HasPrefix(s, c.line[strings.LastIndex(c.line, " ")+1:]) })
				}
				if slices.Sort(got); err != nil || !slices.Equal(got, slices.Sorted(slices.Values(want))) {
					t.Errorf("%q: %v, %q, want %q", c.line, err, got, want)
				}
			}
		})
	}
}

// TestCompletions completes lines that shells take apart in different ways.
func TestCompletions(t *testing.T) {
	for _, c := range []struct{ words, want string }{
		{"train|--mode=at", "--mode=atomic"},
		{"train|--data=di", "--data=digits :files"},
		{"train|--resume|x", ":folders"},
		{"train|--quiet|--seed", "--seed"},
		{"bench|--modes|async,sy", "async,sync"},
		{"help|train|", "all"},
		{"train|--help|", "all"},
		{"trian|", ""},
		{"work", ""},
		{"train|--mode|delayed:g", "delayed:geometric:"},
	} {
		var out, errs bytes.Buffer
		status := execute(append([]string{"complete", "--"}, strings.Split(c.words, "|")...), &out, &errs)
		var got []string
		for line := range strings.Lines(out.String()) {
			word, _, _ := strings.Cut(line, "\t")
			got = append(got, word)
		}
		if status != 0 || errs.Len() > 0 || strings.Join(got, " ") != c.want {
			t.Errorf("%s: status %d, %q %s, want %q", c.words, status, got, &errs, c.want)
		}
	}
}

// TestChoicesAreTaken: no completion of a flag's value is refused as one that does not exist.
func TestChoicesAreTaken(t *testing.T) {
	o := &trainOptions{Config: config.Default()}
	n := 0
	for _, f := range o.flags() {
		name := f.Names()[0]
		for _, word := range slices.Concat(choices[name], config.Choices(name)) {
			n++
			switch {
			case strings.HasSuffix(word, ":") && name == "model" && word == "conv:":
				word = "conv:10@5p2,50d"
			case strings.HasSuffix(word, ":"):
				word += "2"
			}
			o := &trainOptions{Config: config.Default()}
			s, err := newSettings(&cli.Command{Flags: o.flags()})
			if err == nil {
				err = s.assign(name, word)
			}
			if err != nil {
				t.Errorf("--%s %s: %v", name, word, err)
				continue
			}
			o.Workers = 1
			if err := o.Validate(); err != nil && (strings.Contains(err.Error(), "choose one of") ||
				strings.Contains(err.Error(), "unknown") || strings.Contains(err.Error(), "give ")) {
				t.Errorf("--%s %s: %v", name, word, err)
			}
		}
	}
	if n < 60 {
		t.Errorf("%d choices in all, want 60 at least", n)
	}
}
