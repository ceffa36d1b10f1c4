package workers

import (
	"os"
	"path/filepath"
	"sync"

	"hogwild/internal/lastwords"
)

// Log keeps what a program prints in a file of a folder, which is made when the first line
// comes. Of more than twice logLimit the beginning is dropped. A run does not end because the file cannot be written.
type Log struct {
	name string
	told func(path string) // of the first line

	mu    sync.Mutex
	dir   string // "" until there is one
	early []byte // printed until then
	file  *os.File
	size  int64
	over  bool
}

// NewLog returns a log with a name in a folder, "" if there is none yet. It calls told when the first line has come.
func NewLog(name, dir string, told func(path string)) *Log {
	return &Log{name: name, dir: dir, told: told}
}

// Write never fails.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dir != "" {
		l.write(b)
	} else if len(l.early) < lastwords.Limit {
		l.early = append(l.early, b...)
	}
	return len(b), nil
}

func (l *Log) write(b []byte) {
	if len(b) == 0 || l.over {
		return
	}
	if l.file == nil {
		path := filepath.Join(l.dir, l.name)
		var err error
		if l.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666); err != nil {
			l.over = true
			return
		}
		if info, err := l.file.Stat(); err == nil { // the log of the worker before
			l.size = info.Size()
		}
		l.told(path)
	}
	if l.size > 0 && l.size+int64(len(b)) > logLimit {
		path := l.file.Name()
		_ = l.file.Close()
		_ = os.Rename(path, path+".1")
		l.file, l.size = nil, 0
		l.write(b)
		return
	}
	l.size += int64(len(b))
	_, _ = l.file.Write(b)
}

// logLimit is when a log gets another name, and a new one is begun, in bytes.
var logLimit int64 = 16 << 20

// Open says where the folder is.
func (l *Log) Open(dir string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dir = dir
	l.write(l.early)
	l.early = nil
}

// Close ends the log: what is written later is lost.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over = true; l.file != nil {
		_ = l.file.Close()
	}
}
