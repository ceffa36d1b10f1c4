package get

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// certain makes an error final that is no matter of time.
func certain(err error) error {
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var name *net.DNSError
	switch {
	case errors.As(err, &certificate), errors.As(err, &authority):
		return finalError{err}
	case errors.As(err, &name) && name.IsNotFound:
		return finalError{fmt.Errorf("%w: check the connection; behind a proxy set HTTPS_PROXY", err)}
	}
	return err
}

// accept decides what the answer is, and sets the part's end to where the body belongs. end is the size of the
// whole file, -1 if the server does not tell.
func (j *job) accept(answer *http.Response, address string, p *part) (end int64, err error) {
	version := versionOf(answer)
	switch answer.StatusCode {
	case http.StatusPartialContent:
		from, total, ok := contentRange(answer.Header.Get("Content-Range"))
		if !ok || from != p.have || p.from == address && p.version != "" && version != "" && version != p.version {
			return 0, errors.Join(p.restart("", ""), errors.New("sent another part of the file than asked for"))
		}
		return total, j.fits(total)
	case http.StatusOK:
		if p.have > 0 {
			j.Note(fmt.Sprintf("%s: %s sends it from the start: it has changed, or the server cannot continue", j.Name, host(address)))
		}
		if kind := answer.Header.Get("Content-Type"); j.Sum == "" && strings.HasPrefix(kind, "text/html") && !strings.HasSuffix(j.Name, ".html") {
			return 0, finalError{errors.New("sends a web page instead of the file")}
		}
		if err := j.fits(answer.ContentLength); err != nil {
			return 0, err
		}
		return answer.ContentLength, p.restart(address, version)
	case http.StatusRequestedRangeNotSatisfiable:
		if _, total, ok := contentRange(answer.Header.Get("Content-Range")); ok && total == p.have {
			return total, j.fits(total)
		}
		return 0, errors.Join(p.restart("", ""), statusError{text: answer.Status})
	}
	refused := statusError{text: answer.Status}
	switch code := answer.StatusCode; {
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code >= 500:
		if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil {
			refused.after = time.Duration(min(max(seconds, 0), 60)) * time.Second
		}
		return 0, refused
	}
	return 0, finalError{refused}
}

// fits refuses a file of another size than the published one. The part stays: another mirror may continue it.
func (j *job) fits(size int64) error {
	if size < 0 || j.Size == 0 || size == j.Size {
		return nil
	}
	return finalError{fmt.Errorf("has a file of %s bytes, the published one has %s", count(size), count(j.Size))}
}

// versionOf is what If-Range takes: the tag of exactly these bytes, else the time of the last change.
func versionOf(answer *http.Response) string {
	if tag := answer.Header.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		return tag
	}
	return answer.Header.Get("Last-Modified")
}

// contentRange reads "bytes 100-199/200", or "bytes */200", of which from is -1. total is -1 where it is "*".
func contentRange(text string) (from, total int64, ok bool) {
	text, ok = strings.CutPrefix(text, "bytes ")
	span, size, found := strings.Cut(text, "/")
	if !ok || !found {
		return 0, 0, false
	}
	from, total = -1, -1
	var errs [2]error
	if first, _, _ := strings.Cut(span, "-"); span != "*" {
		from, errs[0] = strconv.ParseInt(first, 10, 64)
	}
	if size != "*" {
		total, errs[1] = strconv.ParseInt(size, 10, 64)
	}
	return from, total, errs[0] == nil && errs[1] == nil
}
