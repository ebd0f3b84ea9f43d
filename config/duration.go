package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
)

// Duration is a time span in the configuration. It is written as a string with
// units, "90s" or "1h30m" or "7d"; a bare number is refused, because everybody
// reads it in another unit.
type Duration time.Duration

// Std returns d as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String writes d so that UnmarshalText reads it back: "1h30m", "7d", "0s".
func (d Duration) String() string {
	if d < 0 || d%Duration(time.Millisecond) != 0 {
		return time.Duration(d).String()
	}
	return model.Duration(d).String()
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It takes what Prometheus
// takes (ms, s, m, h, d, w, y) and what Go takes ("1.5s").
func (d *Duration) UnmarshalText(text []byte) error {
	s := string(text)
	if std, err := time.ParseDuration(s); err == nil && s != "0" {
		*d = Duration(std)
		return nil
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return fmt.Errorf("duration %q has no unit: write %q or %q", s, s+"s", s+"m")
	}
	days, err := model.ParseDuration(strings.TrimPrefix(s, "-"))
	if err != nil {
		return fmt.Errorf("%q is not a duration: write a number with a unit, such as \"90s\", \"5m\" or \"1h30m\"", s)
	}
	if strings.HasPrefix(s, "-") {
		days = -days
	}
	*d = Duration(days)
	return nil
}

// Size is a number of bytes in the configuration, written as "256MB" or
// "64KiB": powers of 1000 without, of 1024 with the i.
type Size int64

// Bytes returns s as a plain number.
func (s Size) Bytes() int64 { return int64(s) }

var sizeUnits = []struct {
	name string
	size int64
}{
	{"TiB", 1 << 40},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"TB", 1e12},
	{"GB", 1e9},
	{"MB", 1e6},
	{"KB", 1e3},
	{"B", 1},
}

// String writes s with the largest unit that divides it.
func (s Size) String() string {
	best := sizeUnits[len(sizeUnits)-1]
	for _, u := range sizeUnits {
		if s != 0 && int64(s)%u.size == 0 && u.size > best.size {
			best = u
		}
	}
	return strconv.FormatInt(int64(s)/best.size, 10) + best.name
}

// MarshalText implements encoding.TextMarshaler.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Size) UnmarshalText(text []byte) error {
	in := strings.TrimSpace(string(text))
	for _, u := range sizeUnits {
		number, ok := strings.CutSuffix(in, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil {
			break
		}
		bytes := n * float64(u.size)
		if math.IsNaN(bytes) || math.Abs(bytes) >= math.MaxInt64 {
			return fmt.Errorf("size %q is too large", in)
		}
		*s = Size(bytes)
		return nil
	}
	return fmt.Errorf("%q is not a size: write a number with a unit, such as \"256MB\" or \"64KiB\"", in)
}

// Shard is the part of all jobs that this daemon looks at, written as "2/8".
// The zero value is all of them.
type Shard struct {
	// Index counts from 1.
	Index, Count int
}

// String writes s as it is read.
func (s Shard) String() string {
	if s.Count == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Count)
}

// MarshalText implements encoding.TextMarshaler.
func (s Shard) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Shard) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*s = Shard{}
		return nil
	}
	errForm := errors.New(`write the number of this shard and of all, such as "2/8"`)
	index, count, ok := strings.Cut(string(text), "/")
	if !ok {
		return fmt.Errorf("%q is not a shard: %w", text, errForm)
	}
	i, err1 := strconv.Atoi(index)
	n, err2 := strconv.Atoi(count)
	if err1 != nil || err2 != nil || i < 1 || i > n {
		return fmt.Errorf("%q is not a shard: %w", text, errForm)
	}
	*s = Shard{Index: i, Count: n}
	return nil
}
