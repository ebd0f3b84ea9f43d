package diagnosis

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTidy(t *testing.T) {
	got := tidy([]Evidence{
		{Text: "a/b: link went down once in the last hour"},
		{Text: "1 communicator that uses it is up to 30 % slower"},
		{Text: "a/b: port rate 12.5 GB/s against 50 GB/s", Decisive: true},
		{Text: "a/b: link went down once in the last hour, newest at 12:00:00", Decisive: true},
		{Text: "1 communicator that uses it is up to 30 % slower"},
	})
	require.Equal(t, []Evidence{
		{Text: "a/b: port rate 12.5 GB/s against 50 GB/s", Decisive: true},
		{Text: "a/b: link went down once in the last hour, newest at 12:00:00", Decisive: true},
		{Text: "1 communicator that uses it is up to 30 % slower"},
	}, got)
	require.Equal(t, "3 communicators that use it are up to 12 % slower", slowUsers(3, 0.12))
}
