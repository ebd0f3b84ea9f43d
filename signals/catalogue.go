package signals

// Type says how the samples of a series have to be read, which is not always
// what the exporter declares.
type Type uint8

// The types of series.
const (
	// Gauge is a value at a moment.
	Gauge Type = iota
	// Counter only grows, apart from resets. Its row is a rate per second.
	Counter
	// CountingGauge is declared a gauge or untyped although it counts; it is
	// read like a Counter.
	CountingGauge
	// RateCounter is declared a counter although it is a rate; it is read
	// like a Gauge and may fall at any time.
	RateCounter
	// Increment holds what was added since the sample before.
	Increment
	// Info holds its message in labels; the value is 1.
	Info
)

var typeNames = [...]string{"gauge", "counter", "counting gauge", "rate declared as counter", "increment", "info"}

// String names the type for people.
func (t Type) String() string { return typeNames[t] }

func (t Type) counts() bool { return t == Counter || t == CountingGauge }

// Repair is a doubt about a unit that only the values can settle. It is
// decided once per signal, dialect and target.
type Repair uint8

// The repairs.
const (
	NoRepair Repair = iota
	// PercentOrRatio: a ratio that some sites export times 100. Values that
	// stay above 1.5 are percent.
	PercentOrRatio
	// NanoOrMicro: a time in ns or in µs. Its rate cannot exceed one second
	// per second, so a rate above 1e6 is ns; a rate that sits just below is µs.
	NanoOrMicro
	// MegaOrBase: MB/s that some sites multiply by 1e6 themselves. No NVLink
	// carries 5e6 MB/s, so more than that is B/s.
	MegaOrBase
)

var repairNames = [...]string{"", "percent or ratio", "ns or us", "MB/s or B/s"}

// String names the doubt.
func (r Repair) String() string { return repairNames[r] }

// Columns says which label of a series gives which field of an [Entity]. Each
// field lists alternatives in order, separated by "|"; the first label that
// is present and not empty counts. Labels joined by "+" are taken together.
type Columns struct {
	Host, Device, Port   string
	Job, Comm, Op, Size  string
	NRanks, NNodes, Rank string
	Algo, Version, Peer  string
	// UUID is a GPU's UUID, which leads to its host and index.
	UUID string
	// Process tells the processes of a job apart where no GPU does: a rank in
	// the job ("…rank") or a pid.
	Process string
	// Pod and Namespace name the workload's pod, which leads to its job.
	Pod, Namespace string
}

// Rule is the meaning of one metric in one dialect.
type Rule struct {
	// Metric is the metric's name, or an anchored regular expression if
	// Pattern is set.
	Metric  string
	Pattern bool
	// Where are further conditions: "label=value", "label" (present and not
	// empty) or "!label" (absent or empty).
	Where []string

	Signal ID
	// Kind is the kind of the entity; KindNone takes that of the dialect.
	Kind Kind
	Type Type
	// Scale multiplies raw values into the canonical unit; 0 means 1.
	Scale float64
	// Values maps raw values to canonical ones; others are dropped.
	Values map[float64]float64
	// Detail fills Entity.Detail. "{label}" is replaced by the value of a
	// label, "$1" by a group of the pattern.
	Detail string
	// Columns overrides those of the dialect field by field.
	Columns Columns

	Repair Repair
	// Max is the largest sane raw value, 0 for no limit. Negative values are
	// dropped wherever the dialect says so.
	Max float64
	// Saturates says that the counter stops at 2^32-1, which then means
	// "unknown".
	Saturates bool
	// Dumped says that the value is a mean over a window that is written to
	// a file and scraped again until the next one: only a new write is a new
	// value.
	Dumped bool
	// Second says that another metric of the dialect offers the same signal
	// better.
	Second bool
	// Join names the relation that the series feeds, see join.go.
	Join Join
	// Enable says what an operator has to switch on to get the series; empty
	// if it is there by default.
	Enable string
	// Note is for the catalogue page.
	Note string
}

// Dialect is one exporter's way to name signals. It is data: supporting a new
// exporter, or a new version that renames things, means writing a new one.
type Dialect struct {
	Name string
	// Exporter is the program, in the words of gaps and coverage.
	Exporter string
	// About tells a reader of the catalogue page where it comes from.
	About string
	// Family is the query it is read with.
	Family string
	// Rank orders dialects of one signal: the lowest wins for one entity.
	Rank uint8
	// Where holds for all rules, see Rule.Where.
	Where []string
	// Kind and Columns are the defaults of the rules.
	Kind    Kind
	Columns Columns
	// NonNegative drops negative values and DCGM's blanks above 9e18.
	NonNegative bool
	// Steady says that the rows are always there while the exporter is well,
	// so that their absence is a gap.
	Steady bool
	Rules  []Rule
}

// Catalogue lists the dialects in the order in which they are tried.
func Catalogue() []Dialect {
	return []Dialect{
		nodeHost(), nodeTextfile(), target(),
		slurm(), kube(), kubeNodes(),
		dcgm(),
		collwatchExporter(),
		inspectorG1(), inspectorG3(), inspectorG4(), inspectorG2(),
		nodeInfiniband(), efa(), efaCloudWatch(),
		rdmaExporter(), oci(), nodeEthtool(),
		nodeNetclass(), nodeNetdev(),
		treydock(), guilbaults(), cumulus(), snmp(),
		xpuTimer(), gpud(), nvsentinel(), ociHealth(),
	}
}
