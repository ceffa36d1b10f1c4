package elastic_test

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/config/configtest"
	"hogwild/hogwild/run/runtest"
	"hogwild/hogwild/rundir"
	"hogwild/internal/check"
)

// TestPause: workers wait, and the time of waiting is none of training.
func TestPause(t *testing.T) {
	for _, mode := range []string{"async", "sync"} {
		t.Run(mode, func(t *testing.T) {
			c := configtest.Quick(t)
			c.Model, c.Mode, c.Workers, c.Epochs = "slow", config.MustMode(mode), 3, 10
			begun := time.Now()
			r := runtest.Start(t, c)
			r.Reach(1, 1)
			r.Ask(rundir.Request{Do: rundir.DoPause})
			status := func() *rundir.Status { return r.Ask(rundir.Request{Do: rundir.DoStatus}).Status }
			var s *rundir.Status
			runtest.Await(t, "the pause", func() bool {
				s = status()
				for _, w := range s.Workers {
					if w.State != "paused" && w.State != "waiting" {
						return false
					}
				}
				return s.Paused
			})
			time.Sleep(500 * time.Millisecond) // until what is shown is of the pause
			s = status()
			time.Sleep(time.Second)
			if later := status(); later.Examples != s.Examples || later.Seconds != s.Seconds {
				t.Errorf("during the pause %d examples became %d, %v s %v s", s.Examples, later.Examples, s.Seconds,
					later.Seconds)
			}
			if mode == "sync" {
				c.AverageEvery = 1
			}
			r.Ask(rundir.Request{Do: rundir.DoContinue})
			got, err := r.Wait()
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Events, []string{"paused", "continued"}) {
				t.Errorf("events: %q", got.Events)
			}
			if want := int64(c.Epochs * 2000); got.Examples != want {
				t.Errorf("%d examples, want %d", got.Examples, want)
			}
			if most := time.Since(begun).Seconds() - 1.4; got.Seconds > most {
				t.Errorf("%.2f s of training, of at most %.2f", got.Seconds, most)
			}
		})
	}
}

// TestSocket: it is the owner's alone, replaces a stale one, works in a folder whose path is longer
// than an address, and is removed at the end.
func TestSocket(t *testing.T) {
	c := configtest.Quick(t)
	c.Run = filepath.Join(c.Run, strings.Repeat("long/", 40))
	if err := os.MkdirAll(c.Run, 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(c.Run, rundir.SocketFile)
	if err := os.WriteFile(path, []byte("stale"), 0o666); err != nil {
		t.Fatal(err)
	}
	c.Model, c.Epochs = "slower", 1000
	r := runtest.Start(t, c)
	r.Reach(1, 1)
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	r.Ask(rundir.Request{Do: rundir.DoStop})
	if _, live := rundir.Live(c.Run); live {
		t.Error("stop has returned while the run goes on")
	}
	if _, err := r.Wait(); err == nil {
		t.Error("the run has come to its end")
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
	_, err = rundir.Ask(c.Run, rundir.Request{Do: rundir.DoStatus})
	check.Error(t, err, "that run has ended (interrupted); hogwild train --resume")
}

// TestHostileClients: whatever others send, the run goes on and answers the next one.
func TestHostileClients(t *testing.T) {
	c := configtest.Quick(t)
	c.Model, c.Workers, c.Epochs = "slow", 2, 6
	r := runtest.Start(t, c)
	r.Reach(1, 1)
	t.Chdir(c.Run) // the path of a test's folder may be too long for an address
	dial := func() net.Conn {
		conn, err := net.Dial("unix", rundir.SocketFile)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	for _, text := range []string{"\n", "{}\n", "[1]\n", `{"do":"dance"}` + "\n",
		`{"do":"scale","workers":1e99}` + "\n", "\x00\xff\n",
		strings.Repeat("[", 4000) + "\n", strings.Repeat("x", 1<<20), `{"do":"status"`} {
		conn := dial()
		_, _ = conn.Write([]byte(text)) // the run may have hung up
		if !strings.HasSuffix(text, "\n") {
			continue // and says nothing more
		}
		_ = conn.SetDeadline(time.Now().Add(runtest.Patience))
		line, err := bufio.NewReader(conn).ReadBytes('\n')
		var a rundir.Answer
		if err != nil || json.Unmarshal(line, &a) != nil || a.Error == "" {
			t.Errorf("%.20q: %q, %v", text, line, err)
		}
	}
	for range 100 { // silent; most are turned away, or find the queue full
		if conn, err := net.Dial("unix", rundir.SocketFile); err == nil {
			t.Cleanup(func() { conn.Close() })
		}
	}
	runtest.Await(t, "an answer", func() bool { // the silent ones go after some seconds
		_, err := rundir.Ask(".", rundir.Request{Do: rundir.DoStatus})
		return err == nil || runtest.Ended(r.Done)
	})
	got, err := r.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(c.Epochs * 2000); got.Examples != want || got.Restarts != 0 {
		t.Errorf("%d examples, want %d, %d restarts", got.Examples, want, got.Restarts)
	}
}
