// Package fire runs the shipped monitoring for real: Prometheus and Alertmanager with the files of deploy/prometheus over
// the processes that they name, ticker ×2, recon ×3 and auditor ×2, on three NATS servers and ClickHouse.
//
//	go test -run Panel .           every query of every panel, asked of Prometheus over HTTP; one to three minutes
//	go test -run Alert -v .        every alert caused for real, and what a webhook then gets; ten to fifteen minutes
//	go test -run Alert -out DIR .  the same as a table in DIR/alerts.txt
//
// # What is real
//
// Prometheus is its own module in this process: configuration, discovery, scrapes over HTTP, storage, rules, notifier and
// HTTP API, put together as its own program does. Alertmanager is built as a program from its module; only its web page,
// which the module lacks, is left out. NATS servers are processes in all but name: they talk over sockets, replicate and
// can be shut down. Services are processes of the program and are killed and stopped as such.
//
// # What is changed in the shipped files, and nothing else
//
//	prometheus.yml            each target's host:port, and both intervals from 15s to 2s
//	rules/daybreak.rules.yml  every `for:` and every range [..] divided by 60; thresholds stay, also those in seconds
//	alertmanager.example.yml  the waiting times divided by 60, where webhooks go, and a webhook for the receiver that has none
//
// Daybreak itself runs with `setup: init`: the streams are laid out small and the account has a quota, so that both can be
// filled in seconds, and leases live for 60 s instead of 30 s, so that a loaded machine keeps them.
//
// The business days end the day before yesterday, and the days after them are holidays, so that no midnight falls into a
// run. An alert is never fired by hand: every one has a cause that happens to people.
package fire
