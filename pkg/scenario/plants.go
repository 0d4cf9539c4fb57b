package scenario

import "daybreak/pkg/model"

// plant is one kind of fault, or of something that must not be taken for one.
type plant struct {
	mode string // "": in every job, else only in jobs of that match mode
	sow  func(*jobBook, model.Day)
}

var plants = []plant{
	{"", missing(model.Ledger)},
	{"", missing(model.Channel)},
	{"", late},
	{"", amount},
	{"", withinTolerance},
	{"", currency},
	{"one", duplicate(model.Ledger)},
	{"one", duplicate(model.Channel)},
	{"one", status},
	{"sum", parts},
	{"sum", partRefund},
}

// missing plants an entry on one side only. Its diff opens on the day that closes the carry window.
func missing(on model.Side) func(*jobBook, model.Day) {
	return func(j *jobBook, day model.Day) {
		key, cents := j.key(day), j.cents()
		side, kind, ledger, channel := j.ledger, model.KindMissingInChannel, money(cents), "0"
		if on == model.Channel {
			side, kind, ledger, channel = j.channel, model.KindMissingInLedger, "0", money(cents)
		}
		j.book(side, day, key, cents, statusOn(on))
		if opens := day.Add(j.carry); opens <= j.last() {
			j.fault(opens, key, kind, ledger, channel, day)
		} else {
			j.waiting++
		}
	}
}

func statusOn(side model.Side) string {
	if side == model.Ledger {
		return "PAID"
	}
	return "SUCCESS"
}

// late plants a counterpart that the bill of the next day brings: no diff where entries are carried, two where not.
func late(j *jobBook, day model.Day) {
	next := day.Add(1)
	if j.carry == 0 || next > j.last() {
		return
	}
	key, cents := j.key(day), j.cents()
	j.book(j.ledger, day, key, cents, "PAID")
	j.book(j.channel, next, key, cents, "SUCCESS")
}

// amount plants a payment that was billed too high.
func amount(j *jobBook, day model.Day) {
	key, cents := j.key(day), j.cents()
	billed := cents + 2 + j.rng.Int64N(1000)
	j.book(j.ledger, day, key, cents, "PAID")
	j.book(j.channel, day, key, billed, "SUCCESS")
	j.fault(day, key, model.KindAmount, money(cents), money(billed), day)
}

// withinTolerance plants a difference of a cent, which the rules accept.
func withinTolerance(j *jobBook, day model.Day) {
	key, cents := j.key(day), j.cents()
	j.book(j.ledger, day, key, cents, "PAID")
	j.book(j.channel, day, key, cents+1, "SUCCESS")
}

// currency plants a payment that was billed in another currency.
func currency(j *jobBook, day model.Day) {
	key, cents := j.key(day), j.cents()
	j.book(j.ledger, day, key, cents, "PAID")
	j.book(j.channel, day, key, cents, "SUCCESS")
	rows := j.channel[day].rows
	rows[len(rows)-1].currency = "EUR"
	j.fault(day, key, model.KindCurrency, money(cents), money(cents), day)
}

// duplicate plants a payment that one side has twice.
func duplicate(on model.Side) func(*jobBook, model.Day) {
	return func(j *jobBook, day model.Day) {
		key, cents := j.key(day), j.cents()
		j.book(j.ledger, day, key, cents, "PAID")
		j.book(j.channel, day, key, cents, "SUCCESS")
		ledger, channel := money(cents), money(cents)
		if on == model.Ledger {
			j.book(j.ledger, day, key, cents, "PAID")
			ledger = money(2 * cents)
		} else {
			j.book(j.channel, day, key, cents, "SUCCESS")
			channel = money(2 * cents)
		}
		j.fault(day, key, model.KindDuplicate, ledger, channel, day)
	}
}

// status plants a payment that is closed for us and successful for the provider.
func status(j *jobBook, day model.Day) {
	key, cents := j.key(day), j.cents()
	j.book(j.ledger, day, key, cents, "CLOSED")
	j.book(j.channel, day, key, cents, "SUCCESS")
	j.fault(day, key, model.KindStatus, money(cents), money(cents), day)
}

// parts plants a payment that was captured in two parts: its sum agrees.
func parts(j *jobBook, day model.Day) {
	key, cents := j.key(day), 2+j.cents()
	j.book(j.ledger, day, key, cents, "PAID")
	j.book(j.channel, day, key, cents/2, "SUCCESS")
	j.book(j.channel, day, key, cents-cents/2, "SUCCESS")
}

// partRefund plants a refund that only the provider has booked.
func partRefund(j *jobBook, day model.Day) {
	key, cents := j.key(day), 100+j.cents()
	j.book(j.ledger, day, key, cents, "PAID")
	j.book(j.channel, day, key, cents, "SUCCESS")
	j.book(j.channel, day, key, -50, "REFUND")
	j.fault(day, key, model.KindAmount, money(cents), money(cents-50), day)
}
