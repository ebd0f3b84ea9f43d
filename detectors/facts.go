package detectors

// facts lists the detectors of hard facts, counters and missing inputs.
func facts(o Options, s *shapes) []Detector {
	return []Detector{
		newTelemetry(), newHostEvents(), newPortState(), newLinkEvents(), newPortRate(), newPortErrors(o), newCongestion(), newTraffic(),
		newSwitchPorts(), newSwitchCounters(), newGPUClock(), newGPUHeat(), newXid(), newGPUHealth(), newVanish(), newGPUPCIe(),
		newNVLinkErrors(), newInside(), newHostPressure(), newWire(),
		s, newFallback(),
	}
}
