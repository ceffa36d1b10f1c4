//go:build cuda

package cuda

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOldDriverUnderMPS: drivers before CUDA 12.4 do not tell whether a service is in use. Where one listens, a run
// goes on as if it were.
func TestOldDriverUnderMPS(t *testing.T) {
	for _, c := range []struct {
		name, file string // in the service's folder
		says       string // of the doctor
		shares     bool
	}{
		{"a service listens", "control", "this driver does not say", true},
		{"none does", "server.log", "off", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, c.file), nil, 0o666); err != nil {
				t.Fatal(err)
			}
			if !replay(t, "HOGWILD_FAKE_DRIVER=12020", "HOGWILD_FAKE_EXCLUSIVE=old-"+filepath.Base(folder),
				"CUDA_MPS_PIPE_DIRECTORY="+folder) {
				return
			}
			g, err := describe(0)
			if err != nil {
				t.Fatal(err)
			}
			if f := (&checkup{}).service(&g); !strings.Contains(f.Text, c.says) {
				t.Errorf("the doctor found %+v, want %q", f, c.says)
			}
			if _, not := usable(g); (not == "") != c.shares {
				t.Errorf("an exclusive GPU %q, want it to be usable: %t", not, c.shares)
			}
		})
	}
}

// TestAskService: the daemon's words, and none of a daemon that does not answer, nor lets go of the pipe.
func TestAskService(t *testing.T) {
	for answer, want := range map[string]string{"grep -q get_server_list && echo 71 72": "71 72",
		"sleep 1000; true": ""} {
		if want == "" && testing.Short() {
			continue // hogwild waits for 6 s
		}
		folder := t.TempDir()
		daemon := filepath.Join(folder, "nvidia-cuda-mps-control")
		if err := os.WriteFile(daemon, []byte("#!/bin/sh\n"+answer+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
		words, err := askService("get_server_list")
		if got := strings.Join(words, " "); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", answer, got, err, want)
		}
	}
}
