package fakeslack_test

import (
	"errors"
	"strings"
	"testing"

	slackapi "github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/fakeslack"
)

func client(s *fakeslack.Server) *slackapi.Client {
	return slackapi.New(fakeslack.Token, slackapi.OptionAPIURL(s.URL()))
}

func text(t string) slackapi.MsgOption { return slackapi.MsgOptionText(t, false) }

func TestRefusesWhatSlackRefuses(t *testing.T) {
	s := fakeslack.Start(t)
	api := client(s)
	id, ts, err := api.PostMessageContext(t.Context(), "#gpu", text("one"))
	require.NoError(t, err)
	_, _, err = api.PostMessageContext(t.Context(), id, text("two"))
	limited, ok := errors.AsType[*slackapi.RateLimitedError](err)
	require.True(t, ok, "a second message within a second")
	require.NotZero(t, limited.RetryAfter)
	s.Pace(0)

	_, _, _, err = api.UpdateMessageContext(t.Context(), "gpu", ts, text("x"))
	require.EqualError(t, err, "channel_not_found", "an edit needs the id")
	_, _, _, err = api.UpdateMessageContext(t.Context(), id, "1.000009", text("x"))
	require.EqualError(t, err, "message_not_found")
	_, _, _, err = api.UpdateMessageContext(t.Context(), id, ts, text("edited"))
	require.NoError(t, err)
	_, _, err = api.PostMessageContext(t.Context(), id, text("reply"), slackapi.MsgOptionTS(ts))
	require.NoError(t, err)
	s.Delete(ts)
	_, _, _, err = api.UpdateMessageContext(t.Context(), id, ts, text("x"))
	require.EqualError(t, err, "message_not_found")
	_, _, err = api.PostMessageContext(t.Context(), id, text("reply"), slackapi.MsgOptionTS(ts))
	require.EqualError(t, err, "thread_not_found")

	s.Archive("#gpu", true)
	_, _, err = api.PostMessageContext(t.Context(), id, text("x"))
	require.EqualError(t, err, "is_archived")
	s.Rotate("xoxb-other")
	_, err = api.AuthTestContext(t.Context())
	require.EqualError(t, err, "invalid_auth")

	require.Len(t, s.Messages(), 2)
	require.Equal(t, 1, s.Messages()[0].Edits)
	require.True(t, s.Messages()[0].Deleted)
	require.Equal(t, ts, s.Messages()[1].Thread)
	require.Contains(t, s.Transcript(), "a person deletes #1")
}

func TestUploads(t *testing.T) {
	s := fakeslack.Start(t)
	s.Pace(0)
	api := client(s)
	id, ts, err := api.PostMessageContext(t.Context(), "#gpu", text("one"))
	require.NoError(t, err)
	up := slackapi.UploadFileParameters{Filename: "chart.png", FileSize: 4, Reader: strings.NewReader("1234"), Channel: id, ThreadTimestamp: ts, Title: "rates"}
	_, err = api.UploadFileContext(t.Context(), up)
	require.NoError(t, err)
	require.Contains(t, s.Messages()[1].Text, "chart.png")
	require.Equal(t, ts, s.Messages()[1].Thread)
	up.Reader = strings.NewReader("12345")
	_, err = api.UploadFileContext(t.Context(), up)
	require.ErrorContains(t, err, "file_not_found", "the size was another")
}

func TestCharts(t *testing.T) {
	s := fakeslack.Start(t)
	s.Pace(0)
	post := func(points int) error {
		var labels []string
		series := slackapi.DataVisualizationDataSeries{Name: "suspect"}
		for i := range points {
			label := strings.Repeat("x", i+1)
			labels = append(labels, label)
			series.Data = append(series.Data, slackapi.DataVisualizationDataPoint{Label: label, Value: 1})
		}
		chart := &slackapi.DataVisualizationBlock{
			Type: slackapi.MBTDataVisualization, Title: "rates",
			Chart: &slackapi.DataVisualizationLineChart{
				Type: slackapi.DataVisualizationChartLine, Series: []slackapi.DataVisualizationDataSeries{series},
				AxisConfig: slackapi.DataVisualizationAxisConfig{Categories: labels},
			},
		}
		_, _, err := client(s).PostMessageContext(t.Context(), "#gpu", text("x"), slackapi.MsgOptionBlocks(chart))
		return err
	}
	require.NoError(t, post(20))
	require.EqualError(t, post(21), "invalid_blocks")
	s.RefuseCharts()
	require.EqualError(t, post(20), "invalid_blocks")
}
