// Package sim is a cluster that never existed: it emits the series that real
// exporters would have emitted, with a known truth about what is broken.
//
// It exists because no public data has NIC, GPU and collective series under
// injected faults, and a diagnosis that cannot be measured cannot be trusted.
// Its worth lies in what it does not smooth over. Peers dump their windows on
// phases of their own, files freeze in a hang, a late rank has the least time,
// one slow NIC lowers the byte rate of all NICs, error codes stick for days,
// and scrapes get lost.
//
// A [Shape] says what the cluster looks like, a [JobSpec] what it trains, a
// [Fault] what goes wrong, a [Truth] what a diagnosis may say about it. A
// [Cluster] runs them into a [Sink]. [Scenarios] is the list of known cases;
// each can be built for other sizes, names, severities and seeds.
//
// The same seed gives the same bytes. Nothing in here reads a clock.
package sim
