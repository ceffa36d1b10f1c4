package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"hogwild/cuda"
	"hogwild/cuda/start"
	"hogwild/internal/vec"
)

// played returns a host of two cores with 8 GiB, on which all is fine, and on top of it the files given: "" removes
// one.
func played(files map[string]string) host {
	all := map[string]string{
		"proc/cpuinfo": "processor\t: 0\nmodel name\t: Some CPU\n\nprocessor\t: 1\nmodel name\t: " +
			"Some CPU\n",
		"proc/meminfo": "MemTotal:        8388608 kB\nMemFree:           12345 kB\nMemAvailable:    " +
			"4194304 kB\n",
		"proc/version":                  "Linux version 6.1.0 (gcc 12)",
		"proc/self/cgroup":              "0::/job\n",
		"sys/devices/system/cpu/online": "0-1\n",
		"sys/fs/cgroup/job/cpu.max":     "max 100000\n",
	}
	for name, text := range files {
		all[name] = text
	}
	root := fstest.MapFS{}
	for name, text := range all {
		if text != "" {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return host{
		root: root, cores: func() int { return 2 }, memfd: func() error { return nil },
		loop:   func(vec.Loop) error { return nil },
		getenv: func(string) string { return "" }, uid: 1000,
	}
}

// pipes is where the service of MPS has its pipes.
const pipes = "tmp/nvidia-mps/"

// daemonPID is the file with the process of its daemon.
const daemonPID = pipes + "nvidia-cuda-mps-control.pid"

// hostsPlayed are hosts, and what is said of them.
var hostsPlayed = []struct {
	name  string
	look  func(host) cuda.Finding
	files map[string]string
	edit  func(h *host)
	level cuda.Level
	says  string
}{
	{"proc", host.procCheck, nil, nil, cuda.Fine, "is mounted"},
	{"no proc", host.procCheck, nil, func(h *host) { h.root = fstest.MapFS{} }, cuda.Advice, "mount -t proc"},
	{"cores", host.coresCheck, nil, nil, cuda.Fine, "2, all"},
	{"cores held", host.coresCheck, map[string]string{"sys/devices/system/cpu/online": "0-3,8"}, nil,
		cuda.Advice, "2 of 5"},
	{"cores unknown", host.coresCheck, map[string]string{"sys/devices/system/cpu/online": ""}, nil,
		cuda.Fine, "2, all"},
	{"quota", host.quotaCheck, nil, nil, cuda.Fine, "none"},
	{"quota unknown", host.quotaCheck, map[string]string{"proc/self/cgroup": ""}, nil, cuda.Fine, "unknown"},
	{"quota of the group", host.quotaCheck, map[string]string{"sys/fs/cgroup/job/cpu.max": "150000 100000"}, nil,
		cuda.Advice, "limits 2 cores to the time of 1.5: runs start 1 worker"},
	{"quota above the group", host.quotaCheck, map[string]string{"sys/fs/cgroup/cpu.max": "50000 100000"}, nil,
		cuda.Advice, "the time of 0.5"},
	{"quota of version 1", host.quotaCheck, map[string]string{"proc/self/cgroup": "3:cpu,cpuacct:/a\n",
		"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "20000", "sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000"}, nil,
		cuda.Advice, "the time of 0.2"},
	{"quota enough", host.quotaCheck, map[string]string{"sys/fs/cgroup/job/cpu.max": "400000 100000"}, nil,
		cuda.Fine, "4 cores"},
	{"memory", host.memoryCheck, nil, nil, cuda.Fine, "4.0 GiB"},
	{"memory of the group", host.memoryCheck, map[string]string{"sys/fs/cgroup/job/memory.max": "1073741824",
		"sys/fs/cgroup/job/memory.current": "536870912"}, nil, cuda.Advice, "0.5 GiB"},
	{"files in the memory of the group", host.memoryCheck,
		map[string]string{"sys/fs/cgroup/job/memory.max": "1073741824",
			"sys/fs/cgroup/job/memory.current": "1073741824",
			"sys/fs/cgroup/job/memory.stat": "anon 268435456\nfile 805306368\ninactive_file " +
				"536870912\nactive_file 134217728\n"}, nil, cuda.Advice, "0.6 GiB"},
	{"memory of version 1", host.memoryCheck, map[string]string{"proc/self/cgroup": "4:memory:/job\n",
		"sys/fs/cgroup/memory/memory.limit_in_bytes":     "1073741824",
		"sys/fs/cgroup/memory/memory.usage_in_bytes":     "0",
		"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "3",
		"sys/fs/cgroup/memory/job/memory.usage_in_bytes": "1"}, nil, cuda.Advice, "0.0 GiB"},
	{"memory of version 1 without a limit", host.memoryCheck,
		map[string]string{"proc/self/cgroup": "4:memory:/job\n",
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "9223372036854771712",
			"sys/fs/cgroup/memory/job/memory.usage_in_bytes": "488448000",
			"sys/fs/cgroup/memory/job/memory.stat": "total_inactive_file 302559232\ntotal_active_file " +
				"200000000\n"}, nil, cuda.Fine, "4.0 GiB"},
	{"memory unknown", host.memoryCheck, map[string]string{"proc/meminfo": ""}, nil, cuda.Fine, "unknown"},
	{"memfd", host.memfdCheck, nil, nil, cuda.Fine, "creating and sealing"},
	{"memfd forbidden", host.memfdCheck, nil,
		func(h *host) { h.memfd = func() error { return errors.New("no seals") } }, cuda.Fails, "no seals"},
	{"loops", host.loopsCheck, nil, nil, cuda.Fine,
		fmt.Sprintf("%d of %[1]d agree with plain Go, on %v", len(vec.Loops()), vec.BestSet())},
	{"loops of a lesser set", host.loopsCheck, nil,
		func(h *host) { h.getenv = func(string) string { return "avx2" } }, cuda.Fine, " (HOGWILD_CPU=avx2)"},
	{"loops wrong", host.loopsCheck, nil, func(h *host) {
		h.loop = func(l vec.Loop) error {
			if name := l.String(); name == "gemm" || name == "dot" {
				return errors.New("number 3")
			}
			return nil
		}
	}, cuda.Advice, fmt.Sprintf("dot (number 3), gemm (number 3); %d of %d agree with plain Go, on %v; set "+
		"HOGWILD_LOOPS_OFF=dot,gemm", len(vec.Loops())-2, len(vec.Loops()), vec.BestSet())},
	{"mps", host.mpsCheck, nil, nil, cuda.Fine, "not running"},
	{"mps there", host.mpsCheck, map[string]string{pipes + "control": "x"}, nil, cuda.Fine,
		"a service listens in /tmp/nvidia-mps"},
	{"mps mine", host.mpsCheck, map[string]string{pipes + "control": "x", daemonPID: "71\n",
		"proc/71/status": "Name:\tx\nUid:\t1000\t1000\t1000\t1000\n"},
		nil, cuda.Fine, "process 71 listens"},
	{"mps another's", host.mpsCheck, map[string]string{pipes + "control": "x", daemonPID: "71\n",
		"proc/71/status": "Uid:\t0\t0\t0\t0\n"},
		nil, cuda.Advice, "user 0, you are user 1000"},
	{"mps stale", host.mpsCheck, map[string]string{pipes + "control": "x", daemonPID: "71\n"},
		nil, cuda.Advice, "process 71, which has exited"},
	{"mps nowhere", host.mpsCheck, nil, func(h *host) { h.getenv = func(string) string { return "/run/mps" } },
		cuda.Advice, "is /run/mps, but no service listens there"},
}

func TestHostChecks(t *testing.T) {
	for _, c := range hostsPlayed {
		h := played(c.files)
		if c.edit != nil {
			c.edit(&h)
		}
		if f := c.look(h); f.Level != c.level || !strings.Contains(f.Text, c.says) {
			t.Errorf("%s: %+v, want %s: ...%s...", c.name, f, c.level, c.says)
		}
	}
}

// TestWithoutGPU: that none can be used is an obstacle where there is one.
func TestWithoutGPU(t *testing.T) {
	pci := map[string]string{"sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
		"sys/bus/pci/devices/0000:01:00.0/class": "0x030200\n"}
	audio := map[string]string{"sys/bus/pci/devices/0000:01:00.1/vendor": "0x10de\n",
		"sys/bus/pci/devices/0000:01:00.1/class": "0x040300\n"}
	intel := map[string]string{"sys/bus/pci/devices/0000:00:02.0/vendor": "0x8086\n",
		"sys/bus/pci/devices/0000:00:02.0/class": "0x030000\n"}
	for _, c := range []struct {
		name  string
		files map[string]string
		why   error
		want  cuda.Level
	}{
		{"no GPU, no driver", nil, errAbsent, cuda.Advice},
		{"another's GPU", intel, errAbsent, cuda.Advice},
		{"its sound", audio, errAbsent, cuda.Advice},
		{"a GPU, no driver", pci, errAbsent, cuda.Fails},
		{"a driver's device", map[string]string{"dev/nvidiactl": "x"}, errAbsent, cuda.Fails},
		{"WSL's device", map[string]string{"dev/dxg": "x"}, errAbsent, cuda.Fails},
		{"a driver that does not start", nil, errors.New("too old"), cuda.Fails},
	} {
		if f := played(c.files).withoutGPU(c.why); f.Level != c.want {
			t.Errorf("%s: %+v, want %s", c.name, f, c.want)
		}
	}
}

func TestProcessor(t *testing.T) {
	p := played(nil).processor()
	p.SIMD = ""
	if want := (processor{Name: "Some CPU", Cores: 2, Online: 2, Total: 8 << 30, Free: 4 << 30}); p != want {
		t.Errorf("%+v, want %+v", p, want)
	}
}

// TestServiceCommands: docs/gpu.md has the commands with which the doctor says that a service starts.
func TestServiceCommands(t *testing.T) {
	page, err := os.ReadFile("../../docs/gpu.md")
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Split(start.Service, "`")
	if len(said) != 5 || !strings.Contains(string(page), "\n    "+said[1]+"\n    "+said[3]+"\n") {
		t.Errorf("docs/gpu.md does not have the commands of %q, one below the other", start.Service)
	}
}
