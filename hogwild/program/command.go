package program

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/kballard/go-shellquote"

	"hogwild/internal/atomicfile"
	"hogwild/internal/fault"
	"hogwild/internal/machine"
	"hogwild/internal/vec"
)

// Command is how a program is started.
type Command struct {
	Line    string // words as in a shell; nothing else that a shell does
	Workers int    // which share the machine's cores
	Seed    uint64
	Rank    int       // Coordinator, or the worker's
	Stderr  io.Writer // of standard output and standard error; an *os.File is handed over

	// Awaits is called with the process before its next message is waited for, and with nil when that has come. nil: it
	// is not called.
	Awaits func(Awaited)
}

// Awaited is a process whose message is awaited. Any goroutine may use it.
type Awaited interface {
	PID() int
	Kill(why error) // who waits gets the error
}

// Coordinator is the Rank of the program that the coordinator starts, to evaluate.
const Coordinator = -1

// Variables of the environment of a program.
const (
	socketVariable = "HOGWILD_SOCKET" // the descriptor
	seedVariable   = "HOGWILD_SEED"
	socketFD       = 3
)

// launched are variables that the coordinator sets for workers, and that are not for programs.
var launched = []string{"HOGWILD_RANK", "GOMAXPROCS", vec.OffVariable, fault.Variable}

// Words splits a command line into its words. The error is the user's.
func Words(line string) ([]string, error) {
	words, err := shellquote.Split(line)
	switch {
	case err != nil:
		return nil, fmt.Errorf("program %s: %s", line, strings.ToLower(err.Error()))
	case len(words) == 0:
		return nil, errors.New("program: the command has no words; give one, as in --program 'python3 step.py'")
	}
	return words, nil
}

// command returns the program's process, not yet started, with the socket.
func (c *Command) command(socket *os.File) (*exec.Cmd, error) {
	words, err := Words(c.Line)
	if err != nil {
		return nil, err
	}
	folder, err := PythonFolder()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = c.environment(os.Environ(), folder)
	cmd.ExtraFiles = []*os.File{socket}
	cmd.Stdout, cmd.Stderr = c.Stderr, c.Stderr
	// Ctrl-C on a terminal reaches the whole process group. Workers ignore it, and so do their programs,
	// who inherit that. The coordinator does not ignore it, but its program is to work on.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: c.Rank == Coordinator}
	return cmd, nil
}

// environment returns a program's environment, made of this process's.
func (c *Command) environment(own []string, folder string) []string {
	env := slices.DeleteFunc(slices.Clone(own), func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return slices.Contains(launched, name)
	})
	path := folder
	threads := true
	for _, s := range own {
		switch name, value, _ := strings.Cut(s, "="); {
		case name == "PYTHONPATH" && value != "":
			path = folder + string(os.PathListSeparator) + value
		case name == "OMP_NUM_THREADS":
			threads = false
		}
	}
	env = append(env, fmt.Sprintf("%s=%d", socketVariable, socketFD), fmt.Sprintf("%s=%d", seedVariable, c.Seed),
		"PYTHONPATH="+path, "PYTHONUNBUFFERED=1")
	if threads {
		n := machine.Cores()
		if c.Rank != Coordinator { // which evaluates while they wait
			n = max(1, n/max(1, c.Workers))
		}
		env = append(env, fmt.Sprintf("OMP_NUM_THREADS=%d", n))
	}
	return env
}

// python has the package that Python programs import.
//
//go:embed python/hogwild/*.py python/hogwild/py.typed
var python embed.FS

// pythonFiles returns the names of the package's files.
func pythonFiles() (names []string) {
	entries, _ := python.ReadDir("python/hogwild") // it is embedded
	for _, e := range entries {
		names = append(names, "hogwild/"+e.Name())
	}
	return names
}

// pythonText returns the text of one of pythonFiles.
func pythonText(name string) []byte {
	text, err := python.ReadFile("python/" + name)
	if err != nil {
		panic(err) // it is embedded
	}
	return text
}

// PythonFolder returns a folder with the package: in the user's cache, or where that cannot be written in the one for
// temporary files. Each version of the package has a folder of its own, which stays.
func PythonFolder() (string, error) {
	sum := sha256.New()
	for _, name := range pythonFiles() {
		sum.Write(pythonText(name))
	}
	version := fmt.Sprintf("python-%x", sum.Sum(nil))[:len("python-")+16]
	cache, err := os.UserCacheDir()
	if err == nil {
		folder := filepath.Join(cache, "hogwild", version)
		if err = write(folder); err == nil {
			return folder, nil
		}
	}
	// Another user may have made a folder of this name.
	base := filepath.Join(os.TempDir(), fmt.Sprintf("hogwild-%d", os.Getuid()))
	if e := os.Mkdir(base, 0o700); e != nil && !errors.Is(e, os.ErrExist) {
		return "", fmt.Errorf("program: no place for the package hogwild: %w; %w", err, e)
	}
	info, e := os.Lstat(base)
	if e == nil {
		if owner, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || ok && int(owner.Uid) != os.Getuid() ||
			info.Mode().Perm()&0o022 != 0 {
			e = fmt.Errorf("%s is not a folder of this user alone", base)
		}
	}
	folder := filepath.Join(base, version)
	if e == nil {
		e = write(folder)
	}
	if e != nil {
		return "", fmt.Errorf("program: no place for the package hogwild: %w; %w", err, e)
	}
	return folder, nil
}

// write puts the package into a folder, if it is not there. Several processes may do so at once.
func write(folder string) error {
	for _, name := range pythonFiles() {
		path, text := filepath.Join(folder, name), pythonText(name)
		if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, text) {
			continue
		}
		err := os.MkdirAll(filepath.Dir(path), 0o700) // programs execute it
		if err == nil {
			err = atomicfile.Write(path, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
