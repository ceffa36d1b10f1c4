//go:build cuda

package cuda

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path"
	"strings"
)

// images holds the kernels, each source of them several times. There is machine code,
// which make cubin assembles for the common GPUs: linear.sm_86.gz runs on compute capability
// 8.6 and on later ones of 8. And there is PTX, which the driver compiles for the GPU at hand
// and keeps in the user's home: linear.sm_70.ptx is for all GPUs from Volta on, and sources
// that use wider reds from Hopper on have a second file, such as factor.sm_90.ptx. A source that
// uses tensor cores has none for all: mlp_tensor.sm_80.ptx is for GPUs from Ampere on.
//
//go:embed ptx/*.ptx cubin/*.gz
var images embed.FS

// image is a source of the kernels, made for a compute capability.
type image struct {
	source string // linear
	arch   int    // 90 is 9.0
	cubin  bool   // machine code; else PTX
}

// imagesOf lists what a GPU may run of a source, in the order in which it is tried: the
// machine code, for GPUs for which there is some, then the newest PTX, then that for all.
func imagesOf(source string, major, minor int) (all []image) {
	for arch := 10*major + minor; arch >= 10*major; arch-- {
		if i := (image{source, arch, true}); i.exists() {
			all = append(all, i)
			break // older code of the same major number is slower at best
		}
	}
	return append(all, ptxOf(source, 10*major+minor)...)
}

// ptxOf lists the PTX of a source for a GPU, the newest first.
func ptxOf(source string, gpu int) (all []image) {
	for _, arch := range []int{90, 80, 70} {
		if i := (image{source, arch, false}); arch <= gpu && i.exists() {
			all = append(all, i)
		}
	}
	return all
}

func (i image) file() string {
	if i.cubin {
		return fmt.Sprintf("cubin/%s.sm_%d.gz", i.source, i.arch)
	}
	return fmt.Sprintf("ptx/%s.sm_%d.ptx", i.source, i.arch)
}

func (i image) exists() bool {
	_, err := fs.Stat(images, i.file())
	return err == nil
}

// String is the image for users, who need not know its source.
func (i image) String() string {
	if i.cubin {
		return fmt.Sprintf("sm_%d cubin", i.arch)
	}
	return fmt.Sprintf("PTX sm_%d", i.arch)
}

// errStale is why machine code is not loaded: the kernels have changed since.
var errStale = errors.New("made from other PTX than this program's (make cubin)")

// read is the PTX or the machine code, as the driver takes it.
func (i image) read() (string, error) {
	if !i.cubin {
		text, err := images.ReadFile(i.file())
		return string(text), err
	}
	packed, err := images.ReadFile(i.file())
	if err != nil {
		return "", err
	}
	made, err := i.origin()
	if err != nil {
		return "", err
	}
	return unpack(packed, made)
}

// unpack is the machine code in a file, if it was made of the PTX that is named.
func unpack(packed []byte, made string) (string, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", err
	}
	if z.Name != made {
		return "", errStale
	}
	var code strings.Builder
	_, err = io.Copy(&code, z)
	return code.String(), err
}

// origin names the PTX that the image is, or that its machine code has to be made of, with
// the checksum of its text. (kernels/cubin.py writes it into the header.)
func (i image) origin() (string, error) {
	file := ptxOf(i.source, i.arch)[0].file()
	text, err := images.ReadFile(file)
	return fmt.Sprintf("%s %08x", path.Base(file), crc32.ChecksumIEEE(text)), err
}

// entry is a kernel of a source, and how many threads its CTAs have: more would write past its shared arrays' ends.
type entry struct {
	name    string
	threads int
}

// entries are its kernels.
func (i image) entries() (all []entry, err error) {
	text, err := ptxOf(i.source, i.arch)[0].read()
	for _, part := range strings.Split(text, ".visible .entry ")[1:] {
		var e entry
		e.name, part, _ = strings.Cut(part, "(")
		_, part, _ = strings.Cut(part, ".maxntid ")
		_, err = fmt.Sscan(part, &e.threads)
		all = append(all, e)
	}
	return all, err
}

// loaded is an image that the driver took.
type loaded struct {
	image
	refused []string // those tried before, with why
}

func (l loaded) String() string {
	text := l.image.String()
	if !l.cubin {
		text += ", compiled by the driver"
	}
	return text + after(l.refused)
}

// after lists the images that were refused, with why, before another one was tried.
func after(refused []string) string {
	if refused == nil {
		return ""
	}
	return ", after " + strings.Join(refused, ", ")
}
