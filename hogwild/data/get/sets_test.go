package get

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hogwild/internal/check"
)

// TestEntries: names stay in their folder, addresses are complete, and begin with https; what has no checksum is packed
// by bzip2, which has its own.
func TestEntries(t *testing.T) {
	t.Parallel()
	sum := regexp.MustCompile(`^([0-9a-f]{64}|[0-9a-f]{32}|)$`)
	word := regexp.MustCompile(`^[a-z0-9-]+$`)
	names := map[string]bool{}
	for _, s := range Sets() {
		if names[s.Name] || !word.MatchString(s.Name) || s.About == "" || s.Terms == "" || s.Cite == "" ||
			s.Page == "" || len(s.Files) == 0 {
			t.Errorf("%s: twice, or without a name, terms, citation, page or files", s.Name)
		}
		names[s.Name] = true
		given := map[string]bool{}
		for _, f := range s.Files {
			at := s.Name + "/" + f.Name
			if !sum.MatchString(f.Sum) || f.Sum == "" && !strings.HasSuffix(f.Name, ".bz2") {
				t.Errorf("%s: checksum %q: nothing tells whether the file is right", at, f.Sum)
			}
			u, err := url.Parse(f.URL)
			if err != nil || u.Host == "" || u.Scheme != "https" {
				t.Errorf("%s: address %s (%v)", at, f.URL, err)
			}
			for _, name := range append(f.Gives(), f.Name) {
				if filepath.Base(name) != name || !filepath.IsLocal(name) || strings.HasPrefix(name, ".") {
					t.Errorf("%s: gives %q", at, name)
				}
			}
			for _, name := range f.Gives() {
				if given[name] {
					t.Errorf("%s: %s is given twice", at, name)
				}
				given[name] = true
			}
		}
	}
}

// TestOriginals: real files have the sizes and checksums of the table.
func TestOriginals(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"a9a/a9a", "a9a/a9a.t", "california-housing/housing.csv",
		// the training images there are packed anew
		"mnist/train-labels-idx1-ubyte.gz", "mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz",
		"fashion-mnist/train-images-idx3-ubyte.gz", "fashion-mnist/train-labels-idx1-ubyte.gz",
		"fashion-mnist/t10k-images-idx3-ubyte.gz", "fashion-mnist/t10k-labels-idx1-ubyte.gz",
		"w8a/w8a", // has a blank line more at the end
	} {
		text, err := os.ReadFile(check.Data(t, path))
		if err != nil {
			t.Fatal(err)
		}
		folder, name := filepath.Split(path)
		if name == "w8a" {
			text = text[:len(text)-1]
		}
		set, _ := Find(filepath.Clean(folder))
		found := false
		for _, f := range set.Files {
			if f.Name == name {
				found = true
				sum := sha256.Sum256(text)
				if got := hex.EncodeToString(sum[:]); got != f.Sum || int64(len(text)) != f.Size {
					t.Errorf("%s: %d bytes, %s; the table has %d, %s", path, len(text), got, f.Size, f.Sum)
				}
			}
		}
		if !found {
			t.Errorf("the table has no %s", path)
		}
	}
}
