package get

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// hasBytes is how much has to come within the stall time, so that a server that sends a byte
// now and then is given up too.
const hasBytes = 4 << 10

// once makes one request for the bytes that are missing. nil: the server has sent all that it has.
func (j *job) once(ctx context.Context, address string, p *part) error {
	if p.have > 0 && j.Sum == "" && (p.from != address || p.version == "") {
		if err := p.restart("", ""); err != nil { // nothing would tell whether the parts fit together
			return err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(j.stall, func() { cancel(fmt.Errorf("nothing came for %s", j.stall)) })
	defer timer.Stop()
	answer, err := j.ask(ctx, address, p)
	if err != nil {
		return plain(ctx, err)
	}
	defer answer.Body.Close()
	end, err := j.accept(answer, address, p)
	if err != nil || p.have == end && answer.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		return err
	}
	return j.receive(ctx, answer.Body, end, timer, p)
}

// ask sends the request.
func (j *job) ask(ctx context.Context, address string, p *part) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, finalError{err}
	}
	r.Header.Set("User-Agent", j.UserAgent)
	if p.have > 0 {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", p.have))
		if p.from == address && p.version != "" {
			r.Header.Set("If-Range", p.version)
		}
	}
	return j.client.Do(r)
}

// receive appends what comes to the part. end is the size of the file, or -1.
func (j *job) receive(ctx context.Context, body io.Reader, end int64, timer *time.Timer, p *part) error {
	buffer, since := make([]byte, 64<<10), 0
	for {
		n, err := body.Read(buffer)
		if most := max(end, j.Size); most > 0 && p.have+int64(n) > most {
			return errors.Join(p.restart("", ""), finalError{fmt.Errorf("sends more than the %s bytes of the file", count(most))})
		}
		if e := p.write(buffer[:n]); e != nil {
			return e
		}
		if since += n; since >= hasBytes {
			timer.Reset(j.stall)
			since = 0
		}
		j.Watch(Step{j.Name, Downloading, p.have, max(end, 0)})
		switch {
		case err == io.EOF && j.Size > 0 && p.have < j.Size:
			return fmt.Errorf("sent %s of %s bytes", count(p.have), count(j.Size))
		case err == io.EOF:
			return nil
		case err != nil:
			return plain(ctx, err)
		}
	}
}

// plain is an error without the request, which the message names otherwise; of a request that was given up why it was.
func plain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if e := (*url.Error)(nil); errors.As(err, &e) {
		err = e.Err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the connection was cut")
	}
	return certain(err)
}
