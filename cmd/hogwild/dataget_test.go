package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/data/get"
	"hogwild/internal/check"
	"hogwild/internal/human"
)

// downloader returns `hogwild data get ARGS` as a process in a folder, without the proxies of this machine.
func downloader(folder string, environment []string, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	cmd = exec.Command("/proc/self/exe", append([]string{"data", "get"}, args...)...)
	cmd.Args[0] = "hogwild" // by which the test binary knows that it is the program
	cmd.Dir = folder
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(strings.ToUpper(v), "=")
		return strings.HasSuffix(name, "_PROXY") || strings.HasPrefix(name, "HOGWILD_")
	}), environment...)
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// internet starts a proxy in front of a server that answers for all hosts of the sets. Its certificate is good for
// those who know its authority, which the environment names. have is the path of a host's file; "": it has none.
func internet(t *testing.T, have func(host, name string) string) (environment []string, asked func() []string) {
	t.Helper()
	var hosts []string
	for _, s := range get.Sets() {
		for _, f := range s.Files {
			hosts = append(hosts, strings.Split(f.URL, "/")[2])
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: hosts, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	authority := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		0o666); err != nil {
		t.Fatal(err)
	}

	origin := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := have(r.Host, filepath.Base(r.URL.Path))
		if path == "" || r.UserAgent() != "hogwild/"+config.Version {
			http.Error(w, "no such file, or an unknown client", http.StatusNotFound)
			return
		}
		http.ServeFile(w, r, path)
	}))
	origin.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	origin.Config.ErrorLog = log.New(io.Discard, "", 0)
	origin.StartTLS()
	t.Cleanup(origin.Close)

	var mu sync.Mutex
	var connects []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		connects = append(connects, r.Method+" "+r.Host)
		mu.Unlock()
		to, err := net.Dial("tcp", origin.Listener.Addr().String())
		from, _, hijack := w.(http.Hijacker).Hijack()
		if err != nil || hijack != nil {
			return
		}
		fmt.Fprint(from, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { io.Copy(to, from); to.Close() }()
		io.Copy(from, to)
		from.Close()
	}))
	t.Cleanup(proxy.Close)
	return []string{"HTTPS_PROXY=" + proxy.URL, "SSL_CERT_FILE=" + authority, "SSL_CERT_DIR=/nowhere"},
		func() []string {
			mu.Lock()
			defer mu.Unlock()
			return connects
		}
}

// TestDataGet downloads a real set by its name, through a proxy and TLS, and runs the command that is printed.
func TestDataGet(t *testing.T) {
	a9a := check.Data(t, "a9a")
	environment, asked := internet(t, func(host, name string) string {
		if host == "www.csie.ntu.edu.tw" {
			return filepath.Join(a9a, name)
		}
		return ""
	})
	folder := t.TempDir()
	cmd, stdout, stderr := downloader(folder, environment, "a9a")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	line := "hogwild train --data a9a --model logistic"
	if want := "2 files in a9a, 3.49 MB\n\n    " + line + "\n"; stdout.String() != want {
		t.Errorf("prints\n%swant\n%s", stdout, want)
	}
	for _, words := range []string{"terms  Made from UCI's Adult set", "cite   Platt: ", "see    https://",
		"a9a  2.33 MB\n", "a9a.t  1.16 MB\n"} {
		if !strings.Contains(stderr.String(), words) {
			t.Errorf("stderr does not say %q:\n%s", words, stderr)
		}
	}
	if got := asked(); len(got) == 0 || got[0] != "CONNECT www.csie.ntu.edu.tw:443" {
		t.Errorf("the proxy was asked for %q", got)
	}

	// with one worker it is repeatable
	train := exec.Command("/proc/self/exe", append(strings.Fields(line)[1:], "--json", "--quiet", "--workers", "1")...)
	train.Args[0], train.Dir = "hogwild", folder
	out, err := train.Output()
	var result struct {
		TestAccuracy float64 `json:"test_accuracy"`
	}
	if err != nil || json.Unmarshal(out, &result) != nil || result.TestAccuracy < 0.84 {
		t.Errorf("%s: accuracy %v, want 0.84 at least (%v)", line, result.TestAccuracy, err)
	}

	cmd, stdout, _ = downloader(folder, []string{"HTTPS_PROXY=http://127.0.0.1:1"}, "a9a", "--quiet")
	if err := cmd.Run(); err != nil || !strings.HasPrefix(stdout.String(), "2 files in a9a, 3.49 MB, already there\n") {
		t.Errorf("again (%v): %s", err, stdout)
	}
}

// TestDataGetRefuses: images that were packed anew are not MNIST's file, and an unknown authority is no server.
func TestDataGetRefuses(t *testing.T) {
	mnist := check.Data(t, "mnist")
	environment, asked := internet(t, func(_, name string) string { return filepath.Join(mnist, name) })
	folder := t.TempDir()
	cmd, stdout, stderr := downloader(folder, environment, "mnist", "--dir", "sets", "--quiet")
	err := cmd.Run()
	const host, file = "storage.googleapis.com", "sets/mnist/train-images-idx3-ubyte.gz"
	if cmd.ProcessState.ExitCode() != 1 || stdout.Len() > 0 ||
		!strings.Contains(stderr.String(), "\nhogwild: "+file+": "+host+": sent another file: its sha256 is ae46c4f2") {
		t.Errorf("ended with %v, stdout %q, stderr\n%s", err, stdout, stderr)
	}
	if !slices.Contains(asked(), "CONNECT "+host+":443") {
		t.Errorf("%s was not asked", host)
	}
	if _, err := os.Stat(filepath.Join(folder, file)); err == nil {
		t.Error("the wrong file has its name")
	}
	cmd, _, stderr = downloader(folder, environment[:1], "a9a", "--quiet") // without the authority
	if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), "certificate") {
		t.Errorf("an unknown authority (%v): %s", err, stderr)
	}
}

// slowServer sends bytes slowly at first, and then at once; ranges too.
func slowServer(t *testing.T, body []byte) (address string, ranges func() []string) {
	var mu sync.Mutex
	var seen []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Header.Get("Range"))
		first := len(seen) == 1
		mu.Unlock()
		w.Header().Set("ETag", `"v1"`)
		if !first {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		for b := body; len(b) > 0 && r.Context().Err() == nil; b = b[min(len(b), 8<<10):] {
			w.Write(b[:min(len(b), 8<<10)])
			w.(http.Flusher).Flush()
			time.Sleep(20 * time.Millisecond)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/rows.csv", func() []string {
		mu.Lock()
		defer mu.Unlock()
		return seen
	}
}

func csvRows(n int) []byte {
	var b bytes.Buffer
	b.WriteString("x,y\n")
	for i := range n {
		fmt.Fprintf(&b, "%d,%d\n", i, i%2)
	}
	return b.Bytes()
}

// TestDataGetEnds: whatever ends a download, the same command continues it.
func TestDataGetEnds(t *testing.T) {
	body := csvRows(60000) // half a megabyte: more than a second
	sum := fmt.Sprintf("%x", sha256.Sum256(body))
	program := filepath.Join(t.TempDir(), "hogwild")
	if self, err := os.Executable(); err != nil || os.Symlink(self, program) != nil {
		t.Fatal("no link to the program: ", err)
	}
	for name, c := range map[string]struct {
		signal syscall.Signal // 0: it ends by itself
		fault  string
		limit  string // of the shell
		status int    // -1: killed
		says   string
	}{
		"ctrl-c":    {syscall.SIGINT, "", "", 130, "interrupted ("},
		"SIGTERM":   {syscall.SIGTERM, "", "", 143, "terminated ("},
		"kill":      {syscall.SIGKILL, "", "", -1, ""},
		"disk full": {0, "download.write:error=ENOSPC@5", "", 1, "no space left on device: make room ("},
		// in blocks of 512 bytes or of 1 KiB
		"file limit": {0, "", "ulimit -f 100; ", 1, "file too large: make room ("},
		"crash":      {0, "download.rename:crash", "", -1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, ranges := slowServer(t, body)
			folder := t.TempDir()
			cmd, _, stderr := downloader(folder, []string{"HOGWILD_FAULT=" + c.fault}, address, "--sha256", sum)
			if c.limit != "" {
				cmd.Args = append([]string{"sh", "-c", c.limit + `exec "$@"`, "sh", program}, cmd.Args[1:]...)
				cmd.Path = "/bin/sh"
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			part := filepath.Join(folder, "rows.csv.part")
			for until := time.Now().Add(time.Minute); c.signal != 0; time.Sleep(time.Millisecond) {
				if info, err := os.Stat(part); err == nil && info.Size() > 50<<10 {
					cmd.Process.Signal(c.signal)
					break
				}
				if time.Now().After(until) {
					t.Fatal("nothing comes")
				}
			}
			cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != c.status || !strings.Contains(stderr.String(), c.says) {
				t.Fatalf("status %d, want %d; stderr, which should say %q:\n%s", got, c.status, c.says, stderr)
			}
			if c.says != "" && !strings.Contains(stderr.String(), "of rows.csv are kept in rows.csv.part, where the "+
				"same command continues)") {
				t.Errorf("stderr: %s", stderr)
			}
			info, err := os.Stat(part)
			if err != nil {
				t.Fatal(err)
			}
			cmd, stdout, stderr := downloader(folder, nil, address, "--sha256", sum)
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s", err, stderr)
			}
			if got, err := os.ReadFile(filepath.Join(folder, "rows.csv")); err != nil || !bytes.Equal(got, body) {
				t.Errorf("%d bytes (%v), want %d", len(got), err, len(body))
			}
			// then all was there
			if last := ranges()[len(ranges())-1]; last != fmt.Sprintf("bytes=%d-", info.Size()) && (last != "" ||
				c.fault != "download.rename:crash") {
				t.Errorf("continued with %q after %d bytes", last, info.Size())
			}
			if want := "rows.csv, " + get.Bytes(int64(len(body))) +
				"\n\n    hogwild data info rows.csv\n"; stdout.String() != want {
				t.Errorf("prints\n%swant\n%s", stdout, want)
			}
		})
	}
}

// TestDownloads: the live line fits the terminal and goes away; elsewhere a file that is done is a line.
func TestDownloads(t *testing.T) {
	var b bytes.Buffer
	d := &downloads{live: human.Live{W: &b, Size: func() (int, int) { return 60, 24 }}}
	d.step("f", 1, 1e7)
	d.begun, d.drawn = time.Now(), time.Time{}
	d.step("f", 25e5, 1e7)
	if got, want := b.String(), "[#######.....................]  f  2.50 MB of 10.0 MB   25%\n"; got != want ||
		len(want) != 59+len("\n") {
		t.Errorf("the live line is %q, want %q", got, want)
	}
	b.Reset()
	d.step("f", 1e7, 1e7)
	if got := b.String(); got != "\r\x1b[K\x1b[A\x1b[Kf  10.0 MB\n" {
		t.Errorf("done: %q", got)
	}
	for quiet, want := range map[bool]string{false: "f  10.0 MB\nsomething\n", true: "something\n"} {
		b.Reset()
		d = &downloads{live: human.Live{W: &b}, quiet: quiet}
		d.step("f", 1, 1e7)
		d.step("f", 1e7, 1e7)
		d.print("something")
		d.close()
		if got := b.String(); got != want {
			t.Errorf("no terminal, quiet %v: %q, want %q", quiet, got, want)
		}
	}
}

// TestDownloadHint: where a set is not, or only a part of it, the error says how to get it.
func TestDownloadHint(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := errors.Join(os.Mkdir("w8a", 0o777), os.WriteFile("w8a/w8a.part", []byte("+1"), 0o666)); err != nil {
		t.Fatal(err)
	}
	for path, advice := range map[string]string{
		"mnist":                "no such file or directory; `hogwild data get mnist` downloads it",
		"./cifar10/":           "`hogwild data get cifar10` downloads it",
		"/nowhere/my sets/a9a": "`hogwild data get a9a --dir '/nowhere/my sets'` downloads it",
		"w8a":                  "it holds w8a.part: name a file; `hogwild data get w8a` downloads it",
		"https://x.org/a b":    "`hogwild data get 'https://x.org/a b'` downloads it",
	} {
		check.Error(t, data.Find(path), advice)
	}
	if err := data.Find("nowhere"); err == nil || strings.Contains(err.Error(), "data get") {
		t.Error(err)
	}
}
