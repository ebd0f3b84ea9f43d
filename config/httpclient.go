package config

// HTTPClient are the settings of a client, as far as they are common to all
// servers. At most one of basic_auth, authorization and oauth2 may be set.
type HTTPClient struct {
	// Headers added to every request. Values are taken for secrets and never shown.
	Headers map[string]Secret `toml:"headers"`
	// Headers whose values are read from files, again after each change.
	HeaderFiles map[string]string `toml:"header_files" check:"file"`
	// Proxy to use.
	ProxyURL URL `toml:"proxy_url"`
	// Hosts, domains and networks to reach without the proxy, separated by commas.
	NoProxy string `toml:"no_proxy"`
	// Take the proxy from HTTP_PROXY, HTTPS_PROXY and NO_PROXY.
	ProxyFromEnvironment bool `toml:"proxy_from_environment"`
	// Follow redirects.
	FollowRedirects bool `toml:"follow_redirects"`
	// Offer HTTP/2.
	EnableHTTP2 bool `toml:"enable_http2"`
	// Login with name and password.
	BasicAuth BasicAuth `toml:"basic_auth"`
	// Login with a bearer token or another scheme of the Authorization header.
	Authorization Authorization `toml:"authorization"`
	// Login with a token from an OAuth 2.0 server, by client credentials.
	OAuth2 OAuth2 `toml:"oauth2"`
	// Certificates.
	TLS TLS `toml:"tls"`
}

func (h *HTTPClient) setDefaults() {
	h.FollowRedirects = true
	h.EnableHTTP2 = true
	h.Authorization.Type = "Bearer"
}

// BasicAuth is a name and a password.
type BasicAuth struct {
	// Name.
	Username string `toml:"username"`
	// File with the name.
	UsernameFile string `toml:"username_file" check:"file"`
	// Password. Better in a file.
	Password Secret `toml:"password"`
	// File with the password, read again after each change.
	PasswordFile string `toml:"password_file" check:"file"`
}

func (b BasicAuth) isSet() bool { return b != BasicAuth{} }

// Authorization is the content of an Authorization header.
type Authorization struct {
	// Scheme of the Authorization header.
	Type string `toml:"type"`
	// Token. Better in a file.
	Credentials Secret `toml:"credentials"`
	// File with the token, read again after each change.
	CredentialsFile string `toml:"credentials_file" check:"file"`
}

func (a Authorization) isSet() bool { return a.Credentials != "" || a.CredentialsFile != "" }

// OAuth2 is a login by client credentials.
type OAuth2 struct {
	// Id of this client.
	ClientID string `toml:"client_id"`
	// Secret of this client. Better in a file.
	ClientSecret Secret `toml:"client_secret"`
	// File with the secret, read again after each change.
	ClientSecretFile string `toml:"client_secret_file" check:"file"`
	// Address that gives out tokens.
	TokenURL URL `toml:"token_url"`
	// Scopes to ask for.
	Scopes []string `toml:"scopes"`
	// Further parameters of the request for a token. Values are taken for secrets.
	EndpointParams map[string]Secret `toml:"endpoint_params"`
	// Certificates for the token's server.
	TLS TLS `toml:"tls"`
}

func (o OAuth2) isSet() bool {
	return o.ClientID != "" || o.ClientSecret != "" || o.ClientSecretFile != "" || !o.TokenURL.IsZero()
}

// TLS are certificates and what to demand of the server's.
type TLS struct {
	// Certificates of the authorities to trust, in place of the system's.
	CAFile string `toml:"ca_file" check:"file"`
	// Certificate of this client.
	CertFile string `toml:"cert_file" check:"file"`
	// Key of this client's certificate.
	KeyFile string `toml:"key_file" check:"file"`
	// Name that the server's certificate must have, in place of the URL's.
	ServerName string `toml:"server_name"`
	// Accept any certificate. For tests only.
	InsecureSkipVerify bool `toml:"insecure_skip_verify"`
	// Lowest version of TLS to accept. Empty leaves it to the library.
	MinVersion string `toml:"min_version" check:"oneof=|TLS12|TLS13"`
}
