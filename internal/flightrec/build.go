package flightrec

import (
	"errors"
	"fmt"
)

// build makes tuples, lists and dicts out of what lies on the stack.
func (d *decoder) build(op byte) error {
	switch op {
	case 0x85, 0x86, 0x87:
		return d.tuple(int(op - 0x84))
	case 'a', 's':
		return d.one(op)
	}
	items, err := d.popMark()
	if err != nil {
		return err
	}
	switch op {
	case 't':
		d.push(items)
	case 'l':
		d.push(&list{items: items})
	case 'd':
		v := &dict{m: map[any]any{}}
		if err := v.set(items); err != nil {
			return err
		}
		d.push(v)
	case 'e':
		top, err := d.topList()
		if err != nil {
			return err
		}
		top.items = append(top.items, items...)
	case 'u':
		top, err := d.topDict()
		if err != nil {
			return err
		}
		return top.set(items)
	}
	return nil
}

// tuple makes a tuple of the n topmost objects.
func (d *decoder) tuple(n int) error {
	if len(d.stack) < n {
		return errors.New("the stack is too short")
	}
	at := len(d.stack) - n
	items := append([]any(nil), d.stack[at:]...)
	d.stack = d.stack[:at]
	d.push(items)
	return nil
}

// one appends one item to a list, or sets one item of a dict.
func (d *decoder) one(op byte) error {
	v, err := d.pop()
	if err != nil {
		return err
	}
	if op == 'a' {
		top, err := d.topList()
		if err != nil {
			return err
		}
		top.items = append(top.items, v)
		return nil
	}
	k, err := d.pop()
	if err != nil {
		return err
	}
	top, err := d.topDict()
	if err != nil {
		return err
	}
	return top.set([]any{k, v})
}

func (d *decoder) topList() (*list, error) {
	if len(d.stack) > 0 {
		if l, ok := d.stack[len(d.stack)-1].(*list); ok {
			return l, nil
		}
	}
	return nil, errors.New("no list on the stack")
}

func (d *decoder) topDict() (*dict, error) {
	if len(d.stack) > 0 {
		if m, ok := d.stack[len(d.stack)-1].(*dict); ok {
			return m, nil
		}
	}
	return nil, errors.New("no dict on the stack")
}

// set adds keys and values that lie in turn.
func (m *dict) set(items []any) error {
	if len(items)%2 != 0 {
		return errors.New("a key without a value")
	}
	for i := 0; i < len(items); i += 2 {
		switch items[i].(type) {
		case string, int64, bool, float64, nil:
			m.m[items[i]] = items[i+1]
		default:
			return fmt.Errorf("%T cannot be a key", items[i])
		}
	}
	return nil
}
