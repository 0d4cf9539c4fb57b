package world_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"daybreak/bench/sim/world"
)

// Twenty seconds of seeds, more where the machine is quick.
func TestSeedsKeepTheGuarantees(t *testing.T) {
	runs, seed := 0, uint64(1)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end) || seed <= 20; seed++ {
		out := world.Run(t, seed, "", nil)
		require.Empty(t, out.Violated, "seed %d: go run ./bench/sim -seed %d -trace", seed, seed)
		runs += out.Runs
	}
	require.Greater(t, runs, int(seed), "days were computed")
	t.Logf("%d seeds, %d runs", seed-1, runs)
}

func TestASeedIsTheSameEveryTime(t *testing.T) {
	for seed := uint64(1000); seed < 1050; seed++ {
		first, again := world.Run(t, seed, "", nil), world.Run(t, seed, "", nil)
		require.Equal(t, first, again, "seed %d: compare two runs of: go run ./bench/sim -seed %d -trace", seed, seed)
	}
}

// A guarantee whose mechanism is taken away must be seen to break, by the checker that the guarantee has.
func TestEveryMutantIsCaught(t *testing.T) {
	guarantees := map[world.Mutant]string{
		world.NoFence: "G1", world.NoCAS: "G1", world.LongTrust: "G1", world.NoCommitRow: "G3", world.NoCascade: "G2",
		world.NoCarryOver: "G4", world.NoFinish: "G5", world.SameNudgeID: "G2", world.NoOrder: "G6", world.LossyBlind: "G3",
		world.NoRecount: "G7", world.BadBlocks: "G8", world.HalfLoaded: "G8", world.NoControl: "G8", world.NoCap: "G2",
		world.NewestFirst: "G2", world.SoundSleeper: "G2", world.Unheard: "G2",
	}
	for _, mutant := range world.Mutants {
		if guarantee, ok := guarantees[mutant]; ok {
			t.Log(mutant, "caught by seed", caughtBy(t, mutant, guarantee))
		}
	}
	require.Len(t, world.Mutants, len(guarantees)+2, "the others are below")
}

// What the product catches by itself never becomes a wrong green (G7): a compare that loses groups is stopped by recon's
// own assertion, and where that is blind the auditor finds it.
func TestALossyCompareIsFoundByTheProduct(t *testing.T) {
	for mutant, by := range map[world.Mutant]string{
		world.LossyCompare: "recon: unbalanced", world.LossyBooked: "auditor: unbalanced",
	} {
		found := uint64(0)
		for seed := uint64(1); seed <= 20; seed++ {
			out := world.Run(t, seed, mutant, nil)
			if found == 0 && out.Seen[by] > 0 {
				found = seed
			}
			for _, v := range out.Violated { // that the day is not well without a fault of its own is what is to be seen
				require.Contains(t, v, "without any reason", "seed %d", seed)
			}
		}
		require.NotZero(t, found, "%s: nobody said %s", mutant, by)
		t.Log(mutant, "found by the product in seed", found)
	}
}

// mutantSeeds is within how many seeds a mutant must be caught.
const mutantSeeds = 250

func caughtBy(t *testing.T, mutant world.Mutant, guarantee string) uint64 {
	for seed := uint64(1); seed <= mutantSeeds; seed++ {
		for _, v := range world.Run(t, seed, mutant, nil).Violated {
			if strings.HasPrefix(v, guarantee) {
				return seed
			}
		}
	}
	require.Fail(t, "not caught", "%s breaks %s and nobody sees it in %d seeds", mutant, guarantee, mutantSeeds)
	return 0
}
