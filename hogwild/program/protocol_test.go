package program

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hogwild/internal/check"
	"hogwild/internal/wire"
	"hogwild/shm"
)

// sockets returns both ends of a line.
func sockets(t *testing.T) (near, far *wire.Line) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.Close(pair[0])
		_ = unix.Close(pair[1])
	})
	return &wire.Line{FD: pair[0]}, &wire.Line{FD: pair[1]}
}

// pour writes a text in pieces, and ends it.
func pour(l *wire.Line, text []byte, piece int) {
	for len(text) > 0 {
		n, err := unix.Write(l.FD, text[:min(piece, len(text))])
		if err != nil {
			return // the reader has stopped
		}
		text = text[n:]
	}
	_ = unix.Shutdown(l.FD, unix.SHUT_WR)
}

// Lines come out as they went in, however they are cut; without its end a last one does not count.
func FuzzLine(f *testing.F) {
	f.Add([]byte(
		`{"hello":1,"language":"Go","tensors":[{"name":"w","shape":[2,3],"kind":"parameter"}],"same":{"v":"w"},"rows":5}`+"\n"), uint8(7))
	f.Add([]byte(`{"trained":{"examples":5,"steps":1,"loss":"nan","staleness":[1,2]}}`+"\n\n"+
		`{"scored":{"examples":1,"loss":-1e9,"metrics":{"a":"-inf"}}}`+"\n{"), uint8(255))
	f.Add([]byte(`{"hello":1,"tensors":[{"name":"w","shape":[9223372036854775807,2],"kind":"parameter"}]}`+"\n"+
		`{"not_finite":{"step":-1,"loss":null}}`), uint8(1))
	f.Add(bytes.Repeat([]byte("x"), 20000), uint8(100))
	f.Fuzz(func(t *testing.T, text []byte, piece uint8) {
		near, far := sockets(t)
		go pour(far, text, int(piece)+1)
		for _, want := range strings.Split(string(text), "\n")[:bytes.Count(text, []byte("\n"))] {
			got, err := near.Next()
			if err != nil || string(got) != want {
				t.Fatalf("the line %q: %v, want %q", got, err, want)
			}
			check.Bounded(t, 1<<20+100*uint64(len(want)), func() {
				var h hello
				if wire.ReadLine(got, &h) == nil && checkLayout(&h.Layout) == nil {
					if err := Compare(&h.Layout, &h.Layout); err != nil {
						t.Error(err)
					}
				}
				var r reply
				_ = wire.ReadLine(got, &r)
			})
		}
		if _, err := near.Next(); err != io.EOF {
			t.Errorf("after the last line: %v", err)
		}
	})
}

func TestLongLine(t *testing.T) {
	near, far := sockets(t)
	go pour(far, bytes.Repeat([]byte("x"), wire.MaxLine+1<<20), 1<<20)
	if _, err := near.Next(); !errors.Is(err, wire.ErrTooLong) {
		t.Error(err)
	}
}

// A message may be larger than what the socket holds; its files come with it.
func TestSend(t *testing.T) {
	near, far := sockets(t)
	seg, err := shm.Create("test", 10)
	if err != nil {
		t.Fatal(err)
	}
	defer seg.Close()
	long := strings.Repeat("long ", 1<<18)
	go func() {
		if err := near.Send(welcome{Role: long, Seed: math.MaxUint64}, seg.File(), os.Stdin); err != nil {
			t.Error(err)
		}
	}()
	var w welcome
	if err := far.Receive(&w); err != nil || w.Role != long || w.Seed != math.MaxUint64 {
		t.Errorf("%d bytes, seed %d: %v", len(w.Role), w.Seed, err)
	}
	came := far.Files()
	if len(came) != 2 {
		t.Fatalf("%d files", len(came))
	}
	again, err := shm.Map(came[0], true)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	_ = came[1].Close()
	again.Bytes()[3] = 7
	if seg.Bytes()[3] != 7 {
		t.Error("it is another file")
	}
}
