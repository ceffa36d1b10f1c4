//go:build cuda

package cuda

/*
#include <cuda.h>
#include <string.h>

// gorgonia.org/cu has none of the calls for memory shared between processes. The
// handle goes by value, so these stand in between.
static CUresult get_handle(unsigned char *bytes, CUdeviceptr p) {
	CUipcMemHandle h;
	CUresult r = cuIpcGetMemHandle(&h, p);
	if (r == CUDA_SUCCESS) memcpy(bytes, &h, sizeof h);
	return r;
}

static CUresult open_handle(CUdeviceptr *p, const unsigned char *bytes) {
	CUipcMemHandle h;
	memcpy(&h, bytes, sizeof h);
	return cuIpcOpenMemHandle(p, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}
*/
import "C"

import (
	"fmt"
	"unsafe"

	"gorgonia.org/cu"

	"hogwild/internal/fault"
)

// handle is a CUipcMemHandle: what another process opens an allocation by.
type handle [C.CU_IPC_HANDLE_SIZE]byte

// result is a CUresult as an error, nil for success.
type result C.CUresult

// Error is the driver's name for the result, and its explanation.
func (r result) Error() string {
	var name, text *C.char
	if C.cuGetErrorName(C.CUresult(r), &name) != C.CUDA_SUCCESS ||
		C.cuGetErrorString(C.CUresult(r), &text) != C.CUDA_SUCCESS {
		return fmt.Sprintf("CUresult %d", int(r))
	}
	return C.GoString(name) + ", " + C.GoString(text)
}

func resultOf(r C.CUresult) error {
	if r == C.CUDA_SUCCESS {
		return nil
	}
	return result(r)
}

// exportMemory is the handle of an allocation of this process: of the whole of it,
// so p must be its beginning.
func exportMemory(p cu.DevicePtr) (h handle, err error) {
	if err := fault.Point("gpu.export"); err != nil {
		return h, err
	}
	err = resultOf(C.get_handle((*C.uchar)(unsafe.Pointer(&h[0])), C.CUdeviceptr(p)))
	return h, failed(err, "exporting GPU memory to the workers")
}

// openMemory maps an allocation of another process, at an address of this one's own.
// Once a process and device; a context must be current.
func openMemory(h handle) (cu.DevicePtr, error) {
	if err := fault.Point("gpu.open"); err != nil {
		return 0, err
	}
	var p C.CUdeviceptr
	err := resultOf(C.open_handle(&p, (*C.uchar)(unsafe.Pointer(&h[0]))))
	return cu.DevicePtr(p), failed(err, "opening the coordinator's GPU memory")
}

// closeMemory unmaps it. The exporter may free it only after all have done so.
func closeMemory(p cu.DevicePtr) error {
	return failed(resultOf(C.cuIpcCloseMemHandle(C.CUdeviceptr(p))), "closing the coordinator's GPU memory")
}

// pin allocates host memory that stays where it is, so that the GPU copies from and to
// it by itself, while this process does something else. gorgonia.org/cu can free such
// memory, but not allocate it.
func pin(bytes int) ([]byte, error) {
	var p unsafe.Pointer
	if err := resultOf(C.cuMemHostAlloc(&p, C.size_t(bytes), 0)); err != nil {
		return nil, errPinning(int64(bytes), "", err)
	}
	return unsafe.Slice((*byte)(p), bytes), nil
}

// mapHost pins memory of this process for kernels of the current context, and returns the address that they have it at.
func mapHost(b []byte) (cu.DevicePtr, error) {
	var at C.CUdeviceptr
	p := unsafe.Pointer(&b[0])
	err := resultOf(C.cuMemHostRegister(p, C.size_t(len(b)), C.CU_MEMHOSTREGISTER_DEVICEMAP))
	if err == nil {
		err = resultOf(C.cuMemHostGetDevicePointer(&at, p, 0))
	}
	if err != nil {
		return 0, errPinning(int64(len(b)), "; the GPUs do not all reach each other's memory, so their workers meet "+
			"there: name one GPU, or those that hogwild devices shows as connected", err)
	}
	return cu.DevicePtr(at), nil
}

func unmapHost(b []byte) error {
	return failed(resultOf(C.cuMemHostUnregister(unsafe.Pointer(&b[0]))), "releasing mapped host memory")
}

func errPinning(bytes int64, otherwise string, err error) error {
	return &Error{Doing: fmt.Sprintf("pinning %.1f MiB of host memory", mib(bytes)), Code: codeOf(err), Err: err,
		Help: "the host's memory is used up, or the limit on locked memory (ulimit -l)" + otherwise}
}

// unpin frees what pin returned.
func unpin(b []byte) error {
	return failed(cu.MemFreeHost(unsafe.Pointer(&b[0])), "freeing pinned host memory")
}
