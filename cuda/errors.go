//go:build cuda

package cuda

import (
	"cmp"
	"fmt"
	"reflect"
)

// explained are the driver's results that a user meets, each with its likely cause
// and cure.
var explained = map[int]string{
	1:   "a value was refused: a mistake in hogwild, or a device that cannot do this",
	2:   "out of GPU memory: lower --workers in sync mode, take a smaller model or data set, or another GPU",
	3:   "the driver is not initialized, or is shutting down",
	46:  "the GPU is busy: it is in exclusive mode, and another process uses it",
	100: "no GPU: CUDA_VISIBLE_DEVICES hides it, or there is none",
	101: "no such GPU: see nvidia-smi for the indices, and CUDA_VISIBLE_DEVICES",
	201: "no valid context; opening an IPC handle fails so in another container (share --pid and --ipc), and in the process that exported it",
	208: "the memory is mapped already",
	209: "the kernels are for another GPU: compute capability 7.0 or later is needed",
	217: "the two GPUs cannot reach each other's memory",
	218: "the kernels' PTX was refused: the driver is too old or the file is damaged",
	222: "the driver is too old for the kernels' PTX: CUDA 12.1 or later is needed on compute capability 9.0, CUDA 10 below",
	304: "the operating system refused: out of file descriptors or shared memory?",
	400: "an invalid handle: a mistake in hogwild, or the exporting process has ended",
	700: "a kernel touched memory that is not its own",
	701: "a kernel needs more registers or shared memory than this GPU has",
	702: "the kernel ran too long for a GPU that drives a display",
	716: "a kernel made a misaligned access",
	719: "a kernel failed",
	801: "this driver or device does not support it: CUDA IPC needs Linux and a discrete GPU",
	807: "a process on this GPU's MPS server failed, and all its clients with it",
	999: "unknown error: look at dmesg for NVRM or Xid lines",
}

// Error is a call to the driver that failed.
type Error struct {
	Doing string // what the program was about to do, with sizes
	Code  int    // CUresult, 0 when it is not known
	Err   error  // the driver's own words
	Help  string // what may help, if it is not what is known of the code
}

// Error says what was being done, what the driver said, and what may help.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s: CUDA error %d (%v)", e.Doing, e.Code, e.Err)
	if why := cmp.Or(e.Help, explained[e.Code]); why != "" {
		text += ": " + why
	}
	return text
}

// Unwrap is the driver's own error.
func (e *Error) Unwrap() error { return e.Err }

// failed makes an Error of a driver's result; nil stays nil.
func failed(err error, doing string, args ...any) error {
	if err == nil {
		return nil
	}
	return &Error{Doing: fmt.Sprintf(doing, args...), Code: codeOf(err), Err: err}
}

// codeOf is a driver's result as a number. The type of gorgonia.org/cu's results is not
// exported; it is the CUresult.
func codeOf(err error) int {
	switch v := reflect.ValueOf(err); {
	case v.CanInt():
		return int(v.Int())
	case v.CanUint():
		return int(v.Uint())
	}
	return 0
}
