package diagnosis

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFillCommand(t *testing.T) {
	const command = "mlxlink -d DEVICE -m"
	tests := []struct {
		name     string
		suspects []Suspect
		want     string
	}{
		{"one NIC", []Suspect{{Kind: "nic", Node: "n1", Device: "mlx5_3"}}, "mlxlink -d mlx5_3 -m"},
		{"nobody", nil, command},
		{"two NICs", []Suspect{{Kind: "nic", Device: "mlx5_2"}, {Kind: "nic", Device: "mlx5_3"}}, command},
		{"a GPU is no device of this command", []Suspect{{Kind: "gpu", Device: "GPU3"}}, command},
		{"a hostile name", []Suspect{{Kind: "nic", Device: "x; rm -rf /"}}, command},
		{"an option", []Suspect{{Kind: "nic", Device: "--help"}}, command},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := Verdict{Suspects: tt.suspects, Command: command}
			v.fillCommand()
			require.Equal(t, tt.want, v.Command)
		})
	}
}
