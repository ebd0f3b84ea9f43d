package detectors

// facts lists the detectors of hard facts, counters and missing inputs.
func facts() []Detector {
	return []Detector{
		newTelemetry(), newHostEvents(), newPortState(), newLinkEvents(), newPortRate(), newPortErrors(), newCongestion(), newTraffic(),
		newSwitchPorts(), newSwitchCounters(), newGPUClock(), newGPUHeat(), newXid(), newGPUHealth(), newVanish(), newGPUPCIe(),
		newNVLinkErrors(), newInside(), newHostPressure(),
		newShapes(), newFallback(),
	}
}
