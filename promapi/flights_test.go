package promapi

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestConcurrencyIsLimitedAndFlightsMerge(t *testing.T) {
	release := make(chan struct{})
	arrived := make(chan string, 100)
	f := newFake(t, reply{write: func(w http.ResponseWriter, r *http.Request) {
		arrived <- r.Form.Get("query")
		<-release
		_, _ = w.Write([]byte(answer("vector", oneSeries)))
	}})
	c := f.client(func(c *Config) { c.Limits.Concurrency = 2 })
	var wg sync.WaitGroup
	ask := func(expr string) {
		wg.Go(func() {
			var r Result
			if err := c.Instant(t.Context(), expr, evalTime, &r); err != nil || r.Len() != 1 {
				t.Errorf("%s: %v, %d series", expr, err, r.Len())
			}
		})
	}
	ask("same")
	<-arrived
	for range 10 {
		ask("same")
	}
	ask("b")
	<-arrived
	for _, expr := range []string{"c", "d", "e"} {
		ask(expr)
	}
	close(release)
	wg.Wait()
	require.LessOrEqual(t, f.peak, 2)
	same := 0
	for _, r := range f.requests() {
		if r.form.Get("query") == "same" {
			same++
		}
	}
	// Those who come after the first answer ask again.
	require.Less(t, same, 11)
}

func TestFollowersOutliveTheirLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fl flights
		giveUp := make(chan struct{})
		asked := 0
		go func() {
			err := fl.do(t.Context(), "k", new(Result), func() error {
				<-giveUp
				return context.Canceled
			})
			require.ErrorIs(t, err, context.Canceled)
		}()
		synctest.Wait()
		go func() {
			require.NoError(t, fl.do(t.Context(), "k", new(Result), func() error {
				asked++
				return nil
			}))
		}()
		synctest.Wait()
		require.Zero(t, asked, "it waits for the first")
		close(giveUp)
		synctest.Wait()
		require.Equal(t, 1, asked)
	})
}

func TestFollowersGetTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fl flights
		release := make(chan struct{})
		answers := make([]Result, 3)
		for i := range answers {
			go func() {
				err := fl.do(t.Context(), "k", &answers[i], func() error {
					<-release
					answers[i].Begin(7)
					answers[i].Add(1, 2)
					answers[i].Warnings = []string{"w"}
					return &Error{Class: ClassIncomplete}
				})
				require.Equal(t, ClassIncomplete, ClassOf(err))
			}()
			synctest.Wait()
		}
		hurried, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, fl.do(hurried, "k", new(Result), nil), context.Canceled)
		close(release)
		synctest.Wait()
		for _, r := range answers[1:] {
			require.Equal(t, answers[0], r)
		}
		answers[0].Samples[0].V = 99
		require.NotEqual(t, answers[0], answers[1], "each has its own memory")
	})
}
