package config

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// maxSecretFile bounds what is read from a secret file: a token is short, and a
// wrong path may be anything.
const maxSecretFile = 64 << 10

// SecretSource gives a secret that may rotate while the daemon runs.
type SecretSource interface {
	// Get returns the newest secret. Its error names the file and never the
	// content.
	Get() (Secret, error)
}

// SecretFile is a secret in a file that is read again when the file changes. A
// look costs one stat. It is safe for concurrent use.
type SecretFile struct {
	path string

	mu      sync.Mutex
	secret  Secret
	size    int64
	modTime time.Time
	loaded  bool
}

// NewSecretFile returns the secret in path; the file is first read by Get.
func NewSecretFile(path string) *SecretFile { return &SecretFile{path: path} }

// Path returns the file's path.
func (f *SecretFile) Path() string { return f.path }

// String names the file, never the content; without it fmt would print the
// fields.
func (f *SecretFile) String() string { return "file " + f.path }

// GoString is String.
func (f *SecretFile) GoString() string { return f.String() }

// Get returns the content without surrounding white space. A rotation that
// leaves size and time stamp alone is not seen; Reload sees it.
func (f *SecretFile) Get() (Secret, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if err != nil {
		return "", fmt.Errorf("secret file: %w", err)
	}
	if f.loaded && info.Size() == f.size && info.ModTime().Equal(f.modTime) {
		return f.secret, nil
	}
	return f.read(info)
}

// Reload reads the file whatever its time stamp says: for a server that just
// refused the secret.
func (f *SecretFile) Reload() (Secret, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if err != nil {
		return "", fmt.Errorf("secret file: %w", err)
	}
	return f.read(info)
}

func (f *SecretFile) read(info os.FileInfo) (Secret, error) {
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("secret file %s is not a regular file", f.path)
	}
	if info.Size() > maxSecretFile {
		return "", fmt.Errorf("secret file %s has %d bytes: that is no secret", f.path, info.Size())
	}
	content, err := os.ReadFile(f.path)
	if err != nil {
		return "", fmt.Errorf("secret file: %w", err)
	}
	secret := Secret(strings.TrimSpace(string(content)))
	if secret == "" {
		return "", fmt.Errorf("secret file %s is empty", f.path)
	}
	f.secret, f.size, f.modTime, f.loaded = secret, info.Size(), info.ModTime(), true
	return secret, nil
}

// inline is a secret that stands in the configuration.
type inline struct{ Secret }

func (s inline) Get() (Secret, error) { return s.Secret, nil }

// secretSource returns the secret given inline or by file, nil if there is
// none.
func secretSource(value Secret, file string) SecretSource {
	switch {
	case value != "":
		return inline{value}
	case file != "":
		return NewSecretFile(file)
	default:
		return nil
	}
}
