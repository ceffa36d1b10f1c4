package get

import (
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"hogwild/hogwild/data/catalog"
	"hogwild/internal/human"
)

// Getter downloads to a folder.
type Getter struct {
	Dir       string
	UserAgent string
	Watch     func(Step)        // called often
	Note      func(line string) // something worth a line: a try that failed, another mirror

	client *http.Client
	stall  time.Duration                  // without hasBytes new bytes the connection is given up
	pause  func(failed int) time.Duration // before the next try, after so many that failed
	tries  int                            // of a mirror, without progress
}

// Step is how far the work on a file is.
type Step struct {
	File  string
	Doing Doing
	Done  int64 // bytes
	Total int64 // 0: not known
}

// Doing is what is done with a file.
type Doing string

// What is done with a file, in this order.
const (
	Downloading Doing = "downloading"
	Unpacking   Doing = "unpacking"
	Whole       Doing = "done" // once: Done is the bytes that were downloaded
)

// job is the work on one file.
type job struct {
	*Getter
	catalog.File
	dir string
	own bool // the folder has nothing but the files of one set
}

// localError is an error of this machine, such as a full disk: no other server would help.
type localError struct{ error }

func (e localError) Unwrap() error { return e.error }

func (j *job) path(name string) string { return filepath.Join(j.dir, name) }

// finalError is one that another try of the same server would meet again.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// statusError is an answer that is not the file.
type statusError struct {
	text  string
	after time.Duration // the server asks to wait so long
}

func (e statusError) Error() string { return "answers " + e.text }

// host is that of an address.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host
}

// Bytes is a size for people: 9.91 MB.
func Bytes(n int64) string {
	if n < 1000 {
		return human.Plural(int(n), "byte")
	}
	return human.Rate(float64(n)) + "B"
}

func count(n int64) string { return human.Count(n) }
