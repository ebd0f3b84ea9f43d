package config

import (
	"bytes"
	"fmt"

	"github.com/BurntSushi/toml"
)

// Masked returns the effective configuration as TOML, defaults included and
// secrets masked: what the page /config and check-config show.
func (c *Config) Masked() (string, error) {
	var b bytes.Buffer
	enc := toml.NewEncoder(&b)
	enc.Indent = ""
	if err := enc.Encode(c); err != nil {
		return "", fmt.Errorf("encode configuration: %w", err)
	}
	return b.String(), nil
}
