package machine

import (
	"testing"
	"testing/fstest"
)

// TestWithinQuota: a container's limit on processor time counts like a lack of cores, in both versions of control
// groups.
func TestWithinQuota(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int
	}{
		{"no /proc", nil, 64},
		{"no limit", map[string]string{"proc/self/cgroup": "0::/pod", "sys/fs/cgroup/pod/cpu.max": "max 100000"}, 64},
		{"version 2", map[string]string{"proc/self/cgroup": "0::/pod", "sys/fs/cgroup/pod/cpu.max": "800000 100000"},
			8},
		{"the group above",
			map[string]string{"proc/self/cgroup": "0::/pod/a", "sys/fs/cgroup/pod/a/cpu.max": "max 100000",
				"sys/fs/cgroup/pod/cpu.max": "250000 100000"}, 2},
		{"less than a core", map[string]string{"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "20000 100000"}, 1},
		{"version 1",
			map[string]string{"proc/self/cgroup": "2:cpu,cpuacct:/a", "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "300000",
				"sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000"}, 3},
		{"version 1, no limit",
			map[string]string{"proc/self/cgroup": "2:cpu:/a", "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "-1",
				"sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000"}, 64},
	} {
		root := fstest.MapFS{}
		for name, text := range c.files {
			root[name] = &fstest.MapFile{Data: []byte(text + "\n")}
		}
		if got := WithinQuota(root, 64); got != c.want {
			t.Errorf("%s: %d of 64 cores, want %d", c.name, got, c.want)
		}
	}
}

// TestParts: each number is in one part.
func TestParts(t *testing.T) {
	for _, n := range []int{0, 1, 1 << 16, 1<<20 + 7} {
		seen := make([]uint8, n)
		Parts(n, func(from, to int) {
			for i := range seen[from:to] {
				seen[from+i]++
			}
		})
		for i, times := range seen {
			if times != 1 {
				t.Fatalf("%d of %d is in %d parts", i, n, times)
			}
		}
	}
}
