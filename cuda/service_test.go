//go:build cuda

package cuda

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOldDriverUnderMPS: drivers before CUDA 12.4 do not tell whether a service is in use. Its
// daemon does; and where nobody does, a run may go on.
func TestOldDriverUnderMPS(t *testing.T) {
	for _, c := range []struct {
		name, answer string // of the daemon: a script
		says         string // of the doctor
		shares       bool
	}{
		{"a server", "grep -q get_server_list && echo 71", "is in use", true},
		{"no server", "cat >/dev/null", "off", false},
		{"no answer", "echo Cannot find MPS control daemon process; exit 1", "unknown", true},
		{"a silent daemon", "sleep 1000; true", "unknown", true}, // a child of the child holds the pipe
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.HasPrefix(c.answer, "sleep") && testing.Short() {
				t.Skip("hogwild waits for 6 s")
			}
			folder := t.TempDir()
			for name, text := range map[string]string{"control": "",
				"nvidia-cuda-mps-control": "#!/bin/sh\n" + c.answer + "\n"} {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if !replay(t, "HOGWILD_FAKE_DRIVER=12020", "HOGWILD_FAKE_EXCLUSIVE=old-"+filepath.Base(folder),
				"CUDA_MPS_PIPE_DIRECTORY="+folder,
				"PATH="+folder+":"+os.Getenv("PATH")) {
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
