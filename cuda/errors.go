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
	1:   "invalid value: a bug in hogwild, or a device that does not support this",
	2:   "out of GPU memory: lower --workers in sync mode, or use a smaller model, a smaller data set or another GPU",
	3:   "the driver is not initialized or is shutting down",
	46:  "the GPU is busy: it is in exclusive mode, and another process uses it",
	100: "no GPU: there is none, or CUDA_VISIBLE_DEVICES hides it",
	101: "no such GPU: see nvidia-smi for the indices, and CUDA_VISIBLE_DEVICES",
	200: "the kernels' machine code was refused: the file is damaged, or the driver older than CUDA 12.0",
	201: "no valid context; opening an IPC handle fails like this in another container (share --pid and --ipc) and " +
		"in the process that exported it",
	208: "the memory is mapped already",
	209: "the kernels are for another GPU: compute capability 7.0 or later is needed",
	214: "the GPU's memory has an error that ECC cannot correct: look at nvidia-smi -q -d ECC, reset the GPU " +
		"(nvidia-smi -r) or restart the machine, and replace the GPU if it comes back",
	217: "the two GPUs cannot reach each other's memory",
	218: "the driver's compiler refused the kernels' PTX: the driver is too old or the file is damaged",
	220: "an NVLink has an error that cannot be corrected: look at nvidia-smi nvlink -e, and train on one GPU",
	221: "the driver's compiler is missing, and no machine code fits: install libnvidia-ptxjitcompiler.so.1 of the " +
		"driver's version; in a container, use NVIDIA's container toolkit with " +
		"NVIDIA_DRIVER_CAPABILITIES=compute,utility",
	222: "the driver is too old for the kernels' PTX: install driver 525 (CUDA 12.0) or newer",
	223: "the driver's compiler is switched off, and no machine code fits: unset CUDA_DISABLE_PTX_JIT and " +
		"CUDA_DISABLE_JIT",
	300: "the driver's compiler refused the kernels' PTX: the driver is too old or the file is damaged",
	302: "a driver library does not match the others: install the whole driver in one version",
	303: "a driver library does not start: install the whole driver in one version",
	304: "the operating system refused: out of file descriptors or shared memory?",
	400: "an invalid handle: a bug in hogwild, or the exporting process has exited",
	700: "a kernel accessed memory out of bounds" + mistake,
	701: "a kernel needs more registers or shared memory than this GPU has" + mistake,
	702: "the kernel ran too long for a GPU that drives a display: use another GPU, lower --in-flight, or switch the " +
		"watchdog off (the X server's option Interactive)",
	704: "peer access to the other GPU is enabled already" + mistake,
	705: "peer access to the other GPU is not enabled" + mistake,
	708: "the GPU's context exists already, with other settings" + mistake,
	709: "the GPU's context is gone: the process is ending, or the GPU was reset",
	710: "an assertion in a kernel failed" + mistake,
	711: "too many GPUs access each other's memory: train on fewer",
	712: "the host memory is pinned already" + mistake,
	713: "the host memory is not pinned" + mistake,
	714: "a kernel corrupted its stack" + mistake,
	715: "a kernel has an instruction that this GPU does not support" + mistake,
	716: "a kernel made a misaligned access" + mistake,
	717: "a kernel used an address in the wrong kind of memory" + mistake,
	718: "a kernel jumped to an invalid address" + mistake,
	719: "a kernel failed here, in another client of the MPS service, or on a peer GPU: look at dmesg for Xid lines, " +
		"then run it again",
	800: "the driver does not permit it: check whether another user's MPS service or the container forbids it",
	801: "this driver or device does not support it: CUDA IPC needs Linux and a discrete GPU",
	802: "the machine's GPUs are not ready: start nvidia-fabricmanager, which machines with NVSwitch need, or wait " +
		"until it has started",
	803: "the driver's library and its kernel module have different versions, e.g. after an update: restart the " +
		"machine; in a container, remove the library from the image",
	804: "libcuda.so.1 is from CUDA's compatibility package, which this GPU does not support: point LD_LIBRARY_PATH " +
		"to the driver's own",
	805: "no connection to the MPS service: start nvidia-cuda-mps-control -d as the same user, point " +
		"CUDA_MPS_PIPE_DIRECTORY to it, or unset it",
	806: "the MPS service does not answer: it has ended or is stuck; restart it (echo quit | nvidia-cuda-mps-control)",
	807: "the MPS service is recovering from a failure that ended all its clients: wait until they have exited, then " +
		"run again with --resume",
	808: "the MPS service has reached its maximum of clients: lower --workers, or wait for other processes to exit",
	809: "the MPS service has no connections to the GPU left: lower --workers, or CUDA_DEVICE_MAX_CONNECTIONS",
	810: "the MPS service ended this process, because an administrator asked for it or another client failed: run " +
		"again with --resume",
	999: "unknown error: look at dmesg for NVRM or Xid lines",
}

// mistake is what a user can do of errors that no machine should bring about.
const mistake = ": a bug in hogwild; please report it with the model and the flags"

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

// keep returns the first error of several.
func keep(errs ...error) error { return cmp.Or(errs...) }
