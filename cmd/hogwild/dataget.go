package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data"
	"hogwild/hogwild/data/get"
	"hogwild/internal/human"
)

const dataGetHelp = `Usage: hogwild data get NAME... [--dir DIR] [--quiet]
       hogwild data get URL [--sha256 HEX] [--dir DIR] [--quiet]
       hogwild data get --list

Downloads public data sets, each to a folder with its name in the current folder (or in DIR),
where --data NAME finds it; or one file by its address. Licence or terms of use, and what to cite,
are shown first. Files are checked against their published checksum (rcv1 and news20 have none),
and have their name only when they are whole. The archives of a set, and .bz2, are unpacked.
What is there already is not downloaded again.

An interrupted download (Ctrl-C, a cut connection, a full disk) leaves NAME.part; the same command
continues it. Proxies are taken from HTTPS_PROXY, HTTP_PROXY and NO_PROXY, certificates from
SSL_CERT_FILE or the system.

FLAGS
Examples:
  hogwild data get --list
  hogwild data get mnist a9a
  hogwild train --data mnist/ --model mlp:128 --lr 0.1 --epochs 5
`

// Where no data are, errors say how to get them.
func init() { data.Hint = downloadHint }

func dataGetCommand() *cli.Command {
	var list, quiet bool
	var dir, sum string
	l := flagList{category: "Flags"}
	l.add(&list, "list", "list the data sets with their sizes, and download nothing")
	l.add(&dir, "dir", "`DIR` folder to put them in; default: the current folder")
	l.add(&sum, "sha256", "`HEX` checksum that the file at URL must have")
	l.add(&quiet, "quiet", "no progress")
	return verb(cli.Command{Name: "get", Usage: "download public data sets", ArgsUsage: strings.Join(get.Names(), "|"),
		Description: dataGetHelp, Flags: l.flags}, func(c *cli.Context, s *settings, args []string) error {
		if list {
			if err := s.only("list", "list"); err != nil || len(args) > 0 {
				return cmp.Or(err, usagef("list has no effect with a name: leave one of them out"))
			}
			return listSets(c.App.Writer)
		}
		sets, err := wantedSets(args, sum)
		if err != nil {
			return err
		}
		d := &downloads{live: human.NewLive(c.App.ErrWriter), quiet: quiet}
		defer d.close()
		g := get.New(dir)
		g.Progress, g.Note = d.step, d.print
		return getAll(c.App.Writer, g, d, sets, args[0], sum)
	})
}

// wantedSets returns the sets that are named; none if it is an address.
func wantedSets(args []string, sum string) (sets []get.Set, err error) {
	switch {
	case len(args) == 0:
		return nil, usagef("data get takes names of data sets, or an address: hogwild data get mnist; hogwild data " +
			"get --list lists them")
	case sum != "" && (len(args) > 1 || !isAddress(args[0])):
		return nil, usagef("sha256 is for one file by its address: hogwild data get https://... --sha256 %s",
			human.Name(sum))
	case sum != "" && !regexp.MustCompile(`^[0-9a-fA-F]{64}$`).MatchString(sum):
		return nil, usagef("sha256 %s: want 64 hexadecimal digits, as sha256sum prints them", human.Quote(sum))
	case len(args) == 1 && isAddress(args[0]):
		return nil, nil
	}
	for _, name := range args {
		set, ok := get.Find(strings.TrimSuffix(name, "/"))
		switch {
		case isAddress(name):
			return nil, usagef("%s is an address: download one address at a time, without names beside it",
				human.Name(name))
		case !ok:
			return nil, usagef("unknown data set %s%s (hogwild data get --list lists them)", human.Quote(name),
				human.Suggest("", name, get.Names()))
		}
		sets = append(sets, set)
	}
	return sets, nil
}

func isAddress(name string) bool { return strings.Contains(name, "://") }

// getAll downloads the sets, or the file at the address where there are none. It says on which terms, quiet or not, and
// what to do with them.
func getAll(out io.Writer, g *get.Getter, d *downloads, sets []get.Set, address, sum string) error {
	ctx, stop := config.UntilSignal(context.Background())
	defer stop()
	if sets == nil {
		r, err := g.URL(ctx, address, sum)
		if err != nil {
			return err
		}
		path := filepath.Join(r.Folder, r.Files[0])
		return d.result(out, path, r, commandLine("hogwild", "data", "info", path))
	}
	for _, set := range sets {
		d.print(fmt.Sprintf("%s: %s\n  terms  %s\n  cite   %s\n  see    %s", set.Name, set.About, set.Terms,
			set.Cite, set.Page))
		r, err := g.Set(ctx, set)
		if err != nil {
			return err
		}
		next := strings.TrimSpace(commandLine("hogwild", "train", "--data", r.Folder) + " " + set.Train)
		if err := d.result(out, human.Plural(len(r.Files), "file")+" in "+r.Folder, r, next); err != nil {
			return err
		}
	}
	return nil
}

// listSets writes a line for each set.
func listSets(out io.Writer) error {
	rows := facts{{"NAME", "DOWNLOAD", "WHAT"}}
	for _, s := range get.Sets() {
		bytes, over := int64(0), ""
		for _, f := range s.Files {
			if bytes += f.Size; f.Size == 0 {
				over = "over "
			}
		}
		rows = append(rows, []string{s.Name, over + get.Bytes(bytes), s.About})
	}
	return rows.write(out)
}

// downloadHint says how to get the data that are not at a path.
func downloadHint(path string) string {
	dir, name := filepath.Split(filepath.Clean(path))
	words := []string{"hogwild", "data", "get", name}
	switch _, known := get.Find(name); {
	case strings.HasPrefix(path, "https://"), strings.HasPrefix(path, "http://"):
		words[3] = path
	case !known:
		return ""
	case dir != "":
		words = append(words, "--dir", filepath.Clean(dir))
	}
	return "; `" + commandLine(words...) + "` downloads it"
}

// downloads shows how far downloads are: on a terminal by one live line, elsewhere by a line for each file
// that is done and for every ten seconds.
type downloads struct {
	live  human.Live
	quiet bool

	what         string    // is being done
	begun, drawn time.Time // it, and the last line
	first        int64     // bytes that were there when it began
}

// step takes in how far it is.
func (d *downloads) step(what string, done, total int64) {
	if d.quiet {
		return
	}
	now, every := time.Now(), 100*time.Millisecond
	if d.live.Size == nil {
		every = 10 * time.Second
	}
	if what != d.what {
		d.what, d.begun, d.drawn, d.first = what, now, now, done
	}
	switch {
	case done == total:
		d.print(fmt.Sprintf("%s  %s", what, get.Bytes(total)))
	case now.Sub(d.drawn) >= every:
		d.drawn = now
		d.draw(now.Sub(d.begun).Seconds(), done, total)
	}
}

// draw writes the line of what is not done.
func (d *downloads) draw(seconds float64, done, total int64) {
	text := d.what + "  " + get.Bytes(done)
	if total > 0 {
		text += fmt.Sprintf(" of %s  %3.0f%%", get.Bytes(total), 100*float64(done)/float64(total))
	}
	if rate := float64(done-d.first) / seconds; seconds > 0.5 && rate > 0 {
		text += "  " + human.Rate(rate) + "B/s"
		if total > 0 {
			text += "  " + human.Clock(float64(total-done)/rate) + " left"
		}
	}
	if d.live.Size == nil {
		d.print(text)
		return
	}
	columns, _ := d.live.Size()
	columns--
	if width := min(columns-len(text)-len("[]  "), 40); width >= 10 && total > 0 {
		full := min(int(float64(width)*float64(done)/float64(total)), width)
		text = "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "]  " + text
	}
	_ = d.live.Draw(nil, text)
}

// print writes lines in the place of the live one, quiet or not.
func (d *downloads) print(lines string) {
	d.close()
	fmt.Fprint(d.live.W, human.Shown(d.live.W, lines+"\n")) // a terminal that cannot be written to is no reason to stop
}

// close takes the live line away.
func (d *downloads) close() { _ = d.live.Draw(nil) }

// result says what is there now, and what to do with it.
func (d *downloads) result(out io.Writer, what string, r get.Result, next string) error {
	d.close()
	already := ""
	if !r.Fresh {
		already = ", already there"
	}
	_, err := fmt.Fprintf(out, "%s, %s%s\n\n    %s\n", what, get.Bytes(r.Bytes), already, next)
	return err
}
