package bill

import (
	"hash/maphash"

	"daybreak/pkg/source/text"
)

// onceMax bounds how many ids of a file are held against each other, 8 bytes and the room of a table for each.
const onceMax = 1 << 20

// once knows the ids that were in a file, by what they hash to.
type once struct {
	seed maphash.Seed
	seen map[uint64]struct{}
	full bool
}

// again takes an id, and reports whether it was there before.
func (o *once) again(id string) bool {
	if o.seen == nil {
		o.seed, o.seen = maphash.MakeSeed(), map[uint64]struct{}{}
	}
	h := maphash.String(o.seed, id)
	if _, there := o.seen[h]; there {
		return true
	}
	if o.full = o.full || len(o.seen) >= onceMax; !o.full {
		o.seen[h] = struct{}{}
	}
	return false
}

// Once notes an id that the provider gives one line only and that an earlier line of the file had already: the bill was put
// together of parts that overlap, or a line is in it twice. It is for bills that declare no totals, where nothing else
// would tell. An empty id is not held against others. Of a file with more than a million ids the first million are held.
func (o *Out) Once(id string, line, column int) {
	if id != "" && o.ids.again(id) {
		o.Problem(line, column, "%q is the id of an earlier line too, and the provider gives each line its own: a line is in the file twice; deliver it as the provider made it",
			text.Clip(id, 60))
	}
}
