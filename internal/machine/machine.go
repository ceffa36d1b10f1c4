// Package machine reads from Linux how many cores and how much memory this process may use. Limits of control groups,
// as containers have them, count.
package machine

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// Text is the content of a file below root, without the white space around it; "" when it
// cannot be read.
func Text(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, strings.TrimPrefix(name, "/"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// Field is the value of the first "key: value" of a file below root; "" if there is none.
func Field(root fs.FS, file, key string) string {
	for line := range strings.Lines(Text(root, file)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Memory returns one of the kernel's figures of memory, in bytes; 0 if it is not there.
func Memory(root fs.FS, key string) int64 {
	number, _, _ := strings.Cut(Field(root, "proc/meminfo", key), " ") // in units of 1024 bytes
	n, _ := strconv.ParseInt(number, 10, 64)
	return n << 10
}

// Groups are the folders of the control groups that limit this process: its own, and
// those above it, of version 2 and of version 1's cpu and memory.
func Groups(root fs.FS) []string {
	var all []string
	for line := range strings.Lines(Text(root, "proc/self/cgroup")) { // "0::/user.slice" or "4:memory:/job"
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		base := "sys/fs/cgroup"
		for _, name := range []string{"cpu", "memory"} {
			if strings.Contains(","+fields[1]+",", ","+name+",") {
				base = path.Join("sys/fs/cgroup", name)
			}
		}
		for folder := path.Join(base, path.Clean("/"+fields[2])); ; folder = path.Dir(folder) {
			all = append(all, folder)
			if folder == base {
				break
			}
		}
	}
	return all
}

// Cores is how many cores this process can keep busy: those that it may use, but no more than the time that its control
// groups leave it. It is read once.
var Cores = sync.OnceValue(func() int { return WithinQuota(os.DirFS("/"), runtime.NumCPU()) })

// WithinQuota is how many of some cores the time suffices for that the control groups leave this process, at least 1.
func WithinQuota(root fs.FS, cores int) int {
	return max(1, int(min(float64(cores), Quota(root))))
}

// Parts cuts n numbers into a part for each core, none of them small, and returns when f has been called for all.
func Parts(n int, f func(from, to int)) {
	const least = 1 << 16 // what a core does alone in less time than it takes to ask another one
	parts := min(runtime.GOMAXPROCS(0), 1+n/least)
	Each(parts, func(i int) { f(n*i/parts, n*(i+1)/parts) })
}

// Each returns when f has been called for each number below n, on all cores.
func Each(n int, f func(i int)) {
	var busy sync.WaitGroup
	for i := range n - 1 {
		busy.Go(func() { f(i) })
	}
	if n > 0 {
		f(n - 1)
	}
	busy.Wait()
}

// Quota is how many cores' time the control groups of this process leave it; +Inf when they set no limit.
func Quota(root fs.FS) float64 {
	least := math.Inf(1)
	for _, folder := range Groups(root) {
		fields := strings.Fields(Text(root, path.Join(folder, "cpu.max"))) // "200000 100000" or "max 100000"
		if len(fields) == 0 {
			fields = []string{Text(root, path.Join(folder, "cpu.cfs_quota_us")),
				Text(root, path.Join(folder, "cpu.cfs_period_us"))}
		}
		least = min(least, ratio(fields))
	}
	return least
}

// ratio is the quotient of two positive numbers, else +Inf.
func ratio(fields []string) float64 {
	if len(fields) != 2 {
		return math.Inf(1)
	}
	a, errA := strconv.ParseFloat(fields[0], 64)
	b, errB := strconv.ParseFloat(fields[1], 64)
	if errA != nil || errB != nil || !(a > 0 && b > 0) {
		return math.Inf(1)
	}
	return a / b
}

// Room is the memory in bytes that this process can still have: what is free, but no more
// than the control groups leave. It is not known without /proc.
func Room(root fs.FS) (room int64, known bool) {
	if room = Memory(root, "MemAvailable"); room == 0 {
		return 0, false
	}
	for _, folder := range Groups(root) {
		for _, v := range versions {
			most, err := strconv.ParseInt(Text(root, path.Join(folder, v.most)), 10, 64)
			used, err2 := strconv.ParseInt(Text(root, path.Join(folder, v.used)), 10, 64)
			if err == nil && err2 == nil {
				// The two are not of the same moment: the cache may be larger than all that is used, and most the
				// largest number.
				used -= min(used, cached(Text(root, path.Join(folder, "memory.stat")), v.prefix))
				room = min(room, max(0, most-used))
			}
		}
	}
	return room, true
}

// versions are how the two versions of control groups call their limit and what counts
// towards it.
var versions = []struct{ most, used, prefix string }{
	{"memory.max", "memory.current", ""},
	{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_"},
}

// cached is the part of a group's memory that caches files. The kernel takes it back before
// the group reaches its limit.
func cached(stat, prefix string) (bytes int64) {
	for line := range strings.Lines(stat) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if key == prefix+"inactive_file" || key == prefix+"active_file" {
			n, _ := strconv.ParseInt(value, 10, 64)
			bytes += n
		}
	}
	return bytes
}
