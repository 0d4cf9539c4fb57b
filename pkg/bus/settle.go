package bus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Headers of a dead letter.
const (
	HeaderReason  = "Daybreak-Reason"
	HeaderSeq     = "Daybreak-Seq"
	HeaderStream  = "Daybreak-Stream"
	HeaderSubject = "Daybreak-Subject" // the original subject
	HeaderMsgID   = "Daybreak-Msg-Id"  // the original Nats-Msg-Id, if any
	// HeaderOmitted says what of the original did not fit: "body" or "body,headers", then size
	// and sha256 of the body. The original is at HeaderSeq of HeaderStream as long as that keeps it.
	HeaderOmitted = "Daybreak-Omitted"
)

// What a consumer can say about a message.
var (
	wordAck      = []byte("+ACK")
	wordNak      = []byte("-NAK")
	wordProgress = []byte("+WPI")
)

const (
	// settleMax bounds telling the server one verdict, all attempts together.
	settleMax = 15 * time.Second
	reasonMax = 1024
)

// carryOut is the one place that acts on a verdict. It returns the verdict that was carried out:
// a rejection whose dead letter cannot be stored becomes a retry.
func (c *Consumer) carryOut(ctx context.Context, msg *nats.Msg, d Delivery, v Verdict) (Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, c.bus.settleMax)
	defer cancel()
	if v.action == ActionReject {
		if err := c.bus.bury(ctx, d, v.reason); err != nil {
			c.log.Error("dead letter not stored, retrying later", "subject", d.Subject, "seq", d.Seq, "err", err)
			v = Retry(growing(d.Deliveries)).Because("dead_letter_failed")
			// The time for the dead letter is used up; saying "later" is worth its own.
			ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), c.bus.opts.Timeout)
			defer cancel()
		}
	}
	return v, c.bus.say(ctx, msg, word(v))
}

func word(v Verdict) []byte {
	switch {
	case v.action == ActionAck:
		return wordAck
	case v.action == ActionReject:
		return []byte("+TERM " + oneLine(v.reason, 200))
	case v.after > 0:
		return fmt.Appendf(nil, `-NAK {"delay": %d}`, v.after.Nanoseconds())
	}
	return wordNak
}

// say tells the server and waits for its confirmation.
func (b *Bus) say(ctx context.Context, msg *nats.Msg, what []byte) error {
	return b.untilAnswered(ctx, "settle message", func(ctx context.Context) error {
		_, err := b.nc.RequestWithContext(ctx, msg.Reply, what)
		return err
	})
}

// giveBack returns a message that no handler has seen.
func (c *Consumer) giveBack(ctx context.Context, msg *nats.Msg) {
	ctx, cancel := context.WithTimeout(ctx, drainFlush)
	defer cancel()
	if err := c.bus.say(ctx, msg, wordNak); err != nil {
		c.log.Warn("cannot give a message back, it comes again after ack wait", "subject", msg.Subject, "err", err)
	}
}

// bury publishes the dead letter of d. What does not fit is left out, first the body, then the
// headers: the letter itself always gets through.
func (b *Bus) bury(ctx context.Context, d Delivery, reason string) error {
	var err error
	for _, letter := range []Message{
		deadLetter(d, reason, true, true),
		deadLetter(d, reason, true, false),
		deadLetter(d, reason, false, false),
	} {
		_, err = b.Publish(ctx, letter)
		if errors.Is(err, ErrBadSubject) {
			letter.Subject = deadByHash(d.Subject)
			_, err = b.Publish(ctx, letter)
		}
		var api *jetstream.APIError
		refused := errors.As(err, &api) && permanent(err)
		if err == nil || !refused && !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrBadSubject) &&
			!errors.Is(err, nats.ErrBadHeaderMsg) {
			return err
		}
	}
	return err
}

// deadID names the dead letter. The time is in it because sequences start again when a
// stream was lost and made again.
func deadID(d Delivery) string {
	return fmt.Sprintf("dead/%s/%d/%d", d.Stream, d.Seq, d.Published.UnixNano())
}

func deadLetter(d Delivery, reason string, withHeaders, withBody bool) Message {
	h := nats.Header{}
	for key, values := range d.Header {
		// What steers the server (ids, expectations, rollups, TTLs) must not steer it here, and
		// Status would make consumers take the letter for a word of the server.
		if withHeaders && !strings.HasPrefix(strings.ToLower(key), "nats-") && !strings.EqualFold(key, "Status") {
			h[key] = values
		}
	}
	h.Set(HeaderReason, oneLine(reason, reasonMax))
	h.Set(HeaderSeq, strconv.FormatUint(d.Seq, 10))
	h.Set(HeaderStream, d.Stream)
	h.Set(HeaderSubject, oneLine(d.Subject, 4*reasonMax))
	if id := d.Header.Get(jetstream.MsgIDHeader); id != "" {
		h.Set(HeaderMsgID, oneLine(id, reasonMax))
	}
	m := Message{Subject: Dead(d.Subject), ID: deadID(d), Header: h}
	if withBody {
		m.Body = d.Data
		return m
	}
	what := "body"
	if !withHeaders {
		what = "body,headers"
	}
	sum := sha256.Sum256(d.Data)
	h.Set(HeaderOmitted, fmt.Sprintf("%s; bytes=%d; sha256=%s", what, len(d.Data), hex.EncodeToString(sum[:])))
	return m
}

// oneLine makes text fit for a header value of at most limit bytes.
func oneLine(text string, limit int) string {
	text = strings.ToValidUTF8(text, "?")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	if len(text) <= limit {
		return strings.TrimSpace(text)
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return strings.TrimSpace(text[:limit])
}
