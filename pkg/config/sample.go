package config

import _ "embed"

//go:embed sample.yaml
var sample string

// Sample is a whole configuration with every key explained, the same as deploy/daybreak.example.yaml. It loads.
func Sample() string { return sample }
