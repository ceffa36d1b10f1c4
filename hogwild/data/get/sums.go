package get

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hogwild/internal/atomicfile"
)

// sumsName is the file in a folder with the checksums of the others, as `sha256sum -c` reads it.
const sumsName = "SHA256SUMS"

// sums are the checksums of a file in hex.
type sums struct{ sha256, md5 string }

// match compares with "sha256:HEX" or "md5:HEX".
func (s sums) match(want string) bool {
	kind, hex, _ := strings.Cut(want, ":")
	return kind == "sha256" && hex == s.sha256 || kind == "md5" && hex == s.md5
}

// sumsOf reads a file.
func sumsOf(path string) (sums, error) {
	f, err := os.Open(path)
	if err != nil {
		return sums{}, err
	}
	defer f.Close()
	return sumsFrom(f)
}

func sumsFrom(r io.Reader) (sums, error) {
	long, short := sha256.New(), md5.New()
	_, err := io.Copy(io.MultiWriter(long, short), r)
	return sums{hex.EncodeToString(long.Sum(nil)), hex.EncodeToString(short.Sum(nil))}, err
}

// check compares a part that has come whole with the checksum of the file, and makes it last.
func (j *job) check(p *part) error {
	if j.Size > 0 && p.have != j.Size {
		return finalError{fmt.Errorf("sent %s bytes, the published file has %s", count(p.have), count(j.Size))}
	}
	if p.have == 0 {
		return finalError{errors.New("sent an empty file")}
	}
	if err := p.f.Sync(); err != nil {
		return localError{err}
	}
	if j.Sum == "" {
		return nil
	}
	got, err := sumsFrom(io.NewSectionReader(p.f, 0, p.have))
	if err != nil {
		return localError{err}
	}
	if kind, want, _ := strings.Cut(j.Sum, ":"); !got.match(j.Sum) {
		has := got.sha256
		if kind == "md5" {
			has = got.md5
		}
		return finalError{fmt.Errorf("sent another file: its %s is %s, not %s", kind, has, want)}
	}
	return nil
}

// readSums reads the checksums of a folder; none where there is no such file.
func readSums(dir string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, sumsName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, localError{err}
	}
	recorded := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if sum, name, ok := strings.Cut(strings.TrimRight(line, "\n"), "  "); ok && len(sum) == 2*sha256.Size {
			recorded[name] = sum
		}
	}
	return recorded, nil
}

// writeSums replaces the checksums of a folder.
func writeSums(dir string, recorded map[string]string) error {
	var names []string
	for name := range recorded {
		names = append(names, name)
	}
	slices.Sort(names)
	var b bytes.Buffer
	for _, name := range names {
		fmt.Fprintf(&b, "%s  %s\n", recorded[name], name)
	}
	if err := atomicfile.Write(filepath.Join(dir, sumsName), b.Bytes()); err != nil {
		return localError{err}
	}
	return nil
}
