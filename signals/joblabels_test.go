package signals_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
)

func TestJobLabelsAreThoseOfAllDialects(t *testing.T) {
	labels := signals.JobLabels()
	require.Subset(t, labels, []string{"slurm_job_id", "job_id", "jobid", "label_training_kubeflow_org_job_name"})
	require.IsIncreasing(t, labels)
	require.NotContains(t, labels, "job", "that is Prometheus' own label and names a scrape job")
	require.NotContains(t, labels, "-")
}
