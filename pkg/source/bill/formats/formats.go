// Package formats is the registry of bills: every format by its name, and what tells them apart.
//
// Telling goes by content alone. No two formats may fit the same document; a document that fits none is looked up among
// the strangers, so that the refusal says what it is.
package formats

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"daybreak/pkg/source/bill"
	"daybreak/pkg/source/bill/adyen"
	"daybreak/pkg/source/bill/alipay"
	"daybreak/pkg/source/bill/braintree"
	"daybreak/pkg/source/bill/camt053"
	"daybreak/pkg/source/bill/consumer"
	"daybreak/pkg/source/bill/mercadopago"
	"daybreak/pkg/source/bill/mt940"
	"daybreak/pkg/source/bill/paypal"
	"daybreak/pkg/source/bill/razorpay"
	"daybreak/pkg/source/bill/square"
	"daybreak/pkg/source/bill/stripe"
	"daybreak/pkg/source/bill/unionpay"
	"daybreak/pkg/source/bill/wechatpay"
	"daybreak/pkg/source/text"
)

// Auto is the name that lets the content of a file choose its format.
const Auto = "auto"

// All are the formats in the order of their names, companions among them.
var All = collect(
	wechatpay.Formats, alipay.Formats, unionpay.Formats, stripe.Formats, adyen.Formats, paypal.Formats,
	mercadopago.Formats, razorpay.Formats, square.Formats, braintree.Formats, mt940.Formats, camt053.Formats,
)

var strangers = collectStrangers(
	wechatpay.Strangers, alipay.Strangers, unionpay.Strangers, stripe.Strangers, adyen.Strangers, paypal.Strangers,
	mercadopago.Strangers, razorpay.Strangers, square.Strangers, braintree.Strangers, mt940.Strangers, camt053.Strangers,
	consumer.Strangers,
)

func collect(lists ...func() []*bill.Format) []*bill.Format {
	var out []*bill.Format
	for _, list := range lists {
		out = append(out, list()...)
	}
	slices.SortFunc(out, func(a, b *bill.Format) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func collectStrangers(lists ...func() []bill.Stranger) []bill.Stranger {
	var out []bill.Stranger
	for _, list := range lists {
		out = append(out, list()...)
	}
	return out
}

// Names are those that a configuration may name: all but companions, and [Auto].
func Names() []string {
	out := []string{Auto}
	for _, f := range All {
		if f.Companion == "" {
			out = append(out, f.Name)
		}
	}
	return out
}

// ByName returns a format, nil when there is none of that name. [Auto] is none.
func ByName(name string) *bill.Format {
	for _, f := range All {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// ErrUnknown is returned by [Tell] for a document that is neither of a format nor a known stranger.
var ErrUnknown = errors.New("not a bill of a known format")

// Tell returns the one format that a document is of. The error says what the document is instead.
func Tell(h bill.Head) (*bill.Format, error) {
	var fits []*bill.Format
	var names []string
	for _, f := range All {
		if f.Fits(h) {
			fits, names = append(fits, f), append(names, f.Name)
		}
	}
	switch len(fits) {
	case 1:
		return fits[0], nil
	case 0:
		return nil, stranger(h)
	}
	return nil, fmt.Errorf("the document could be any of %s: name one with format", strings.Join(names, ", "))
}

// stranger says what a document is that is no bill.
func stranger(h bill.Head) error {
	for _, s := range strangers {
		if s.Fits(h) {
			return fmt.Errorf("%s, not a bill of a known format: %s", s.Named(h), s.Advice)
		}
	}
	first := h.FirstLine()
	if first == "" {
		return fmt.Errorf("%w: the document holds no text", ErrUnknown)
	}
	return fmt.Errorf("%w: it begins %q; known are %s", ErrUnknown, text.Clip(first, 100), strings.Join(Names()[1:], ", "))
}

// Strange says what a document is instead of being of the format that was asked for; other and err are what [Tell]
// returned for it.
func Strange(asked, other *bill.Format, err error) error {
	if err != nil {
		return fmt.Errorf("not of format %s (%s): %w", asked.Name, asked.Title, err)
	}
	return fmt.Errorf("not of format %s (%s) but of %s (%s)", asked.Name, asked.Title, other.Name, other.Title)
}
