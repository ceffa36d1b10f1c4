package get

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"hogwild/hogwild/config"
	"hogwild/internal/fault"
	"hogwild/internal/human"
)

// enough is what a request has to bring before its connection is cut, for another one to be made.
const enough = 1 << 20

// fetch appends to a part what it lacks. If what was there turns out to be of another file, it starts over.
func (g *Getter) fetch(ctx context.Context, f File, part *os.File) error {
	resumed := contents(part).Size() > 0
	if resumed && f.Sum != "" {
		if _, err := f.check(contents(part)); err == nil {
			return nil
		}
	}
	address, err := url.Parse(f.URL)
	if err != nil {
		return err
	}
	host := address.Host // without a password
	for {
		before := contents(part).Size()
		err := g.once(ctx, f, part)
		switch disk := (*fs.PathError)(nil); {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &disk):
			return err
		case err != nil && contents(part).Size() < before+enough:
			return fmt.Errorf("%s: %w", host, err)
		case err != nil:
			g.Note(fmt.Sprintf("%s: %v: continuing", f.Name, err))
			continue
		}
		sum, err := f.check(contents(part))
		if err == nil {
			if f.Sum == "" {
				g.Note(fmt.Sprintf("%s: not compared with a checksum; its sha256 is %s", f.Name, sum))
			}
			return nil
		}
		if e := part.Truncate(0); e != nil || !resumed {
			return fmt.Errorf("%s: sent %w", host, errors.Join(err, e))
		}
		resumed = false
		g.Note(f.Name + ": what was there is of another file: starting over")
	}
}

// once makes one request for the bytes that are missing. nil: the server has sent all that it has, or a part that
// does not fit and is empty now.
func (g *Getter) once(ctx context.Context, f File, part *os.File) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(g.stall, func() { cancel(fmt.Errorf("nothing came for %s", g.stall)) })
	defer timer.Stop()
	info, err := part.Stat()
	if err != nil {
		return err
	}
	answer, err := g.ask(ctx, f, info)
	if err != nil {
		return plain(ctx, err)
	}
	defer answer.Body.Close()
	have, total, span := info.Size(), answer.ContentLength, answer.Header.Get("Content-Range")
	switch code := answer.StatusCode; {
	case code == http.StatusOK:
		have = 0
	case code == http.StatusPartialContent && strings.HasPrefix(span, fmt.Sprintf("bytes %d-", have)):
	case code == http.StatusRequestedRangeNotSatisfiable && span == fmt.Sprintf("bytes */%d", have):
		return nil
	case have > 0 && (code == http.StatusPartialContent || code == http.StatusRequestedRangeNotSatisfiable):
		return part.Truncate(0)
	default:
		return fmt.Errorf("answers %s", answer.Status)
	}
	if total >= 0 {
		total += have
	}
	switch page := strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html"); {
	case f.Sum == "" && page && !strings.HasSuffix(f.Name, ".html"):
		return errors.New("sends a web page instead of the file")
	case f.Size > 0 && total >= 0 && total != f.Size:
		return fmt.Errorf("has a file of %s bytes, the published one has %s", human.Count(total), human.Count(f.Size))
	}
	if err := part.Truncate(have); err != nil {
		return err
	}
	modified := info.ModTime()
	if t, err := http.ParseTime(answer.Header.Get("Last-Modified")); err == nil {
		modified = t
	}
	defer os.Chtimes(part.Name(), modified, modified) // for the If-Range of the next request
	return plain(ctx, transfer(ctx, part, answer.Body, have, max(total, 0), func(done, total int64) {
		timer.Reset(g.stall)
		g.Progress(f.Name, done, total)
	}))
}

// ask sends the request for the bytes behind the part.
func (g *Getter) ask(ctx context.Context, f File, part os.FileInfo) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", "hogwild/"+config.Version)
	r.Header.Set("Accept-Encoding", "identity") // sizes, ranges and checksums are of the file as it is
	if part.Size() > 0 {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", part.Size()))
		if f.Sum == "" { // nothing else tells whether it is still the same file
			r.Header.Set("If-Range", part.ModTime().UTC().Format(http.TimeFormat))
		}
	}
	return g.client.Do(r)
}

// redirect follows a few redirections, and none that leaves TLS.
func redirect(r *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return errors.New("redirects more than 10 times")
	}
	if via[len(via)-1].URL.Scheme == "https" && r.URL.Scheme != "https" {
		return errors.New("redirects from https to " + r.URL.Scheme +
			", where anybody on the way can read and change it")
	}
	return nil
}

// plain returns an error without the request, which the message names otherwise; of a request that was given up why it
// was.
func plain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	if e := (*url.Error)(nil); errors.As(err, &e) {
		err = e.Err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the connection was cut")
	}
	if e := (*net.OpError)(nil); errors.As(err, &e) {
		err = fmt.Errorf("%w: check the connection; behind a proxy set HTTPS_PROXY", err)
	}
	return err
}

// transfer writes what it reads, tells how far it is, and ends when ctx does.
func transfer(ctx context.Context, to io.Writer, from io.Reader, done, total int64,
	progress func(done, total int64)) error {
	for buffer := make([]byte, 64<<10); ; {
		n, err := from.Read(buffer)
		full := fault.Point("download.write")
		if full == nil {
			_, full = to.Write(buffer[:n])
		}
		if full != nil {
			return fmt.Errorf("%w: make room", full)
		}
		if done += int64(n); done != total {
			progress(done, total)
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == io.EOF:
			progress(done, done)
			return nil
		case err != nil:
			return err
		}
	}
}

// contents reads a file from its start.
func contents(f *os.File) *io.SectionReader {
	size, _ := f.Seek(0, io.SeekEnd)
	return io.NewSectionReader(f, 0, size)
}

// check compares a file with its checksum, or only its size where none is published. It returns what the checksum is.
func (f File) check(r io.Reader) (sum string, err error) {
	kind, h := "sha256", sha256.New()
	if len(f.Sum) == 2*md5.Size {
		kind, h = "md5", md5.New()
	}
	n, err := io.Copy(h, r)
	sum = hex.EncodeToString(h.Sum(nil))
	switch {
	case err != nil:
	case n == 0:
		err = errors.New("an empty file")
	case f.Sum != "" && sum != f.Sum:
		err = fmt.Errorf("another file: its %s is %s, not %s", kind, sum, f.Sum)
	case f.Sum == "" && f.Size > 0 && n != f.Size:
		err = fmt.Errorf("another file: it has %s bytes, not %s", human.Count(n), human.Count(f.Size))
	}
	return sum, err
}
