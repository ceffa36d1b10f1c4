//go:build !cuda

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hogwild/cuda"
	"hogwild/cuda/start"
	"hogwild/hogwild/config"
)

// cudaProgram is this program built with -tags cuda. It is a program of its own
// because the binding to CUDA starts the driver before main, and ends the process
// where that fails; where there is no driver at all it does not even load. So this
// one, which runs anywhere, looks first and then hands over.
const cudaProgram = "hogwild-cuda"

// toGPU lets hogwild-cuda take the place of this process if the weights are to be on
// a GPU: with the same arguments, environment and process number. It returns when
// they are not; or, with an error that matches ErrUsage, when they cannot be.
func toGPU(c config.Config) error {
	if c.GPU == "" {
		return nil
	}
	if err := c.Validate(); err != nil { // a wrong flag is a wrong flag without a GPU too
		return err
	}
	err := handOver()
	if errors.Is(err, errAbsent) && !thisHost().nvidia() {
		return usagef("gpu %s: %s; %v", c.GPU, noDevice, err)
	}
	return usagef("gpu %s: %v", c.GPU, err)
}

// handOver lets hogwild-cuda take the place of this process, and returns only when that
// cannot be: with the reason.
func handOver() error {
	path, err := findCUDA()
	if err == nil {
		err = tryCUDA(path)
	}
	if err != nil {
		return err
	}
	err = syscall.Exec(path, append([]string{path}, os.Args[1:]...), os.Environ())
	return fmt.Errorf("starting %s: %w", path, err)
}

// listGPUs, examineGPUs and answerGPUs are hogwild-cuda's: see handOver.
func listGPUs() (*cuda.Listing, error) { return nil, errAbsent }

func examineGPUs(func() *exec.Cmd) ([]cuda.Finding, error) { return nil, errAbsent }

func answerGPUs([]byte) error { return errAbsent }

// absent is why there is no driver, or no hogwild-cuda; it matches errAbsent.
type absent string

func (a absent) Error() string { return string(a) }

func (a absent) Is(target error) bool { return target == errAbsent }

// findCUDA returns the path of hogwild-cuda: next to this program, else on PATH.
func findCUDA() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", absent("/proc is not mounted, and the NVIDIA driver needs it: as root, mount -t proc proc /proc; " +
			"or leave --gpu out to train on the CPU")
	}
	folder := filepath.Dir(self)
	if path, err := exec.LookPath(filepath.Join(folder, cudaProgram)); err == nil {
		return path, nil
	}
	if path, err := exec.LookPath(cudaProgram); err == nil {
		return path, nil
	}
	return "", absent(fmt.Sprintf("cannot find %s, the GPU build, in %s or on PATH: "+
		"build it with `make cuda` in hogwild's source and copy it there, or leave --gpu out to train on the CPU",
		cudaProgram, folder))
}

// tryCUDA runs hogwild-cuda --version, which starts the driver as training would,
// and says what keeps it from training.
func tryCUDA(path string) error {
	limit, _ := start.Limit() // which was right
	ctx, cancel := context.WithTimeout(context.Background(), limit+10*time.Second)
	defer cancel() // it ends itself after the limit
	out, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return errors.New(start.Message(limit))
	case err != nil:
		return noDriver(path, string(out), err)
	}
	return fits(path, string(out))
}

// cudaVersions is what hogwild-cuda --version prints; see cudaVersion in gpu_cuda.go.
var cudaVersions = regexp.MustCompile(`(?ms)^hogwild (\S+).*^CUDA driver (\d+)\.(\d+)`)

// fits compares the versions of the program, the driver and this program.
func fits(path, text string) error {
	v := cudaVersions.FindStringSubmatch(text)
	if v == nil {
		return fmt.Errorf("%s is not hogwild built with CUDA: build it with `make cuda`", path)
	}
	if v[1] != config.Version {
		return fmt.Errorf("%s is version %s and this is %s: build both with `make build cuda`", path, v[1],
			config.Version)
	}
	major, _ := strconv.Atoi(v[2]) // digits
	minor, _ := strconv.Atoi(v[3])
	return cuda.TooOld(1000*major + 10*minor)
}

// causes are what hogwild-cuda says when it ends before its main, in the words of the loader or of gorgonia.org/cu with
// the name of cuInit's error.
var causes = []struct{ says, means string }{
	{"libcuda.so.1: cannot open", "this machine has no NVIDIA driver (libcuda.so.1 is not found): " +
		"install one, or leave --gpu out to train on the CPU"},
	{initFailed + "NoDevice", "the NVIDIA driver finds no GPU: check what nvidia-smi lists and whether " +
		"CUDA_VISIBLE_DEVICES hides it, or leave --gpu out to train on the CPU"},
	{initFailed + "SystemDriverMismatch",
		"the NVIDIA driver's library and its kernel module have different versions, " +
			"e.g. after an update: restart the machine"},
	{initFailed + "SystemNotReady", "the NVIDIA driver waits for a service: start nvidia-fabricmanager"},
	{initFailed + "CompatNotSupportedOnDevice", "libcuda.so.1 is from CUDA's compatibility package, which this GPU " +
		"does not support: " +
		"point LD_LIBRARY_PATH to the driver's own"},
	{initFailed + "UnknownErrorCode:34", "libcuda.so.1 is the CUDA toolkit's stub for linking: remove its folder " +
		"from LD_LIBRARY_PATH"},
	{initFailed, "the NVIDIA driver does not start: check that nvidia-smi answers, and look at dmesg"},
}

// initFailed stands before the name of the error in what gorgonia.org/cu prints.
const initFailed = "for details on: "

// noDriver says why hogwild-cuda ended before its main, given what it printed.
func noDriver(path, text string, err error) error {
	said := strings.Join(strings.Fields(text), " ")
	if _, late, ok := strings.Cut(said, start.Late); ok {
		return errors.New(start.Late + late)
	}
	said = said[:min(len(said), 300)]
	if _, name, ok := strings.Cut(said, "undefined symbol: cu"); ok { // the loader's
		name, _, _ = strings.Cut(name, " ")
		return fmt.Errorf("the NVIDIA driver is too old: its libcuda.so.1 lacks cu%s; install driver 525 or newer",
			strings.TrimSuffix(name, ","))
	}
	for _, cause := range causes {
		if !strings.Contains(said, cause.says) {
			continue
		}
		if _, name, ok := strings.Cut(said, initFailed); ok {
			return fmt.Errorf("%s (cuInit: %s)", cause.means, name)
		}
		return absent(cause.means) // the loader's
	}
	return fmt.Errorf("%s does not start (%v): %s", path, err, said)
}

// cudaVersion returns "": this program does not know CUDA.
func cudaVersion() string { return "" }
