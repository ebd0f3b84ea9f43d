package config

import (
	promconfig "github.com/prometheus/common/config"
)

// Client returns the settings as prometheus/common has them. Secrets that are
// given by file are read for each request, so that a rotation needs no reload.
// Never print or encode the result: the library's own types show secrets in
// some encodings.
func (h HTTPClient) Client() promconfig.HTTPClientConfig {
	c := promconfig.DefaultHTTPClientConfig
	c.FollowRedirects = h.FollowRedirects
	c.EnableHTTP2 = h.EnableHTTP2
	c.TLSConfig = h.TLS.client()
	c.ProxyConfig = promconfig.ProxyConfig{NoProxy: h.NoProxy, ProxyFromEnvironment: h.ProxyFromEnvironment}
	if !h.ProxyURL.IsZero() {
		c.ProxyURL = promconfig.URL{URL: h.ProxyURL.Reveal()}
	}
	if b := h.BasicAuth; b.isSet() {
		c.BasicAuth = &promconfig.BasicAuth{
			Username: b.Username, UsernameFile: b.UsernameFile,
			Password: promconfig.Secret(b.Password), PasswordFile: b.PasswordFile,
		}
	}
	if a := h.Authorization; a.isSet() {
		c.Authorization = &promconfig.Authorization{
			Type: a.Type, Credentials: promconfig.Secret(a.Credentials), CredentialsFile: a.CredentialsFile,
		}
	}
	if o := h.OAuth2; o.isSet() {
		c.OAuth2 = &promconfig.OAuth2{
			ClientID: o.ClientID, ClientSecret: promconfig.Secret(o.ClientSecret), ClientSecretFile: o.ClientSecretFile,
			Scopes: o.Scopes, EndpointParams: map[string]string{}, TLSConfig: o.TLS.client(), ProxyConfig: c.ProxyConfig,
		}
		for name, value := range o.EndpointParams {
			c.OAuth2.EndpointParams[name] = value.Reveal()
		}
		if u := o.TokenURL.Reveal(); u != nil {
			c.OAuth2.TokenURL = u.String()
		}
	}
	c.HTTPHeaders = h.headers()
	return c
}

func (h HTTPClient) headers() *promconfig.Headers {
	if len(h.Headers)+len(h.HeaderFiles) == 0 {
		return nil
	}
	all := make(map[string]promconfig.Header, len(h.Headers)+len(h.HeaderFiles))
	for name, value := range h.Headers {
		all[name] = promconfig.Header{Secrets: []promconfig.Secret{promconfig.Secret(value)}}
	}
	for name, file := range h.HeaderFiles {
		all[name] = promconfig.Header{Files: []string{file}}
	}
	return &promconfig.Headers{Headers: all}
}

func (t TLS) client() promconfig.TLSConfig {
	c := promconfig.TLSConfig{
		CAFile: t.CAFile, CertFile: t.CertFile, KeyFile: t.KeyFile,
		ServerName: t.ServerName, InsecureSkipVerify: t.InsecureSkipVerify,
	}
	if t.MinVersion != "" {
		c.MinVersion = promconfig.TLSVersions[t.MinVersion]
	}
	return c
}
