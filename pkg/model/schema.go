package model

import "embed"

//go:embed schema/*.json
var schemas embed.FS

// Schema returns the JSON Schema (draft 2020-12) of the data of an event: "diff" for diff events, "batch" for batch
// events. It is nil for any other name. The dataschema of an event is the $id of its schema.
func Schema(noun string) []byte {
	text, err := schemas.ReadFile("schema/" + noun + ".v1.json")
	if err != nil {
		return nil
	}
	return text
}
