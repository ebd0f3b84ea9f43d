package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// header is the first line of each file.
type header struct {
	Collwatch string    `json:"collwatch"` // what the file holds
	Schema    int       `json:"schema"`
	Saved     time.Time `json:"saved"`
	Bytes     int       `json:"bytes"`
	SHA256    string    `json:"sha256"`
}

// ErrNewer is the error for a file of a later version of collwatch.
var ErrNewer = errors.New("written by a newer version")

// maxHeader bounds the first line.
const maxHeader = 1024

// seal puts the header before the data.
func seal(name string, schema int, data []byte, now time.Time) ([]byte, error) {
	sum := sha256.Sum256(data)
	line, err := json.Marshal(header{name, schema, now.UTC(), len(data), hex.EncodeToString(sum[:])})
	if err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{line, data}, []byte{'\n'}), nil
}

// unseal checks the header and returns the data.
func unseal(name string, schema int, file []byte) (int, []byte, error) {
	first, _, found := bytes.Cut(file[:min(len(file), maxHeader)], []byte{'\n'})
	if !found {
		return 0, nil, errors.New("no first line: empty or cut")
	}
	data := file[len(first)+1:]
	var h header
	if err := json.Unmarshal(first, &h); err != nil {
		return 0, nil, fmt.Errorf("first line: %w", err)
	}
	sum := sha256.Sum256(data)
	switch {
	case h.Collwatch != name:
		return 0, nil, fmt.Errorf("holds %.40q, not %q", h.Collwatch, name)
	case h.Schema > schema:
		return 0, nil, fmt.Errorf("schema %d, this version knows %d: %w", h.Schema, schema, ErrNewer)
	case h.Schema < 1:
		return 0, nil, fmt.Errorf("schema %d never existed", h.Schema)
	case h.Bytes != len(data):
		return 0, nil, fmt.Errorf("cut: %d bytes of %d", len(data), h.Bytes)
	case h.SHA256 != hex.EncodeToString(sum[:]):
		return 0, nil, errors.New("checksum does not match")
	}
	return h.Schema, data, nil
}
