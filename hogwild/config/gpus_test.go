package config

import (
	"slices"
	"testing"
)

func TestReadGPUs(t *testing.T) {
	for text, want := range map[string]struct {
		indices []int
		choose  int
	}{
		"0": {[]int{0}, 0}, "3": {[]int{3}, 0}, "0,1": {[]int{0, 1}, 0}, "2, 0": {[]int{2, 0}, 0},
		"auto": {nil, 1}, "auto:1": {nil, 1}, "auto:8": {nil, 8},
	} {
		indices, choose, err := ReadGPUs(text)
		if err != nil || choose != want.choose || !slices.Equal(indices, want.indices) {
			t.Errorf("ReadGPUs(%q) = %v, %d, %v", text, indices, choose, err)
		}
	}
	for _, text := range []string{"", "x", "-1", "0,", ",", "0,0", "auto:", "auto:0", "auto2", "auto:x",
		"auto,1", "300"} {
		if indices, choose, err := ReadGPUs(text); err == nil {
			t.Errorf("ReadGPUs(%q) = %v, %d and no error", text, indices, choose)
		}
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0B": 0, "512MiB": 512 << 20, "4GiB": 4 << 30, "1.5 GiB": 3 << 29, "80GB": 80e9, "2TiB": 2 << 40,
		"7kB": 7000, "9B": 9,
	} {
		if got, ok := size(text); !ok || got != want {
			t.Errorf("size(%q) = %d, %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "4", "4096", "GiB", "-1GiB", "NaN", "InfGiB", "4GiBs", "4 apples", "1e30"} {
		if got, ok := size(text); ok {
			t.Errorf("size(%q) = %d, want none", text, got)
		}
	}
}
