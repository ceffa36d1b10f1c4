package rundir

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"hogwild/internal/human"
	"hogwild/internal/lastwords"
)

// torchScript is what the user's Python runs: PyTorch reads its own files, and nothing in them is executed.
//
//go:embed fromtorch.py
var torchScript string

const (
	// Python is the environment variable that names the Python with PyTorch.
	Python    = "HOGWILD_PYTHON"
	torchTime = 10 * time.Minute // a network's file system may be slow, a Python may hang
	noTorch   = 3                // the script's exit status
)

// isTorch reports whether a file begins as torch.save's do: an archive, or a pickle. The length of a header of
// safetensors may begin with the byte of a pickle; a brace follows it.
func isTorch(file []byte) bool {
	pickle := bytes.HasPrefix(file, []byte("\x80")) && !(len(file) > 8 && file[8] == '{')
	return pickle || bytes.HasPrefix(file, []byte("PK\x03\x04"))
}

// fromTorch returns a file of torch.save as safetensors of up to most bytes. It comes through a pipe: nothing is left
// behind, whichever process is killed.
func fromTorch(path string, size int, most int64) ([]byte, error) {
	python := cmp.Or(os.Getenv(Python), "python3")
	ctx, cancel := context.WithTimeout(context.Background(), torchTime)
	defer cancel()
	var said lastwords.Tail
	cmd := exec.CommandContext(ctx, python, "-c", torchScript, path, fmt.Sprint(most))
	cmd.Stderr, cmd.WaitDelay = &said, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // Pdeathsig is of this thread
	defer runtime.UnlockOSThread()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, needsTorch(path, python, "cannot be started")
	}
	var file bytes.Buffer
	file.Grow(size + bytes.MinRead)
	_, err = file.ReadFrom(io.LimitReader(out, most))
	err = errors.Join(err, cmd.Wait())
	lines := strings.Split(said.String(), "\n")
	switch last := strings.TrimSpace(lines[len(lines)-1]); {
	case err == nil:
		return file.Bytes(), nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %s was not done after %v: save it as safetensors", path, python, torchTime)
	case cmd.ProcessState.ExitCode() == noTorch:
		return nil, needsTorch(path, python, "has no PyTorch")
	case cmd.ProcessState.ExitCode() == 1 && last != "":
		return nil, fmt.Errorf("%s %s", path, last)
	}
	return nil, fmt.Errorf("%s cannot be read: %s: %v", path, python, cmd.ProcessState)
}

// needsTorch says how to convert the file elsewhere.
func needsTorch(path, python, why string) error {
	const convert = "python3 -c 'import sys, torch, safetensors.torch as s; s.save_file({k: v.contiguous().clone() " +
		"for k, v in torch.load(sys.argv[1], \"cpu\", weights_only=True).items()}, \"net.safetensors\")'"
	return fmt.Errorf("%s looks like a file of torch.save, which PyTorch reads, and %s %s: set %s to a Python with "+
		"torch, or convert the file where there is one: %s %s", path, human.ShellWord(python), why, Python, convert,
		human.ShellWord(path))
}
