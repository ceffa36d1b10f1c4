package shm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hogwild/internal/check"
)

func numbers() *Layout {
	var l Layout
	l.Add("numbers", U64, 1000)
	return &l
}

// fill is a process that writes to a segment of another.
func fill(s *Segment) error {
	v, err := View[uint64](s, "numbers")
	if err != nil {
		return err
	}
	sum, _ := s.Checksum()
	for i := range v {
		v[i] = sum + uint64(i)
	}
	return nil
}

// look is a process that reads a sealed segment.
func look(s *Segment) error {
	v, err := View[uint64](s, "numbers")
	if err == nil && v[999] != 7 {
		err = fmt.Errorf("the last number is %d", v[999])
	}
	return err
}

func TestAnotherProcessWrites(t *testing.T) {
	checkLeaks(t)
	s := create(t, numbers())
	v := view[uint64](t, s, "numbers")
	cmd, said := again(t, "fill", s)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err, said)
	}
	sum, _ := s.Checksum()
	for i, got := range v {
		if got != sum+uint64(i) {
			t.Fatalf("word %d is %d, want %d", i, got, sum+uint64(i))
		}
	}
}

// A segment that is mapped for reading has its pages from the start: reading it faults
// on none, where it would on every sixteenth at least. That is what MAP_POPULATE does; an
// emulator that does not pass it on (qemu-user 7.2) cannot show it.
func TestMapHasItsPages(t *testing.T) {
	checkLeaks(t)
	const pages = 4096
	s, err := Create("pages", pages*os.Getpagesize())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := 0; i < len(s.mem); i += os.Getpagesize() {
		s.mem[i] = 1
	}
	// As a mapping that nothing of this package made.
	fd := int(s.File().Fd())
	mem, err := unix.Mmap(fd, 0, len(s.mem), unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		t.Fatal(err)
	}
	plain := faultsOfReading(t, mem, pages)
	if err := unix.Munmap(mem); err != nil {
		t.Fatal(err)
	}
	if plain > pages/64 {
		t.Skipf("MAP_POPULATE does nothing here: %d faults in reading %d pages", plain, pages)
	}
	if fd, err = unix.Dup(fd); err != nil {
		t.Fatal(err)
	}
	r, err := Map(os.NewFile(uintptr(fd), "pages"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n := faultsOfReading(t, r.mem, pages); n > pages/64 {
		t.Errorf("%d faults in reading %d pages", n, pages)
	}
}

// faultsOfReading returns how many page faults it takes to read a byte of each page, all
// of them 1.
func faultsOfReading(t *testing.T, mem []byte, pages int) int64 {
	t.Helper()
	faults := func() int64 {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return u.Minflt
	}
	before, sum := faults(), 0
	for i := 0; i < len(mem); i += os.Getpagesize() {
		sum += int(mem[i])
	}
	n := faults() - before
	if sum != pages {
		t.Errorf("the pages hold %d, want %d", sum, pages)
	}
	return n
}

func TestSealedIsReadOnly(t *testing.T) {
	checkLeaks(t)
	s := create(t, numbers())
	view[uint64](t, s, "numbers")[999] = 7
	if err := s.Seal(); err != nil {
		t.Fatal(err)
	}
	v := view[uint64](t, s, "numbers")
	if v[999] != 7 {
		t.Errorf("sealing changed the content to %d", v[999])
	}
	if !faults(func() { v[0] = 1 }) {
		t.Error("the sealed mapping can be written")
	}
	fd := int(s.File().Fd())
	if _, err := unix.Pwrite(fd, []byte{1}, 0); err != unix.EPERM {
		t.Errorf("writing to the sealed file: %v", err)
	}
	if err := unix.Mprotect(s.Bytes(), unix.PROT_READ|unix.PROT_WRITE); err != unix.EACCES {
		t.Errorf("making the sealed mapping writable: %v", err)
	}
	for job, why := range map[string]string{"fill": "operation not permitted", "look": ""} {
		cmd, said := again(t, job, s)
		if err := cmd.Wait(); (err == nil) != (why == "") || !strings.Contains(said.String(), why) {
			t.Errorf("another process (%s): %v %s", job, err, said)
		}
	}
	check.Error(t, s.Seal(), "sealed already", "operation not permitted")
	if v := view[uint64](t, s, "numbers"); v[999] != 7 {
		t.Error("a second Seal lost the content")
	}
}

// faults reports whether f touches memory that it may not.
func faults(f func()) (fault bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { fault = recover() != nil }()
	f()
	return
}

// A segment that is mapped writable elsewhere is not sealed, and not lost either.
func TestSealWhileAnotherHoldsIt(t *testing.T) {
	checkLeaks(t)
	s := create(t, numbers())
	view[uint64](t, s, "numbers")[0] = 7
	fd, err := unix.Dup(int(s.File().Fd()))
	if err != nil {
		t.Fatal(err)
	}
	other, err := Map(os.NewFile(uintptr(fd), "other"), true)
	if err != nil {
		t.Fatal(err)
	}
	check.Error(t, s.Seal(), "does another process hold it writable", "busy")
	v := view[uint64](t, s, "numbers")
	if v[0] != 7 || !faults(func() { v[0] = 8 }) {
		t.Error("after a failed Seal the content is gone, or can be written")
	}
	if err := errors.Join(other.Close(), s.Seal()); err != nil {
		t.Error("once the other is closed:", err)
	}
}

func TestSizeCannotChange(t *testing.T) {
	checkLeaks(t)
	s := create(t, numbers())
	for _, size := range []int64{0, int64(len(s.Bytes())) - 1, int64(len(s.Bytes())) + 1} {
		if err := unix.Ftruncate(int(s.File().Fd()), size); err != unix.EPERM {
			t.Errorf("changing the size to %d: %v", size, err)
		}
	}
}

func TestClosedSegment(t *testing.T) {
	checkLeaks(t)
	s := create(t, numbers())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, view := View[uint64](s, "numbers")
	_, sum := s.Checksum()
	for what, err := range map[string]error{"Close": s.Close(), "Seal": s.Seal(), "View": view, "Checksum": sum} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s of a closed segment: %v", what, err)
		}
	}
	if s.Bytes() != nil {
		t.Error("a closed segment has bytes")
	}
}

func TestSizesThatCannotBe(t *testing.T) {
	checkLeaks(t)
	for _, size := range []int{0, -1} {
		_, err := Create("none", size)
		check.Error(t, err, fmt.Sprint(size), "must be positive")
	}
	_, err := Create("all", 1<<62) // more than any address space
	check.Error(t, err, "4611686018427387904 bytes", "hogwild-all")
}

// What is not a segment is refused, and the file is closed all the same.
func TestMapRefusesOtherFiles(t *testing.T) {
	checkLeaks(t)
	path := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(path, make([]byte, 4096), 0o666); err != nil {
		t.Fatal(err)
	}
	open := func(path string) *os.File {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	closed := open(path)
	closed.Close()
	files := map[string]*os.File{
		"a file":       open(path),
		"a folder":     open(filepath.Dir(path)),
		"a device":     open("/dev/null"),
		"a closed one": closed,
		"a bad number": os.NewFile(1<<20, "descriptor"),
	}
	for flags, name := range map[int]string{0: "a memfd that can shrink", unix.MFD_ALLOW_SEALING: "another memfd"} {
		fd, err := unix.MemfdCreate("foreign", flags)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = os.NewFile(uintptr(fd), "foreign")
		if err := files[name].Truncate(4096); err != nil {
			t.Fatal(err)
		}
	}
	for what, f := range files {
		s, err := Map(f, false)
		if s != nil {
			t.Errorf("%s was mapped", what)
		}
		check.Error(t, err, "not a segment")
		if err := f.Close(); !errors.Is(err, os.ErrClosed) && what != "a bad number" {
			t.Errorf("%s was left open (%v)", what, err)
		}
	}
}

// On older kernels no shared mapping of a sealed memfd is allowed: not to the process that seals it, nor to others.
func TestSealedOnOlderLinux(t *testing.T) {
	checkLeaks(t)
	refused := 0
	mmap = func(fd int, offset int64, length, prot, flags int) ([]byte, error) {
		seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
		if err == nil && seals&unix.F_SEAL_WRITE != 0 && flags&unix.MAP_TYPE == unix.MAP_SHARED {
			refused++
			return nil, unix.EPERM
		}
		return unix.Mmap(fd, offset, length, prot, flags)
	}
	t.Cleanup(func() { mmap = unix.Mmap })
	s := create(t, numbers())
	view[uint64](t, s, "numbers")[999] = 7
	if err := s.Seal(); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Dup(int(s.File().Fd()))
	if err != nil {
		t.Fatal(err)
	}
	other, err := Map(os.NewFile(uintptr(fd), "other"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, s := range []*Segment{s, other} {
		v := view[uint64](t, s, "numbers")
		if v[999] != 7 || !faults(func() { v[0] = 1 }) {
			t.Error("the content is gone, or can be written")
		}
	}
	if fd, err = unix.Dup(int(s.File().Fd())); err != nil {
		t.Fatal(err)
	}
	if _, err := Map(os.NewFile(uintptr(fd), "writable"), true); err == nil {
		t.Error("a sealed segment was mapped for writing")
	}
	if refused != 3 {
		t.Errorf("%d mappings were refused, want 3", refused)
	}
}
