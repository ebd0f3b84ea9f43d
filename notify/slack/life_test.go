package slack

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/diagnosis"
)

func TestOneIncidentIsOneMessageEditedInPlace(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.tick(4, down("gpu-007"))
		require.Len(t, r.visible(), 1)
		require.Zero(t, r.visible()[0].Edits, "not edited at each evaluation")
		worse := down("gpu-007")
		worse.Severity = diagnosis.Critical
		r.tick(4, worse)
		require.Equal(t, 1, r.visible()[0].Edits)
		require.Len(t, r.replies(), 1)
		require.True(t, r.replies()[0].Broadcast, "a rise is shown in the channel")
		r.tick(40)
		require.Len(t, r.visible(), 1)
		require.Equal(t, green, r.visible()[0].Color)
		require.Len(t, r.replies(), 2)
		golden(t, "life.txt", r.s.Transcript())
	})
}

func TestRestartNeitherDoublesNorLoses(t *testing.T) {
	in(t, func(t *testing.T) {
		r := newRig(t, nil)
		r.tick(4, down("gpu-007"))
		r.restart()
		r.tick(2, down("gpu-007"))
		require.Len(t, r.s.Messages(), 1)
		worse := down("gpu-007")
		worse.Severity = diagnosis.Critical
		r.m.Apply(&diagnosis.Result{Time: time.Now(), Whole: true, Verdicts: []diagnosis.Verdict{worse}})
		r.restart()
		time.Sleep(interval)
		r.tick(2, worse)
		require.Len(t, r.visible(), 1)
		require.Equal(t, red, r.visible()[0].Color)
		require.Len(t, r.replies(), 1)
	})
}
