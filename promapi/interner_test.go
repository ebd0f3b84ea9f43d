package promapi

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestInternerIsAMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := NewInterner()
		byText := make(map[string]Ref)
		word := rapid.SampledFrom([]string{"", "a", "b", "c", "Node", "__name__", "é", "a,b"})
		for range rapid.IntRange(1, 60).Draw(rt, "sets") {
			m := rapid.MapOf(word, word).Draw(rt, "labels")
			var ls Labels
			for n, v := range m {
				ls = append(ls, Label{n, v}) // in any order
			}
			ref := in.Intern(ls)
			slices.SortFunc(ls, byName)
			text := fmt.Sprintf("%q", []Label(ls))
			if known, ok := byText[text]; ok {
				require.Equal(rt, known, ref)
			} else {
				require.EqualValues(rt, len(byText), ref, "numbers are dense")
				byText[text] = ref
			}
			require.Equal(rt, text, fmt.Sprintf("%q", []Label(in.Labels(ref))))
			for n, v := range m {
				require.Equal(rt, v, in.Get(ref, n))
			}
			require.Empty(rt, in.Get(ref, "none"))
		}
		require.Equal(rt, len(byText), in.Len())
	})
}

func TestInternerGrows(t *testing.T) {
	in := NewInterner()
	set := func(i int) Labels { return Labels{{"__name__", "m"}, {"i", fmt.Sprint(i)}} }
	const n = 5000
	for i := range n {
		require.EqualValues(t, i, in.Intern(set(i)))
	}
	for i := range n {
		require.EqualValues(t, i, in.Intern(set(i)))
		require.Equal(t, set(i), in.Labels(Ref(i)))
	}
}

func TestInternerKeepsNoForeignMemory(t *testing.T) {
	in := NewInterner()
	buf := []byte("value")
	ref := in.Intern(Labels{{"name", bytesAsString(buf)}})
	copy(buf, "XXXXX")
	require.Equal(t, "value", in.Get(ref, "name"))
}

func TestInternerIsReadWhileItGrows(t *testing.T) {
	in := NewInterner()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 3000 {
				ref := in.Intern(Labels{{"i", fmt.Sprint((i * (w + 1)) % 3000)}})
				if got := in.Labels(ref).Get("i"); got != fmt.Sprint((i*(w+1))%3000) {
					t.Errorf("label of %d is %q", ref, got)
					return
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, 3000, in.Len())
}

func TestRenew(t *testing.T) {
	in := NewInterner()
	in.Intern(Labels{{"old", "one"}})
	in.Intern(Labels{{"old", "two"}})
	epoch := in.Epoch()
	in.Renew()
	require.NotEqual(t, epoch, in.Epoch())
	require.Zero(t, in.Len())
	require.Zero(t, in.Intern(Labels{{"new", "one"}}))
}

// A decoder notices a new epoch, and that of another request too.
func TestRefCacheFollowsTheEpoch(t *testing.T) {
	in := NewInterner()
	cache := newRefCache(in)
	d1, d2 := newDecoder(cache), newDecoder(cache)
	text := answer("vector", `[{"metric":{"a":"1"},"value":[1,"1"]},{"metric":{"a":"2"},"value":[1,"1"]}]`)
	var r Result
	for range 3 {
		for _, d := range []*decoder{d1, d2} {
			require.NoError(t, d.decode(strings.NewReader(text), &r))
			require.Equal(t, []row{{`{a="1"}`, []string{"1000 1"}}, {`{a="2"}`, []string{"1000 1"}}}, show(in, &r))
		}
		in.Renew()
		in.Intern(Labels{{"another", "one"}})
	}
}

func TestRefCacheIsBounded(t *testing.T) {
	in := NewInterner()
	cache := newRefCache(in)
	d := newDecoder(cache)
	var b strings.Builder
	for range 3 { // one label set, written in ever new ways
		b.Reset()
		for i := range rawSlack {
			fmt.Fprintf(&b, `,{"metric":{"a":"1"%*s},"value":[1,"1"]}`, i%400+d.cache.table.Load().entries.len()%7, "")
		}
		require.NoError(t, d.decode(strings.NewReader(answer("vector", "["+b.String()[1:]+"]")), new(Result)))
	}
	require.Equal(t, 1, in.Len())
	for i := range 2 * rawSlack {
		cache.add(rawKey{uint64(i), 1}, Labels{{"a", "1"}})
	}
	require.LessOrEqual(t, cache.table.Load().entries.len(), rawSlack+rawPerRef+1)
}

func TestRefCacheConcurrently(t *testing.T) {
	cache := newRefCache(NewInterner())
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, `,{"metric":{"i":"%d"},"value":[1,"%d"]}`, i, i)
	}
	text := answer("vector", "["+b.String()[1:]+"]")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var r Result
			if err := newDecoder(cache).decode(strings.NewReader(text), &r); err != nil {
				t.Error(err)
			}
			for i, ref := range r.Refs {
				if cache.in.Get(ref, "i") != fmt.Sprint(r.Of(i)[0].V) {
					t.Errorf("series %d has the labels of another", i)
					return
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, 3000, cache.in.Len())
}
