package rundir

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// listening returns a folder, and what listens in it.
func listening(t *testing.T) (dir string, l *Listener) {
	t.Helper()
	dir = t.TempDir()
	l, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return dir, l
}

// TestAnswerIsBounded: what listens in a folder may write without an end and without a line's.
func TestAnswerIsBounded(t *testing.T) {
	dir, l := listening(t)
	written := make(chan int, 1)
	go func() {
		n := 0
		f, err := l.Accept()
		for err == nil && n < 64*answerBytes {
			var k int
			k, err = f.Write(bytes.Repeat([]byte("x"), 1<<16))
			n += k
		}
		written <- n
	}()
	if _, err := Ask(dir, Request{Do: DoStatus}); err == nil || !strings.Contains(err.Error(), "is no run") {
		t.Errorf("%v", err)
	}
	if n := <-written; n > 4*answerBytes { // the socket holds some of it
		t.Errorf("%d bytes were taken", n)
	}
}

// TestAnswerWithoutStatus: what listens in a folder may leave it out.
func TestAnswerWithoutStatus(t *testing.T) {
	dir, l := listening(t)
	go func() {
		if f, err := l.Accept(); err == nil {
			_ = WriteAnswer(f, Answer{Says: "nothing"})
		}
	}()
	if _, err := Ask(dir, Request{Do: DoStatus}); err == nil || !strings.Contains(err.Error(), "it has no status") {
		t.Errorf("%v", err)
	}
}

// TestAnswersAreOneLine: an answer adds no line, and nothing that a terminal obeys.
func TestAnswersAreOneLine(t *testing.T) {
	dir, l := listening(t)
	go func() {
		for _, a := range []Answer{{Says: "done\nhogwild: \x1b[31mfake"}, {Error: "no\nhogwild: \x1b[31mfake"}} {
			if f, err := l.Accept(); err == nil {
				_, _ = ReadRequest(f)
				_ = WriteAnswer(f, a)
			}
		}
		if f, err := l.Accept(); err == nil { // as of a run that serves as many as it can
			f.Close()
		}
	}()
	const fake = `\nhogwild: \u001b[31mfake`
	if a, err := Ask(dir, Request{Do: DoPause}); err != nil || a.Says != "done"+fake {
		t.Errorf("%q, %v", a.Says, err)
	}
	if _, err := Ask(dir, Request{Do: DoPause}); err == nil || !strings.HasSuffix(err.Error(), ": no"+fake) {
		t.Errorf("%v", err)
	}
	if _, err := Ask(dir, Request{Do: DoPause}); err == nil || !strings.Contains(err.Error(), "too many others") {
		t.Errorf("%v", err)
	}
}

// listenVariable has this program listen in a folder, for somebody else.
const listenVariable = "PLAYED_LISTEN"

// TestSocketOfAnother: in a folder of ours a process of another user is not believed.
func TestSocketOfAnother(t *testing.T) {
	if dir := os.Getenv(listenVariable); dir != "" {
		l, err := Listen(dir)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		l.Close()
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	dir, err := os.MkdirTemp("", "socket-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestSocketOfAnother$")
	cmd.Env, cmd.Dir = append(os.Environ(), listenVariable+"="+dir), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for try := 0; ; try++ {
		_, err = Ask(dir, Request{Do: DoStatus})
		if err != nil && strings.Contains(err.Error(), "user 65534, who does not own the folder") {
			return
		}
		if try == 6000 {
			t.Fatalf("the last error: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
