package sim

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
)

// Noise describes the randomness of a cluster. Defaults follow measurements on
// public traces of training jobs: compute per step varies by 0.6 to 2.6 % with a
// lag-1 autocorrelation of 0.6 to 0.9, transfer times by 0.3 to 4 %, and both
// have heavier tails than a normal distribution.
type Noise struct {
	ComputeCV float64 // per rank and step
	Phi       float64 // lag-1 autocorrelation of compute and transfer
	TailDF    int     // degrees of freedom of Student's t innovations, 0 is Gaussian
	// TransferCV is common to all members of a communicator: they end together.
	TransferCV float64
	// WindowCV is of one member's window mean, on top.
	WindowCV float64
	// GaugeCV is of gauges such as power.
	GaugeCV float64
	// ScrapeLoss is the share of scrapes that fail, 0 to 0.01.
	ScrapeLoss float64
}

// DefaultNoise is the noise of a tidy production cluster.
func DefaultNoise() Noise {
	return Noise{ComputeCV: 0.012, Phi: 0.5, TailDF: 5, TransferCV: 0.015, WindowCV: 0.01, GaugeCV: 0.02, ScrapeLoss: 0.001}
}

// Rough is the noise of a busy cluster with congestion and variable input.
func Rough() Noise {
	return Noise{ComputeCV: 0.02, Phi: 0.7, TailDF: 4, TransferCV: 0.04, WindowCV: 0.02, GaugeCV: 0.03, ScrapeLoss: 0.01}
}

// stream returns a generator of its own for one named part of the cluster, so
// that a fault in one place does not shift the noise of another.
func stream(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// innovation draws with unit variance: Gaussian, or t with df degrees of
// freedom, clipped at 8 so that one draw cannot be a fault of its own.
func innovation(r *rand.Rand, df int) float64 {
	n := r.NormFloat64()
	if df < 3 {
		return n
	}
	chi := 0.0
	for range df {
		g := r.NormFloat64()
		chi += g * g
	}
	t := n / math.Sqrt(chi/float64(df)) * math.Sqrt(float64(df-2)/float64(df))
	return max(-8, min(8, t))
}

// ar1 is a stationary autoregressive process of order one with unit variance.
type ar1 struct{ x float64 }

func (a *ar1) next(r *rand.Rand, phi float64, df int) float64 {
	a.x = phi*a.x + math.Sqrt(1-phi*phi)*innovation(r, df)
	return a.x
}

// factor is a multiplicative disturbance around 1 that stays positive.
func factor(r *rand.Rand, cv float64) float64 {
	if cv == 0 {
		return 1
	}
	return math.Exp(cv * r.NormFloat64())
}
