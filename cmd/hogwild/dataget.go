package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data/catalog"
	"hogwild/hogwild/data/get"
	"hogwild/internal/human"
)

const dataGetHelp = `Usage: hogwild data get NAME... [--dir DIR] [--quiet]
       hogwild data get URL [--sha256 HEX] [--dir DIR] [--quiet]
       hogwild data get --list

Downloads public data sets, each to a folder with its name in the current folder (or in DIR),
where --data NAME finds it; or one file by its address. Licence or terms of use, and what to cite,
are shown first. Files are checked against their published checksum (rcv1 and news20 have none:
their rows are counted), and have their name only when they are whole; SHA256SUMS in the folder
records them. Archives are unpacked. What is there already is checked, and not downloaded again.

An interrupted download (Ctrl-C, a cut connection) leaves NAME.part; the same command continues it.
Proxies are taken from HTTPS_PROXY, HTTP_PROXY and NO_PROXY, certificates from SSL_CERT_FILE or
the system.

FLAGS
Examples:
  hogwild data get --list
  hogwild data get mnist a9a
  hogwild train --data mnist/ --model mlp:128 --lr 0.1 --epochs 5
`

func dataGetCommand() *cli.Command {
	var list, quiet bool
	var dir, sum string
	l := flagList{category: "Flags"}
	l.bool(&list, "list", "list the data sets with their sizes, and download nothing")
	l.string(&dir, "dir", "`DIR` folder to put them in; default: the current folder")
	l.string(&sum, "sha256", "`HEX` checksum that the file at URL must have")
	l.bool(&quiet, "quiet", "no progress")
	return &cli.Command{
		Name: "get", Usage: "download public data sets", ArgsUsage: strings.Join(catalog.Names(), "|"), Description: dataGetHelp, Flags: l.flags,
		Action: action(func(c *cli.Context, s *settings, args []string) error {
			if list {
				if err := s.only("list", "list"); err != nil || len(args) > 0 {
					return errors.Join(err, noNames(args))
				}
				return listSets(c.App.Writer)
			}
			sets, err := wantedSets(args, sum)
			if err != nil {
				return err
			}
			d := newDownloads(c.App.ErrWriter, quiet)
			g := get.New(dir, "hogwild/"+config.Version)
			g.Watch, g.Note = d.step, d.note
			return getAll(c.App.Writer, g, d, sets, args, sum)
		}),
	}
}

func noNames(args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usagef("list has no effect with a name: leave one of them out")
}

// wantedSets are the sets that are named; none if it is an address.
func wantedSets(args []string, sum string) (sets []catalog.Set, err error) {
	switch {
	case len(args) == 0:
		return nil, usagef("data get takes names of data sets, or an address: hogwild data get mnist; hogwild data get --list lists them")
	case sum != "" && (len(args) > 1 || !isAddress(args[0])):
		return nil, usagef("sha256 is for one file by its address: hogwild data get https://... --sha256 %s", human.Name(sum))
	case sum != "" && !regexp.MustCompile(`^[0-9a-fA-F]{64}$`).MatchString(sum):
		return nil, usagef("sha256 %s: want 64 hexadecimal digits, as sha256sum prints them", human.Quote(sum))
	case len(args) == 1 && isAddress(args[0]):
		return nil, nil
	}
	for _, name := range args {
		set, ok := catalog.Find(strings.TrimSuffix(name, "/"))
		switch {
		case isAddress(name):
			return nil, usagef("%s is an address: download one address at a time, without names beside it", human.Name(name))
		case !ok:
			return nil, usagef("unknown data set %s%s (hogwild data get --list lists them)", human.Quote(name), human.Suggest("", name, catalog.Names()))
		}
		sets = append(sets, set)
	}
	return sets, nil
}

func isAddress(name string) bool { return strings.Contains(name, "://") }

// getAll downloads the sets, or the file at the address.
func getAll(out io.Writer, g *get.Getter, d *downloads, sets []catalog.Set, args []string, sum string) error {
	ctx, stop := config.UntilSignal(context.Background())
	defer stop()
	defer d.close()
	if sets == nil {
		r, err := g.URL(ctx, args[0], sum)
		d.close()
		if err != nil {
			return endOf(err)
		}
		return tell(out, filepath.Join(r.Folder, r.Files[0]), r, commandLine("hogwild", "data", "info", filepath.Join(r.Folder, r.Files[0])))
	}
	for _, set := range sets {
		d.terms(set)
		r, err := g.Set(ctx, set)
		d.close()
		if err != nil {
			return endOf(err)
		}
		next := strings.TrimSpace(commandLine("hogwild", "train", "--data", r.Folder) + " " + set.Train)
		if err := tell(out, human.Plural(len(r.Files), "file")+" in "+r.Folder, r, next); err != nil {
			return err
		}
	}
	return nil
}

// endOf is an error of a download. One of the address itself is a mistake of the user.
func endOf(err error) error {
	if errors.Is(err, get.ErrAddress) {
		return usagef("%v", err)
	}
	return err
}

// tell says what is there now, and what to do with it.
func tell(out io.Writer, what string, r get.Result, next string) error {
	already := ""
	if !r.Fresh {
		already = ", already there and checked"
	}
	_, err := fmt.Fprintf(out, "%s, %s%s\n\n    %s\n", what, get.Bytes(r.Bytes), already, next)
	return err
}

// listSets writes a line for each set.
func listSets(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tDOWNLOAD\tWHAT")
	for _, s := range catalog.Sets() {
		bytes, known := s.Size()
		size := get.Bytes(bytes)
		if !known {
			size = "over " + size
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, size, s.About)
	}
	return w.Flush()
}
