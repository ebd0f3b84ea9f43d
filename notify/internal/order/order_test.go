package order_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/notify/internal/order"
)

func TestFalseComesFirst(t *testing.T) {
	list := []bool{true, false, true, false}
	slices.SortFunc(list, order.Bools)
	require.Equal(t, []bool{false, false, true, true}, list)
	require.Zero(t, order.Bools(true, true))
}
