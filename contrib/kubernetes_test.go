package contrib

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/collwatch/collwatch/config"
)

// kinds are the types that manifests are decoded into: an unknown or misspelt
// field is an error, as it is for a strict API server.
var kinds = map[string]func() any{
	"v1/ServiceAccount":        func() any { return &core.ServiceAccount{} },
	"v1/ConfigMap":             func() any { return &core.ConfigMap{} },
	"v1/PersistentVolumeClaim": func() any { return &core.PersistentVolumeClaim{} },
	"v1/Service":               func() any { return &core.Service{} },
	"v1/Pod":                   func() any { return &core.Pod{} },
	"apps/v1/Deployment":       func() any { return &apps.Deployment{} },
	"apps/v1/DaemonSet":        func() any { return &apps.DaemonSet{} },
	"monitoring.coreos.com/v1/ServiceMonitor": func() any { return &monitoring.ServiceMonitor{} },
	"monitoring.coreos.com/v1/PodMonitor":     func() any { return &monitoring.PodMonitor{} },
	"monitoring.coreos.com/v1/PrometheusRule": func() any { return &monitoring.PrometheusRule{} },
}

// manifests decodes the objects of a file strictly.
func manifests(t *testing.T, file string) (out []any) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var raw map[string]any
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err, file)
		kind := fmt.Sprintf("%v/%v", raw["apiVersion"], raw["kind"])
		require.Contains(t, kinds, kind, file)
		object := kinds[kind]()
		data, err := json.Marshal(raw)
		require.NoError(t, err)
		strict := json.NewDecoder(bytes.NewReader(data))
		strict.DisallowUnknownFields()
		require.NoError(t, strict.Decode(object), "%s: %s", file, kind)
		named, ok := object.(interface{ GetName() string })
		require.True(t, ok)
		require.Empty(t, content.IsDNS1123Subdomain(named.GetName()), "%s: name %q", file, named.GetName())
		out = append(out, object)
	}
}

// one returns the only object of a type in a file.
func one[T any](t *testing.T, file string) *T {
	t.Helper()
	var found []*T
	for _, o := range manifests(t, file) {
		if m, ok := o.(*T); ok {
			found = append(found, m)
		}
	}
	require.Len(t, found, 1, file)
	return found[0]
}

func TestManifestsDecode(t *testing.T) {
	files, err := filepath.Glob("kubernetes/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		require.NotEmpty(t, manifests(t, file), file)
	}
}

// TestPodsAreWhole: each mount names a volume, each probe a port and a path that
// is served, and nothing runs with rights that it does not need.
func TestPodsAreWhole(t *testing.T) {
	for file, spec := range map[string]core.PodSpec{
		"daemon":   one[apps.Deployment](t, "kubernetes/daemon.yaml").Spec.Template.Spec,
		"exporter": one[apps.DaemonSet](t, "kubernetes/exporter.yaml").Spec.Template.Spec,
		"training": one[core.Pod](t, "kubernetes/training-pod.yaml").Spec,
	} {
		t.Run(file, func(t *testing.T) {
			volumes := map[string]bool{}
			for _, v := range spec.Volumes {
				volumes[v.Name] = true
			}
			for _, c := range append(spec.InitContainers, spec.Containers...) {
				for _, m := range c.VolumeMounts {
					require.True(t, volumes[m.Name], "%s mounts %s", c.Name, m.Name)
				}
				ports := map[string]bool{}
				for _, p := range c.Ports {
					ports[p.Name] = true
				}
				for _, probe := range []*core.Probe{c.LivenessProbe, c.ReadinessProbe} {
					if probe != nil {
						require.Contains(t, []string{"/-/healthy", "/-/ready"}, probe.HTTPGet.Path)
						require.True(t, ports[probe.HTTPGet.Port.StrVal], "%s: probe of %s", c.Name, probe.HTTPGet.Port.StrVal)
					}
				}
			}
			if file == "training" {
				return // the user's own
			}
			c := spec.Containers[0]
			require.NotNil(t, c.LivenessProbe)
			require.NotNil(t, c.ReadinessProbe)
			require.NotZero(t, c.Resources.Limits.Memory().Value())
			require.False(t, *spec.AutomountServiceAccountToken, "neither asks Kubernetes for anything")
			require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem)
			require.False(t, *c.SecurityContext.AllowPrivilegeEscalation)
			require.Equal(t, []core.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop)
			user := c.SecurityContext.RunAsUser
			if user == nil {
				user = spec.SecurityContext.RunAsUser
			}
			require.NotNil(t, user)
			require.NotZero(t, *user, "root")
		})
	}
}

// TestDaemonManifestFitsTogether: the configuration is right, and what it names
// is mounted.
func TestDaemonManifestFitsTogether(t *testing.T) {
	const file = "kubernetes/daemon.yaml"
	pod := one[apps.Deployment](t, file).Spec.Template
	cfg, err := config.Parse("collwatch.toml", []byte(one[core.ConfigMap](t, file).Data["collwatch.toml"]))
	require.NoError(t, err)
	mounts := map[string]core.VolumeMount{}
	for _, m := range pod.Spec.Containers[0].VolumeMounts {
		mounts[m.MountPath] = m
	}
	state := mounts[cfg.Global.StateDir]
	require.NotEmpty(t, state.Name, "nothing is mounted at state_dir")
	require.False(t, state.ReadOnly)
	for _, v := range pod.Spec.Volumes {
		if v.Name == state.Name {
			require.Equal(t, one[core.PersistentVolumeClaim](t, file).Name, v.PersistentVolumeClaim.ClaimName)
		}
	}
	require.Equal(t, *pod.Spec.SecurityContext.RunAsUser, *pod.Spec.SecurityContext.FSGroup, "it may write its state")
	require.Contains(t, pod.Spec.Containers[0].Args, "--config=/etc/collwatch/collwatch.toml")

	service := one[core.Service](t, file)
	for k, v := range service.Spec.Selector {
		require.Equal(t, v, pod.Labels[k])
	}
	monitor := one[monitoring.ServiceMonitor](t, "kubernetes/monitors.yaml")
	for k, v := range monitor.Spec.Selector.MatchLabels {
		require.Equal(t, v, service.Labels[k])
	}
	require.Equal(t, service.Spec.Ports[0].Name, monitor.Spec.Endpoints[0].Port)

	exporter := one[apps.DaemonSet](t, "kubernetes/exporter.yaml").Spec.Template
	pods := one[monitoring.PodMonitor](t, "kubernetes/monitors.yaml")
	for k, v := range pods.Spec.Selector.MatchLabels {
		require.Equal(t, v, exporter.Labels[k])
	}
	require.Equal(t, exporter.Spec.Containers[0].Ports[0].Name, *pods.Spec.PodMetricsEndpoints[0].Port)
}

// TestPrometheusRuleDecodes generates the resources as the page beside the
// manifests says.
func TestPrometheusRuleDecodes(t *testing.T) {
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "run", "../cmd/collwatch", "rules", "generate", "--format", "crd", "--out", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	require.NoError(t, err)
	alerts := 0
	for _, file := range files {
		for _, o := range manifests(t, file) {
			rule, ok := o.(*monitoring.PrometheusRule)
			require.True(t, ok)
			for _, g := range rule.Spec.Groups {
				for _, r := range g.Rules {
					if r.Alert != "" {
						alerts++
					}
				}
			}
		}
	}
	require.Greater(t, alerts, 20)
}
