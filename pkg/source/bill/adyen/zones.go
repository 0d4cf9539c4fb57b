package adyen

import (
	"fmt"
	"strings"
	"time"

	"daybreak/pkg/source/text"
)

// place is where a clock with that abbreviation hangs. The abbreviation of winter is printed in summer too; winterOnly says
// that in summer it could be another place, one without summer time, whose clock then differs.
type place struct {
	zone       string
	winterOnly bool
}

// places is made by hand: Go reads an abbreviation of another zone as an offset of zero. CST, IST and others that stand for
// places on several continents are left out on purpose.
var places = map[string]place{
	"UTC": {zone: "UTC"}, "GMT": {"Europe/London", true}, "BST": {zone: "Europe/London"},
	"WET": {zone: "Europe/Lisbon"}, "WEST": {zone: "Europe/Lisbon"},
	"CET": {zone: "Europe/Amsterdam"}, "CEST": {zone: "Europe/Amsterdam"},
	"EET": {zone: "Europe/Athens"}, "EEST": {zone: "Europe/Athens"},
	"MSK": {zone: "Europe/Moscow"},
	"EST": {zone: "America/New_York"}, "EDT": {zone: "America/New_York"},
	"CDT": {zone: "America/Chicago"},
	"MST": {"America/Denver", true}, "MDT": {zone: "America/Denver"},
	"PST": {zone: "America/Los_Angeles"}, "PDT": {zone: "America/Los_Angeles"},
	"BRT": {zone: "America/Sao_Paulo"}, "ART": {zone: "America/Argentina/Buenos_Aires"},
	"SGT": {zone: "Asia/Singapore"}, "HKT": {zone: "Asia/Hong_Kong"}, "JST": {zone: "Asia/Tokyo"}, "KST": {zone: "Asia/Seoul"},
	"MYT": {zone: "Asia/Kuala_Lumpur"}, "WIB": {zone: "Asia/Jakarta"}, "ICT": {zone: "Asia/Bangkok"},
	"AEST": {"Australia/Sydney", true}, "AEDT": {zone: "Australia/Sydney"},
	"AWST": {zone: "Australia/Perth"},
	"NZST": {zone: "Pacific/Auckland"}, "NZDT": {zone: "Pacific/Auckland"},
}

const nameZone = "name the zone of the account in the configuration (bill: zone:)"

// clocks reads wall clocks by their abbreviation, or all of them in one zone.
type clocks struct {
	zone  *time.Location // that the configuration names; nil when it names none
	known map[string]*time.Location
}

// parse reads a wall clock; the zero time when there is none.
func (c *clocks) parse(wall, abbreviation string) (time.Time, error) {
	if wall == "" {
		return time.Time{}, nil
	}
	if c.zone != nil {
		return text.Instants{Zone: c.zone}.Parse(wall)
	}
	zone, err := c.locate(abbreviation)
	if err != nil {
		return time.Time{}, err
	}
	t, err := text.Instants{Zone: zone}.Parse(wall)
	if err == nil && places[fold(abbreviation)].winterOnly && t.In(zone).IsDST() {
		return t, fmt.Errorf("the time %q is in summer, when %s may be %s or a place without summer time: %s", wall, abbreviation, zone, nameZone)
	}
	return t, err
}

func (c *clocks) locate(abbreviation string) (*time.Location, error) {
	if zone, ok := c.known[abbreviation]; ok {
		return zone, nil
	}
	name := places[fold(abbreviation)].zone
	if strings.Contains(abbreviation, "/") {
		name = abbreviation
	}
	if name == "" {
		return nil, fmt.Errorf("the zone %q is not known, or stands for several places: %s", text.Clip(abbreviation, 20), nameZone)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("the zone %q is not known: %s", text.Clip(abbreviation, 40), nameZone)
	}
	if c.known == nil {
		c.known = map[string]*time.Location{}
	}
	c.known[abbreviation] = zone
	return zone, nil
}

func fold(abbreviation string) string { return strings.ToUpper(strings.TrimSpace(abbreviation)) }
