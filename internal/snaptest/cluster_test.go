package snaptest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/internal/snaptest"
	"github.com/collwatch/collwatch/signals"
)

func TestClusterRows(t *testing.T) {
	c := snaptest.New(snaptest.R16(), 1)
	nic := snaptest.NIC("gpu-007", "mlx5_3")

	s := c.Next()
	require.Nil(t, s.Frames[signals.NICECNReceived], "InfiniBand has no ECN here")
	require.Equal(t, 5e10, s.Get(signals.NICRate, nic))
	require.Zero(t, s.Frames[signals.GPUSMClock].Len(), "GPU series are new every second tick")

	c.Set(signals.NICRate, 1.25e10, nic)
	c.Add(signals.NICLinkDowned, 2, nic)
	s = c.Next()
	require.Equal(t, 1.25e10, s.Get(signals.NICRate, nic))
	id, ok := s.Entities.Find(nic)
	require.True(t, ok)
	require.Equal(t, 2.0, s.Frames[signals.NICLinkDowned].Delta[s.Frames[signals.NICLinkDowned].Row(id)])
	require.Equal(t, 128, s.Frames[signals.GPUSMClock].Len())

	c.Gone(signals.None, snaptest.GPU("gpu-001", 0))
	c.Next()
	require.Equal(t, 127, c.Next().Frames[signals.GPUSMClock].Len())
}

func TestClusterGroups(t *testing.T) {
	c := snaptest.New(snaptest.R16(), 1)
	s := c.Next()
	require.Len(t, s.Groups, 8+16)
	require.Len(t, s.GroupOf, 256)
	s = snaptest.New(snaptest.Q8(), 1).Next()
	require.Len(t, s.Groups, 1)
}
