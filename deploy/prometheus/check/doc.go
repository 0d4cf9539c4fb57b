// Package check proves the files of deploy/prometheus with the libraries that Prometheus and Alertmanager themselves are made
// of, so that nothing but Go is needed: rules and configurations load, and every unit test of ../tests holds. The tests are
// in the format of `promtool test rules`, which gives the same verdict:
//
//	cd deploy/prometheus && promtool check config prometheus.yml && promtool test rules tests/*.yml && amtool check-config alertmanager.example.yml
//
// It is a module of its own because these libraries bring hundreds of packages that Daybreak does not need.
//
// The rules are for Prometheus 2.42 and later, while the library is newer and knows more. What 2.42 does not know is
// refused here by name.
package check
