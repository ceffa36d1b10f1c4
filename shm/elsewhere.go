//go:build !linux

package shm

import _ "embed"

// There is no such file, so a build for another system stops before it compiles anything,
// and this line is all it prints. (An undefined name would bring fifty others along.)
//
//go:embed "hogwild runs on Linux only: it needs memfd, futex and pidfd"
var linuxOnly string
