package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/config"
)

// TestASettingIsOneRow: what stands in the table of settings is a flag, a key of files, a variable of the environment,
// in the help and in the completion, and its value is checked.
func TestASettingIsOneRow(t *testing.T) {
	value := 0
	group := &config.Groups()[0]
	was := group.Settings
	group.Settings = append(was[:len(was):len(was)], config.Setting{Name: "added-row", Usage: "`N` rows of the test",
		Words: []string{"3", "5"},
		Value: func(*config.Config) any { return &value }})
	defer func() { group.Settings = was }()

	said := func(args ...string) string {
		var out, err bytes.Buffer
		execute(args, &out, &err)
		return out.String() + err.String()
	}
	file := filepath.Join(t.TempDir(), "row.yaml")
	if err := os.WriteFile(file, []byte("added-row: 4\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ got, want string }{
		{said("help", "train", "all"), "--added-row N           rows of the test"},
		{said("help", "train", "added-row"), "rows of the test"},
		{said("complete", "--", "train", "--added-"), "--added-row"},
		{said("complete", "--", "train", "--added-row", ""), "5"},
		{said("train", "--added-row", "many"), `--added-row "many": want a whole number`},
		{said("train", "--added-row", "4"), `added-row "4": choose one of 3, 5`},
		{said("train", "--config", file), `row.yaml:1:1: added-row "4": choose one of 3, 5`},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%s does not say %s", c.got, c.want)
		}
	}
	t.Setenv(variable("added-row"), "4")
	if got := said("train"); !strings.Contains(got,
		"environment variable "+variable("added-row")+`: added-row "4": choose one of 3, 5`) {
		t.Errorf("of the environment: %s", got)
	}
}
