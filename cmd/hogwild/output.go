package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"hogwild/hogwild/config"
	"hogwild/internal/atomicfile"
	"hogwild/internal/human"
)

// forcing adds the flag --force of commands that write files.
func forcing(l *flagList, force *bool) {
	l.add(force, "force", "replace a file of another kind too")
}

// mayReplace refuses to replace a file of another kind, unless force says that it may be lost; flag names it.
func mayReplace(flag, path string, kind atomicfile.Kind, force bool) error {
	err := atomicfile.Check(path, kind, force)
	switch {
	case path == "-":
		return usagef("%s-: standard output is not written to: name a file (./- has that name)", flag)
	case errors.Is(err, atomicfile.ErrOther):
		return usagef("%s%v, or replace it with --force", flag, err)
	case err != nil:
		return usagef("%s%s: %v", flag, path, cause(err))
	}
	return nil
}

// replaceFile has write make a file of a kind, which gets its name when it is complete. A signal removes what there is
// of it.
func replaceFile(path string, kind atomicfile.Kind, force bool, write func(io.Writer) error) error {
	if err := mayReplace("--out ", path, kind, force); err != nil {
		return err
	}
	f, err := atomicfile.Replace(path)
	if err != nil {
		return usagef("--out %s: %v; name a file in a folder that can be written", path, cause(err))
	}
	defer f.Abandon()
	defer onSignal(f.Abandon)()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return fmt.Errorf("--out %s: %w", path, cause(err))
	}
	return nil
}

// onSignal calls f before a signal such as Ctrl-C ends the process, until stop is called.
func onSignal(f func()) (stop func()) {
	return config.OnSignal(func(s os.Signal) {
		f()
		_ = syscall.Kill(os.Getpid(), s.(syscall.Signal))
	})
}

// sameFile reports whether two paths lead to one file.
func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// commandLine returns a command as a shell takes it.
func commandLine(words ...string) string {
	for i, w := range words {
		words[i] = human.ShellWord(w)
	}
	return strings.Join(words, " ")
}
