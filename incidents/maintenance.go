package incidents

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"
)

// MaintenanceList knows the hosts and devices that must not alert: those of a
// file and those that the caller learned elsewhere, such as from the scheduler.
// Its methods may be called from any goroutine.
type MaintenanceList struct {
	path string

	mu    sync.Mutex
	sum   [sha256.Size]byte
	file  map[string]outage
	known map[string]string // from elsewhere: host or host/device to reason
}

// outage is one line of the file.
type outage struct {
	reason string
	until  time.Time // zero: until the line is removed
}

// NewMaintenanceList returns a list over a file; "" is none. Refresh reads it.
func NewMaintenanceList(path string) *MaintenanceList { return &MaintenanceList{path: path} }

// maxMaintenance bounds the file.
const maxMaintenance = 16 << 20

// Refresh reads the file again if its content changed. On an error the former
// content stays in force. Content and not time is compared, because mounted
// configuration is a symbolic link whose target changes.
func (l *MaintenanceList) Refresh() error {
	if l.path == "" {
		return nil
	}
	f, err := os.Open(l.path)
	if err != nil {
		return fmt.Errorf("maintenance: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxMaintenance+1))
	if err == nil && len(data) > maxMaintenance {
		err = fmt.Errorf("larger than %d bytes", maxMaintenance)
	}
	if err != nil {
		return fmt.Errorf("maintenance %s: %w", l.path, err)
	}
	sum := sha256.Sum256(data)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil && sum == l.sum {
		return nil
	}
	parsed, err := parseMaintenance(string(data))
	if err != nil {
		return fmt.Errorf("maintenance %s: %w", l.path, err)
	}
	l.file, l.sum = parsed, sum
	return nil
}

// parseMaintenance reads lines "host[/device] [until=RFC3339] [reason]"; # starts
// a comment. All mistakes are reported at once.
func parseMaintenance(text string) (map[string]outage, error) {
	out := map[string]outage{}
	var errs []error
	in := bufio.NewScanner(strings.NewReader(text))
	in.Buffer(nil, 64<<10)
	for n := 1; in.Scan(); n++ {
		line, _, _ := strings.Cut(in.Text(), "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		o := outage{}
		rest := words[1:]
		if len(rest) > 0 {
			if stamp, ok := strings.CutPrefix(rest[0], "until="); ok {
				at, err := time.Parse(time.RFC3339, stamp)
				if err != nil {
					errs = append(errs, fmt.Errorf("line %d: until must be like 2026-01-31T18:00:00Z, got %.40q", n, stamp))
					continue
				}
				o.until = at
				rest = rest[1:]
			}
		}
		o.reason = clip(Printable(strings.Join(rest, " ")), 200)
		if o.reason == "" {
			o.reason = "in maintenance"
		}
		out[thing(words[0])] = o
	}
	errs = append(errs, in.Err())
	return out, errors.Join(errs...)
}

// thing normalises "host/device" as signals do: lower case, no domain, no port.
// The device keeps its case.
func thing(name string) string {
	host, device, _ := strings.Cut(name, "/")
	if _, err := netip.ParseAddr(host); err != nil {
		host, _, _ = strings.Cut(host, ":")
		if _, err := netip.ParseAddr(host); err != nil {
			host, _, _ = strings.Cut(host, ".")
		}
	}
	host = strings.ToLower(host)
	if device != "" {
		return host + "/" + device
	}
	return host
}

// Set replaces what is known from elsewhere: host or host/device to the reason.
func (l *MaintenanceList) Set(reasons map[string]string) {
	known := make(map[string]string, len(reasons))
	for name, reason := range reasons {
		known[thing(name)] = reason
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = known
}

// Inherit takes over what another list knows, as after a reload: nobody is back
// in service because nobody has said anything yet. The content of a file counts
// for the same file only.
func (l *MaintenanceList) Inherit(from *MaintenanceList) {
	from.mu.Lock()
	path, sum, file, known := from.path, from.sum, from.file, from.known
	from.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = known
	}
	if l.file == nil && l.path == path {
		l.file, l.sum = file, sum
	}
}

// Reason says why a device, or its host, must not alert, "" if it may. It fits
// Options.Maintenance.
func (l *MaintenanceList) Reason(host, device string, at time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := []string{thing(host)}
	if device != "" {
		names = append(names, thing(host+"/"+device))
	}
	for _, name := range names {
		if o, ok := l.file[name]; ok && (o.until.IsZero() || at.Before(o.until)) {
			return o.reason
		}
		if reason := l.known[name]; reason != "" {
			return reason
		}
	}
	return ""
}
