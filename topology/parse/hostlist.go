package parse

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Hostlist expands a Slurm host list such as "gpu-[001-004,006],login1". It
// fails without expanding anything if the list names more than limit hosts: one
// line can name a billion.
//
//	hostlist = item *( "," item )            commas inside [] belong to the item
//	item     = 1*( text / "[" range *( "," range ) "]" )
//	range    = num [ "-" num ]               width of the first number is the padding
func Hostlist(list string, limit int) ([]string, error) {
	items, err := splitItems(list)
	if err != nil {
		return nil, err
	}
	total := 0
	parsed := make([][]segment, 0, len(items))
	for _, item := range items {
		segs, n, err := parseItem(item, limit)
		if err != nil {
			return nil, err
		}
		if total += n; total > limit {
			return nil, fmt.Errorf("host list names more than %d hosts", limit)
		}
		parsed = append(parsed, segs)
	}
	out := make([]string, 0, total)
	for _, segs := range parsed {
		out = expand(out, "", segs)
	}
	return out, nil
}

// segment is a piece of an item: a text, or ranges of numbers.
type segment struct {
	text   string
	ranges []span
}

type span struct {
	first, last, width int
	letters            bool
}

func splitItems(list string) ([]string, error) {
	var items []string
	depth, start := 0, 0
	for i := 0; i < len(list); i++ {
		switch list[i] {
		case '[':
			if depth++; depth > 1 {
				return nil, errors.New("host list has a [ inside []")
			}
		case ']':
			if depth--; depth < 0 {
				return nil, errors.New("host list has a ] without [")
			}
		case ',':
			if depth == 0 {
				items = append(items, list[start:i])
				start = i + 1
			}
		}
	}
	if depth != 0 {
		return nil, errors.New("host list has a [ without ]")
	}
	items = append(items, list[start:])
	kept := items[:0]
	for _, it := range items {
		if it = strings.TrimSpace(it); it != "" {
			kept = append(kept, it)
		}
	}
	return kept, nil
}

// maxBrackets bounds the nesting of products in one item; Slurm itself knows
// few dimensions.
const maxBrackets = 8

func parseItem(item string, limit int) (segs []segment, n int, err error) {
	n = 1
	for item != "" {
		open := strings.IndexByte(item, '[')
		if open < 0 {
			return append(segs, segment{text: item}), n, nil
		}
		if open > 0 {
			segs = append(segs, segment{text: item[:open]})
		}
		end := strings.IndexByte(item, ']')
		ranges, count, err := parseRanges(item[open+1:end], limit)
		if err != nil {
			return nil, 0, err
		}
		if n *= count; n > limit {
			return nil, 0, fmt.Errorf("host list names more than %d hosts", limit)
		}
		if segs = append(segs, segment{ranges: ranges}); len(segs) > 2*maxBrackets {
			return nil, 0, fmt.Errorf("host list has more than %d pairs of brackets in one item", maxBrackets)
		}
		item = item[end+1:]
	}
	return segs, n, nil
}

func parseRanges(text string, limit int) (ranges []span, count int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		lo, hi, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			hi = lo
		}
		if letter(lo) && letter(hi) && lo[0] <= hi[0] {
			ranges = append(ranges, span{first: int(lo[0]), last: int(hi[0]), letters: true})
			if count += int(hi[0]-lo[0]) + 1; count > limit {
				return nil, 0, fmt.Errorf("host list names more than %d hosts", limit)
			}
			continue
		}
		a, err := number(lo)
		if err != nil {
			return nil, 0, err
		}
		b, err := number(hi)
		if err != nil {
			return nil, 0, err
		}
		if b < a {
			return nil, 0, fmt.Errorf("host range %s runs backwards", shorten(part))
		}
		if count += b - a + 1; count > limit {
			return nil, 0, fmt.Errorf("host list names more than %d hosts", limit)
		}
		ranges = append(ranges, span{first: a, last: b, width: len(lo)})
	}
	return ranges, count, nil
}

func letter(s string) bool {
	return len(s) == 1 && (s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z')
}

func number(s string) (int, error) {
	if len(s) == 0 || len(s) > 10 {
		return 0, fmt.Errorf("host range %q is no number", shorten(s))
	}
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, fmt.Errorf("host range %q is no number", shorten(s))
		}
	}
	return strconv.Atoi(s)
}

func expand(out []string, prefix string, segs []segment) []string {
	if len(segs) == 0 {
		return append(out, prefix)
	}
	seg := segs[0]
	if seg.ranges == nil {
		return expand(out, prefix+seg.text, segs[1:])
	}
	for _, r := range seg.ranges {
		for v := r.first; v <= r.last; v++ {
			num := strconv.Itoa(v)
			if r.letters {
				num = string(rune(v))
			}
			if pad := r.width - len(num); pad > 0 {
				num = strings.Repeat("0", pad) + num
			}
			out = expand(out, prefix+num, segs[1:])
		}
	}
	return out
}
