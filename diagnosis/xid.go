package diagnosis

import "fmt"

// XidClass says what an Xid code means for the blame.
type XidClass uint8

// The classes of Xid codes.
const (
	// XidUnknown is a code nobody described: weak evidence, never alone.
	XidUnknown XidClass = iota
	// XidApplication is the job's own doing or a consequence of teardown.
	XidApplication
	// XidContained is a memory error that one process pays for; the GPU goes on.
	XidContained
	// XidMemory is a memory fault of this GPU.
	XidMemory
	// XidNVLink is a fault of an NVLink or of the domain behind it.
	XidNVLink
	// XidFatal is a bus or firmware fault: the GPU is gone or of no use.
	XidFatal
)

// String returns the words used in evidence.
func (x XidClass) String() string {
	return [...]string{"unknown", "application", "contained memory error", "memory fault", "NVLink fault", "fatal fault"}[x]
}

// Hardware says that a code of this class is hardware evidence by itself.
func (x XidClass) Hardware() bool { return x >= XidMemory }

// defaultXid is the table in public use (NVIDIA's Xid catalogue as sorted by
// the health checks of AWS and Azure). Codes that only one public list has stay
// unknown.
func defaultXid(code int) XidClass {
	switch code {
	case 13, 31, 43, 45:
		return XidApplication
	case 94:
		return XidContained
	case 48, 63, 64, 92, 95:
		return XidMemory
	case 74, 144, 145, 146, 147, 148, 149, 150:
		return XidNVLink
	case 61, 62, 79, 119, 120:
		return XidFatal
	}
	return XidUnknown
}

// xidDomain says that a code is of the family that a fault of an NVLink domain
// raises on many GPUs at once.
func xidDomain(code int) bool { return code == 74 || (code >= 144 && code <= 150) }

// xidAction is the recommended action by code, after the health check that AWS
// publishes for GPU clusters.
func xidAction(code int) string {
	switch code {
	case 79:
		return "reboot the host"
	case 48, 64, 74, 95, 119, 120:
		return "reset the GPU"
	case 154:
		return "do what the message of Xid 154 recommends"
	}
	return "watch this GPU and count repeats"
}

// xidClass is the class of a code with the operator's overrides.
func (c *Case) xidClass(code int) XidClass {
	if x, ok := c.opts.Xid[code]; ok {
		return x
	}
	return defaultXid(code)
}

// ParseXidClass reads the word by which a configuration names a class. What is
// weak, describes itself or is to be ignored never accuses.
func ParseXidClass(word string) (XidClass, error) {
	switch word {
	case "application", "ignore":
		return XidApplication, nil
	case "contained":
		return XidContained, nil
	case "memory":
		return XidMemory, nil
	case "nvlink":
		return XidNVLink, nil
	case "fatal":
		return XidFatal, nil
	case "weak", "self_describing":
		return XidUnknown, nil
	}
	return XidUnknown, fmt.Errorf("unknown class %q: use application, contained, memory, nvlink, fatal, self_describing, weak or ignore", word)
}
