package signals_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/signals"
)

const (
	uuidA = "GPU-0a11c2d4-77b0-4e5f-9f21-5d0c6a7e1b22"
	world = "00000000c0ffee01"
)

// TestCollwatchExporter reads what the exporter of the plugin serves for a rank
// whose GPU is known and for ones whose GPU is not.
func TestCollwatchExporter(t *testing.T) {
	var s scrapes
	const (
		scrape = `instance="n1:9436",job="collwatch",node="n1"`
		member = scrape + `,comm="` + world + `",comm_name="world",nranks="3",n_nodes="1",job_id="7001"`
		known  = `{` + member + `,gpu="` + uuidA + `",rank="0"`
		ranked = `{` + member + `,rank="1",global_rank="5"`
		by     = `{` + member + `,rank="2",pid="4711"`
	)
	for _, who := range []string{known, ranked, by} {
		op := who + `,op="AllReduce",size_class="134217728",algo="RING",proto="SIMPLE"`
		s.add(`collwatch_nccl_ops_completed_total`+op+`}`, 9, linear(0, 150))
		s.add(`collwatch_nccl_ops_enqueued_total`+op+`}`, 9, linear(2, 150))
		s.add(`collwatch_nccl_ops_started_total`+op+`}`, 9, linear(1, 150))
		s.add(`collwatch_nccl_busy_seconds_total`+op+`,timing="gpu"}`, 9, linear(0, 3))
		s.add(`collwatch_nccl_bytes_total`+op+`}`, 9, linear(0, 1.5e10))
		s.add(`collwatch_nccl_inflight_ops`+who+`,state="running"}`, 9, always(1))
		s.add(`collwatch_nccl_oldest_inflight_age_seconds`+who+`,op="Recv",state="running"}`, 9, always(12))
		s.add(`collwatch_nccl_oldest_inflight_peer`+who+`,op="Recv",state="running"}`, 9, always(2))
		s.add(`collwatch_nccl_last_enqueued_seq`+who+`,op="AllReduce"}`, 9, linear(2, 150))
		s.add(`collwatch_nccl_last_completed_seq`+who+`,op="AllReduce"}`, 9, linear(0, 150))
		s.add(`collwatch_nccl_proxy_steps`+who+`,peer="2",direction="send",phase="wire"}`, 9, always(3))
	}
	s.add(`collwatch_nccl_process_up{`+scrape+`,job_id="7001",gpu="`+uuidA+`",pid="11"}`, 9, always(1))
	s.add(`collwatch_nccl_process_up{`+scrape+`,job_id="7001",global_rank="5",pid="12"}`, 9, always(0))
	s.add(`collwatch_nccl_process_stopped{`+scrape+`,job_id="7001",pid="4711"}`, 9, always(1))
	s.add(`DCGM_FI_DEV_SM_CLOCK{gpu="3",UUID="`+uuidA+`",Hostname="n1",instance="n1:9400",job="dcgm"}`, 9, always(1755))
	r := reader(t, load(t, s.b.String()), signals.Options{})
	r.Read(t.Context(), unix(t0))
	last := watch(t, r, t0+15, t0+8*15, nil)

	for device, rank := range map[string]int32{"GPU3": 1, "rank5": 2, "proc4711": 3} {
		e := signals.Entity{Kind: signals.KindComm, Host: "n1", Device: device, Job: "7001", Comm: world, NRanks: 3, NNodes: 1, Rank: rank}
		op := e
		op.Op, op.Size, op.Algo = "AllReduce", "128M", "ring_simple"
		require.InDelta(t, 10, last.Get(signals.CollOps, op), 1e-6, device)
		require.InDelta(t, 10, last.Get(signals.CollEnqueued, op), 1e-6, device)
		require.InDelta(t, 10, last.Get(signals.CollStarted, op), 1e-6, device)
		require.InDelta(t, 0.02, last.Get(signals.CollExecTime, op), 1e-6, "%s: 3 s in 150 operations", device)
		require.InDelta(t, 1.5e10/3*4/3, last.Get(signals.CollBusBandwidth, op), 1, device)
		at := func(op, detail, peer string) signals.Entity {
			x := e
			x.Op, x.Detail, x.Peer = op, detail, peer
			return x
		}
		require.Equal(t, 1.0, last.Get(signals.CollInflight, at("", "running", "")), device)
		require.Equal(t, 12.0, last.Get(signals.CollInflightAge, at("Recv", "running", "")), device)
		require.Equal(t, 2.0, last.Get(signals.CollInflightPeer, at("Recv", "running", "")), device)
		require.Equal(t, 1052.0, last.Get(signals.CollSequence, at("AllReduce", "enqueued", "")), device)
		require.Equal(t, 1050.0, last.Get(signals.CollSequence, at("AllReduce", "completed", "")), device)
		require.Equal(t, 3.0, last.Get(signals.ProxySteps, at("", "wire", "2")), device)
	}
	process := func(device, pid string) signals.Entity {
		return signals.Entity{Kind: signals.KindRank, Host: "n1", Job: "7001", Device: device, Detail: pid}
	}
	require.Equal(t, 1.0, last.Get(signals.ProcessUp, process("GPU3", "11")))
	require.Equal(t, 0.0, last.Get(signals.ProcessUp, process("rank5", "12")))
	require.Equal(t, 1.0, last.Get(signals.ProcessStopped, process("proc4711", "4711")))

	require.Len(t, last.Jobs, 1)
	require.Equal(t, []signals.Entity{gpu("n1", "GPU3")}, last.Jobs[0].GPUs, "a process is no GPU")
	named := func(device string) signals.Entity {
		return signals.Entity{Kind: signals.KindRank, Host: "n1", Job: "7001", Device: device}
	}
	require.Equal(t, []signals.Entity{named("rank5"), named("proc4711")}, last.Jobs[0].Ranks)
	require.Len(t, last.Groups, 1)
	require.Len(t, last.Groups[0].Members, 3)
	require.True(t, last.Groups[0].Whole)
}

// TestRASIsJoined: RAS knows communicators and ranks in them only. What the
// plugin shows of the same communicator tells which process that is.
func TestRASIsJoined(t *testing.T) {
	var s scrapes
	ras := func(comm string, rank int, host string) string {
		return fmt.Sprintf(`{instance="n0:9436",job="collwatch",node="n0",ras="localhost:28028",comm=%q,nranks="2",rank="%d",host=%q`, comm, rank, host)
	}
	s.add(`collwatch_nccl_ras_ops_launched_total`+ras(world, 0, "10.0.0.7")+`,op="AllReduce"}`, 9, linear(0, 10))
	s.add(`collwatch_nccl_ras_rank_missing{instance="n0:9436",job="collwatch",node="n0",comm="`+world+`",rank="1",state="dead"}`, 9, always(1))
	s.add(`collwatch_nccl_ras_ops_launched_total`+ras("00000000deadbeef", 0, "n7")+`,op="AllReduce"}`, 9, linear(0, 10))
	for rank, node := range []string{"n1", "n2"} {
		s.add(fmt.Sprintf(`collwatch_nccl_ops_completed_total{instance="%[1]s:9436",job="collwatch",node=%[1]q,comm=%[2]q,nranks="2",job_id="7001",rank="%[3]d",`+
			`global_rank="%[3]d",op="AllReduce",size_class="1024",algo="RING",proto="LL"}`, node, world, rank), 9, linear(0, 10))
	}
	r := reader(t, load(t, s.b.String()), signals.Options{})
	r.Read(t.Context(), unix(t0))
	last := watch(t, r, t0+15, t0+8*15, nil)
	counted := signals.Entity{Kind: signals.KindRank, Host: "n1", Device: "rank0", Job: "7001", Comm: world, Op: "AllReduce", NRanks: 2, Rank: 1}
	require.Equal(t, 70.0, last.Get(signals.RASCount, counted), "the address that RAS gives is replaced")
	missing := signals.Entity{Kind: signals.KindRank, Host: "n2", Device: "rank1", Job: "7001", Comm: world, Rank: 2, Detail: "dead"}
	require.Equal(t, 1.0, last.Get(signals.RASMissing, missing), "RAS gives no host for a rank that it does not reach")
	alone := signals.Entity{Kind: signals.KindRank, Host: "n7", Device: "member0", Comm: "00000000deadbeef", Op: "AllReduce", NRanks: 2, Rank: 1}
	require.Equal(t, 70.0, last.Get(signals.RASCount, alone), "another plugin has the slot there")
	for _, node := range []string{"n0"} {
		for _, e := range []signals.Entity{counted, alone} {
			e.Host = node
			require.True(t, math.IsNaN(last.Get(signals.RASCount, e)), "the node that asked is none of the job's")
		}
	}
	require.Len(t, last.Jobs, 1)
	require.Len(t, last.Jobs[0].Ranks, 2)
	require.Equal(t, []string{"n1", "n2"}, last.Jobs[0].Hosts)
}

func TestThingOfAProcess(t *testing.T) {
	comm := signals.Entity{Kind: signals.KindComm, Host: "n1", Job: "7", Comm: "c", Device: "rank3", Op: "AllReduce", Rank: 1}
	require.Equal(t, signals.Entity{Kind: signals.KindRank, Host: "n1", Job: "7", Device: "rank3"}, comm.Thing())
	require.Equal(t, comm.Thing(), comm.Thing().Thing())
	comm.Device = "member3"
	require.Equal(t, signals.Entity{Kind: signals.KindRank, Host: "n1", Job: "7", Comm: "c", Device: "member3"}, comm.Thing())
	for _, gpu := range []string{"GPU3", "rankled", "rank", "process1", "pidx", "mlx5_3"} {
		comm.Device = gpu
		require.Equal(t, signals.KindGPU, comm.Thing().Kind, gpu)
	}
	comm.Device = ""
	require.Equal(t, signals.KindHost, comm.Thing().Kind)
}
