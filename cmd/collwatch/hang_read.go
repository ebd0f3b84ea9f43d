package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/collwatch/collwatch/internal/flightrec"
)

// maxDump bounds one dump: a recorder with 100,000 entries writes less.
const maxDump = 256 << 20

// readDumps reads all dumps. Its error is about every file that cannot be read;
// a watchdog that kills a process while it writes leaves half a dump, and the
// others are worth as much without it.
func readDumps(paths []string) ([]*flightrec.Dump, error) {
	files, err := dumpFiles(paths)
	if err != nil {
		return nil, err
	}
	var dumps []*flightrec.Dump
	var errs []error
	from := map[int]string{}
	for _, f := range files {
		d, err := readDump(f)
		if err != nil {
			errs = append(errs, fmt.Errorf("hang: %s: %w", f, err))
			continue
		}
		if other, ok := from[d.Rank]; ok {
			return nil, fmt.Errorf("hang: %s and %s are both of rank %d: give one dump a rank, all of one hang", other, f, d.Rank)
		}
		from[d.Rank] = f
		dumps = append(dumps, d)
	}
	return dumps, errors.Join(errs...)
}

// dumpFiles lists the files, and those in the folders, links included: dumps of
// many hosts are often gathered as links.
func dumpFiles(paths []string) ([]string, error) {
	var files []string
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, fmt.Errorf("hang: %w", err)
		}
		if !info.IsDir() {
			files = append(files, p)
			continue
		}
		entries, err := os.ReadDir(p)
		if err != nil {
			return nil, fmt.Errorf("hang: %w", err)
		}
		before := len(files)
		for _, entry := range entries {
			f := filepath.Join(p, entry.Name())
			if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() {
				files = append(files, f)
			}
		}
		if len(files) == before {
			return nil, fmt.Errorf("hang: no file in folder %s: name the folder that the dumps are in, folders in it are not searched", p)
		}
	}
	return files, nil
}

func readDump(path string) (*flightrec.Dump, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := readBounded(f)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		if data, err = readBounded(z); err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
	}
	d, err := flightrec.Decode(data)
	if err != nil {
		return nil, err
	}
	return d, setRank(d, filepath.Base(path))
}

func readBounded(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxDump+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxDump {
		return nil, fmt.Errorf("larger than %d MB: that is no dump", maxDump>>20)
	}
	return data, nil
}

var (
	rankNumber = regexp.MustCompile(`(?i)rank[-_.]?(\d+)`)
	lastNumber = regexp.MustCompile(`(\d+)\D*$`)
)

// setRank takes the rank from the file's name, unless the dump has it. Only a
// member of all its groups can have written a dump: a wrong name of a file would
// become the name of a wrong rank, and without a number the groups may do.
func setRank(d *flightrec.Dump, name string) error {
	writers := d.Writers()
	if d.Rank < 0 {
		m := rankNumber.FindStringSubmatch(name)
		if m == nil {
			m = lastNumber.FindStringSubmatch(name)
		}
		switch {
		case m != nil:
			n, err := strconv.ParseInt(m[1], 10, 32)
			if err != nil {
				return fmt.Errorf("%s in the file's name is no rank", m[1])
			}
			d.Rank = int(n)
		case len(writers) == 1:
			d.Rank = writers[0]
		default:
			return errors.New("the file's name has no rank: name it after its rank, such as dump_3")
		}
	}
	if writers != nil && !slices.Contains(writers, d.Rank) {
		return fmt.Errorf("no dump of rank %d, who is not in all its groups: name the file after the rank that wrote it, such as dump_3", d.Rank)
	}
	return nil
}
