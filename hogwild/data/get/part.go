package get

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"hogwild/internal/fault"
)

// part is NAME.part, the bytes that are there of a file. NAME.part.from says where they are from: the
// address, and the version that the server named.
type part struct {
	path, from, version string

	f    *os.File
	have int64
}

// openPart opens the part of a file, or makes an empty one. A link is not followed: it could lead anywhere.
func openPart(path string) (*part, error) {
	p := &part{path: path + ".part"}
	var err error
	if p.f, err = os.OpenFile(p.path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o666); err != nil {
		return nil, localError{err}
	}
	info, err := p.f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no plain file: move it away", p.path)
	}
	if err != nil {
		p.f.Close()
		return nil, localError{err}
	}
	p.have = info.Size()
	text, _ := os.ReadFile(p.path + ".from") // unreadable: as if it were not there
	p.from, p.version, _ = strings.Cut(strings.TrimSuffix(string(text), "\n"), "\n")
	return p, nil
}

// restart empties the part. What is written next comes from an address and has a version; "": not known yet.
func (p *part) restart(from, version string) error {
	p.have, p.from, p.version = 0, from, version
	err := p.f.Truncate(0)
	if err == nil {
		err = os.WriteFile(p.path+".from", []byte(from+"\n"+version+"\n"), 0o666)
	}
	if err != nil {
		return localError{err}
	}
	return nil
}

// write appends bytes.
func (p *part) write(b []byte) error {
	n, err := 0, fault.Point("download.write")
	if err == nil {
		n, err = p.f.WriteAt(b, p.have)
	}
	p.have += int64(n)
	if err != nil {
		return localError{fmt.Errorf("%w: make room", err)}
	}
	return nil
}

func (p *part) close() { p.f.Close() }

// remove deletes the part, which may have got another name.
func (p *part) remove() error {
	for _, path := range []string{p.path, p.path + ".from"} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return localError{err}
		}
	}
	return nil
}
