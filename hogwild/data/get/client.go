package get

import (
	"errors"
	"net"
	"net/http"
	"time"
)

// newClient goes through the proxy that HTTPS_PROXY or HTTP_PROXY names, checks certificates, and has no limit on the
// whole time of a download: see Getter.stall.
func newClient() *http.Client {
	return &http.Client{
		CheckRedirect: redirect,
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 20 * time.Second}).DialContext,
			TLSHandshakeTimeout: 20 * time.Second,
			ForceAttemptHTTP2:   true,
			DisableCompression:  true, // sizes, ranges and checksums are of the file as it is
		},
	}
}

// redirect follows a few redirections, and none that leaves TLS.
func redirect(r *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return finalError{errors.New("redirects more than 10 times")}
	}
	if via[len(via)-1].URL.Scheme == "https" && r.URL.Scheme != "https" {
		return finalError{errors.New("redirects from https to " + r.URL.Scheme + ", where anybody on the way can read and change it")}
	}
	return nil
}
