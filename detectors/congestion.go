package detectors

import "github.com/collwatch/collwatch/signals"

// newCongestion watches the counters that rise when traffic does not flow:
// credits, ECN, pause with its direction, and PCIe back pressure. They move
// with load, so the ratio is small and the floor does the work where the calm
// level is zero.
func newCongestion() Detector {
	return newRateWatch("congestion", []rateRule{
		{signals.NICTransmitWait, CodeTransmitWait, Congestion, 5e5, 4},
		{signals.NICECNReceived, CodeECN, Congestion, 1500, 8},
		{signals.NICCNPHandled, CodeECN, Congestion, 1500, 8},
		{signals.NICPauseRx, CodePauseRx, Congestion, 0.008, 5},
		{signals.NICPauseTx, CodePauseTx, Congestion, 0.04, 8},
		{signals.NICPCIeStall, CodePCIeStall, Congestion, 0.05, 5},
	})
}

// newSwitchCounters watches the same at switch ports.
func newSwitchCounters() Detector {
	return newRateWatch("switch_counters", []rateRule{
		{signals.SwitchPortTransmitWait, CodeSwitchWait, Congestion, 5e5, 4},
		{signals.SwitchPortECNMarked, CodeSwitchECN, Congestion, 1500, 8},
		{signals.SwitchPortDiscards, CodeSwitchDiscards, Errors, 50, 10},
		{signals.SwitchPortErrors, CodeSwitchErrors, Errors, 1, 10},
		{signals.SwitchPortPauseRx, CodePauseRx, Congestion, 0.008, 5},
		{signals.SwitchPortPauseTx, CodePauseTx, Congestion, 0.04, 8},
	})
}
