package bill

import "strings"

// Providers let a merchant keep values of its own with a payment (metadata, notes, custom fields) under names of its
// choice. These are the names under which merchants keep their numbers, without case and separators.
var (
	orderNames = words("order orderid orderno ordernum ordernumber orderref orderreference merchantorder merchantorderid merchantorderno " +
		"merchantref merchantreference outtradeno invoice invoiceno invoicenumber externalid externalidentifier externalref externalreference " +
		"ref reference referenceid referenceno referencenumber")
	refundNames = words("refund refundid refundno refundnum refundnumber refundref refundreference merchantrefundid merchantrefundno outrefundno")
)

func words(s string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		out[w] = true
	}
	return out
}

var separators = strings.NewReplacer("_", "", "-", "", " ", "", ".", "")

// NamesOrder reports whether a merchant keeps its order number under such a name.
func NamesOrder(name string) bool { return orderNames[strings.ToLower(separators.Replace(name))] }

// NamesRefund reports whether a merchant keeps the number of a refund under such a name.
func NamesRefund(name string) bool { return refundNames[strings.ToLower(separators.Replace(name))] }
