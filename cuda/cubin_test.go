//go:build cuda

package cuda

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// What ptxas writes of a kernel into .nv.info, as cuobjdump -elf names it: EIATTR_. If it is of all
// kernels, its first word is the kernel's symbol.
const (
	parameterBytes = 0x19
	maxThreads     = 0x05
	registerCount  = 0x2f
	frameSize      = 0x11
)

// attributes calls each with the attributes of a section .nv.info: a byte for the form, one that
// names it, and two bytes that are the value or, in form 4, the length of what follows.
func attributes(data []byte, each func(name byte, value []byte)) error {
	for len(data) >= 4 {
		form, name, length := data[0], data[1], binary.LittleEndian.Uint16(data[2:])
		value := data[2:4]
		if data = data[4:]; form == 4 {
			if len(data) < int(length) {
				return fmt.Errorf("attribute %#x has %d bytes of %d", name, len(data), length)
			}
			value, data = data[:length], data[length:]
		}
		each(name, value)
	}
	return nil
}

// machineCode is what the ELF of a cubin says of a kernel.
type machineCode struct {
	code, shared, parameters uint64 // bytes
	threads, registers       uint32
	stack                    uint32 // bytes a thread
}

// readCubin is its architecture and its kernels, by name.
func readCubin(text string) (arch int, all map[string]*machineCode, err error) {
	data := []byte(text)
	data[20] = 1 // the version of ELF: NVIDIA has its own there
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return 0, nil, err
	}
	if f.Machine != 190 { // EM_CUDA
		return 0, nil, fmt.Errorf("machine code for %v", f.Machine)
	}
	flags := binary.LittleEndian.Uint32(data[48:])
	if arch = int(flags & 0xff); f.ABIVersion >= 8 {
		arch = int(flags >> 8 & 0xff)
	}
	symbols, err := f.Symbols()
	if err != nil {
		return 0, nil, err
	}
	all = map[string]*machineCode{}
	for _, s := range f.Sections {
		if name, ok := strings.CutPrefix(s.Name, ".text."); ok {
			all[name] = &machineCode{code: s.Size}
		}
	}
	for _, s := range f.Sections {
		if name, ok := strings.CutPrefix(s.Name, ".nv.shared."); ok && all[name] != nil {
			all[name].shared = s.Size
		}
		if s.Name != ".nv.info" && !strings.HasPrefix(s.Name, ".nv.info.") {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return 0, nil, err
		}
		own := all[strings.TrimPrefix(s.Name, ".nv.info.")]
		kernel := func(symbol uint32) *machineCode {
			if k := all[symbols[symbol-1].Name]; k != nil {
				return k
			}
			return &machineCode{} // a subroutine of a kernel
		}
		err = attributes(data, func(name byte, value []byte) {
			switch word := func(i int) uint32 { return binary.LittleEndian.Uint32(value[4*i:]) }; {
			case own == nil && name == registerCount:
				kernel(word(0)).registers = word(1)
			case own == nil && name == frameSize:
				kernel(word(0)).stack = word(1)
			case own != nil && name == parameterBytes:
				own.parameters = uint64(binary.LittleEndian.Uint16(value))
			case own != nil && name == maxThreads:
				own.threads = word(0) * word(1) * word(2)
			}
		})
		if err != nil {
			return 0, nil, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return arch, all, nil
}

// written returns what PTX says of a kernel: parameters of 8 bytes, threads, and shared memory,
// with and without gaps between the arrays.
func written(t *testing.T, ptx, kernel string) (parameters, threads, shared, most uint64) {
	t.Helper()
	number := func(s string) uint64 {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	_, body, _ := strings.Cut(ptx, ".visible .entry "+kernel+"(")
	body, _, _ = strings.Cut(body, "\n}\n")
	head, _, _ := strings.Cut(body, "{")
	parameters = 8 * uint64(strings.Count(head, ".param .u64"))
	threads = number(regexp.MustCompile(`\.maxntid (\d+)`).FindStringSubmatch(head)[1])
	for _, v := range regexp.MustCompile(
		`\.shared \.align (\d+) \.[a-z](\d+) (\w+)(?:\[(\d+)\])?`).FindAllStringSubmatch(ptx, -1) {
		if regexp.MustCompile(`\b` + v[3] + `\b`).MatchString(body) {
			size := number(v[2]) / 8 * number(cmp.Or(v[4], "1"))
			shared += size
			most += size + number(v[1])
		}
	}
	return parameters, threads, shared, most
}

// TestCubins: each file of machine code is made of the PTX that ships, for the GPUs that its name
// says, and its kernels have the same names as in the PTX, the same parameters, threads and shared
// memory, and without a stack.
func TestCubins(t *testing.T) {
	files, err := fs.Glob(images, "cubin/*.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		source, arch, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(file, "cubin/"), ".gz"), ".sm_")
		number, err := strconv.Atoi(arch)
		if err != nil {
			t.Fatal(err)
		}
		i := image{source, number, true}
		code, err := i.read()
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		got, all, err := readCubin(code)
		if err != nil || got != number {
			t.Errorf("%s is for sm_%d (%v)", file, got, err)
			continue
		}
		made, err := i.origin()
		if err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(made, " ")
		ptx, err := images.ReadFile("ptx/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(ptx, []byte(".visible .entry ")); n != len(all) {
			t.Errorf("%s has %d kernels, and its PTX %d", file, len(all), n)
		}
		entries, err := i.entries()
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			name := entry.name
			k := all[name]
			if k == nil {
				t.Errorf("%s has no kernel %s", file, name)
				continue
			}
			parameters, threads, shared, most := written(t, string(ptx), name)
			const system = 1024 // bytes that ptxas adds from sm_90 on
			k.shared -= min(k.shared, system*uint64(number/90))
			if k.code == 0 || k.parameters != parameters || uint64(k.threads) != threads || k.registers == 0 ||
				k.registers > 128 || k.stack != 0 ||
				k.shared < shared || k.shared > most {
				t.Errorf("%s: %s is %+v, and in the PTX has %d bytes of parameters, %d threads, %d to %d bytes of "+
					"shared memory",
					file, name, *k, parameters, threads, shared, most)
			}
		}
	}
}
