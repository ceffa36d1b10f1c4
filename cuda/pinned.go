//go:build cuda

package cuda

// #include <cuda.h>
import "C"

import (
	"fmt"
	"unsafe"

	"gorgonia.org/cu"
)

// pin allocates host memory that stays where it is, so that the GPU copies from and to
// it by itself, while this process does something else. gorgonia.org/cu can free such
// memory, but not allocate it.
func pin(bytes int) ([]byte, error) {
	var p unsafe.Pointer
	if err := resultOf(C.cuMemHostAlloc(&p, C.size_t(bytes), 0)); err != nil {
		return nil, &Error{Doing: fmt.Sprintf("pinning %.1f MiB of host memory", mib(int64(bytes))), Code: codeOf(err), Err: err,
			Help: "the host's memory is used up, or the limit on locked memory (ulimit -l)"}
	}
	return unsafe.Slice((*byte)(p), bytes), nil
}

// unpin frees what pin returned.
func unpin(b []byte) error {
	return failed(cu.MemFreeHost(unsafe.Pointer(&b[0])), "freeing pinned host memory")
}
