package slack

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
)

// unreachable says why there was no answer. Only errors that name a host, an
// address or a certificate are quoted: every other text may hold the URL, which
// is a secret for a webhook.
func unreachable(err error) string {
	if errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
		return "no answer in time"
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		return "no answer: " + name.Error()
	}
	if cert, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "no answer: " + cert.Error()
	}
	if network, ok := errors.AsType[*net.OpError](err); ok {
		network.Source = nil // another port each time: the log would take it for news
		return "no answer: " + network.Error()
	}
	return "no answer"
}

func isTimeout(err error) bool {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout()
}
