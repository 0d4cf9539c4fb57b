#!/bin/sh
# Makes ./secrets for the compose project: an authority, a certificate for each server and user, random passwords.
# Nothing that is there already is made again; to renew one, remove its folder (or all of secrets/) and run this again.
# The folder itself is closed to others; what is inside is readable, because containers run under users of their own.
set -eu

command -v openssl >/dev/null 2>&1 || {
	echo "make-secrets.sh: openssl is missing; install it with: apt-get install openssl" >&2
	exit 1
}
cd "${1:-$(dirname "$0")}"
days=825
mkdir -p secrets
chmod 700 secrets
cd secrets
umask 022

new_key() { openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out "$1"; }

if [ ! -f authority/ca.key ]; then
	mkdir -p authority
	chmod 700 authority
	new_key authority/ca.key
	openssl req -x509 -new -key authority/ca.key -sha256 -days 3650 -subj "/CN=daybreak authority" \
		-addext "basicConstraints=critical,CA:TRUE" -addext "keyUsage=critical,keyCertSign,cRLSign" -out authority/ca.crt
fi

# certificate FOLDER NAME COMMON_NAME USAGE [SUBJECT_ALT_NAMES]
certificate() {
	mkdir -p "$1"
	cp authority/ca.crt "$1/ca.crt"
	if [ -f "$1/$2.crt" ]; then return; fi
	new_key "$1/$2.key"
	chmod 644 "$1/$2.key"
	{
		echo "basicConstraints=critical,CA:FALSE"
		echo "keyUsage=critical,digitalSignature"
		echo "extendedKeyUsage=$4"
		if [ -n "${5:-}" ]; then echo "subjectAltName=$5"; fi
	} >"$1/$2.ext"
	openssl req -new -key "$1/$2.key" -subj "/CN=$3" |
		openssl x509 -req -sha256 -days "$days" -CA authority/ca.crt -CAkey authority/ca.key \
			-set_serial "0x$(openssl rand -hex 16)" -extfile "$1/$2.ext" -out "$1/$2.crt" 2>/dev/null
	rm "$1/$2.ext"
}

for n in 1 2 3; do
	certificate "nats-$n" server "nats-$n" serverAuth,clientAuth "DNS:nats-$n,DNS:localhost,IP:127.0.0.1"
done
certificate clickhouse-1 server clickhouse-1 serverAuth,clientAuth "DNS:clickhouse-1,DNS:localhost,IP:127.0.0.1"
for user in ticker recon auditor operator admin downstream sys; do
	certificate "$user" nats "daybreak-$user" clientAuth
done

password() { openssl rand -hex 24; }
hash_of() { printf %s "$1" | openssl dgst -sha256 -r | cut -d' ' -f1; }

mkdir -p grafana
cp authority/ca.crt grafana/ca.crt
for user in admin ticker recon auditor operator grafana; do
	[ -f "$user/clickhouse.password" ] || password >"$user/clickhouse.password"
	echo "daybreak_$user" >"$user/clickhouse.user"
done
[ -f grafana/admin.password ] || password >grafana/admin.password

# For the servers: hashes and shared secrets, by environment.
if [ ! -f clickhouse.env ]; then
	{
		for user in admin ticker recon auditor operator grafana; do
			name=$(printf %s "$user" | tr '[:lower:]' '[:upper:]')
			echo "CH_${name}_SHA256=$(hash_of "$(cat "$user/clickhouse.password")")"
		done
		echo "CH_CLUSTER_SECRET=$(password)"
		echo "CH_INTERSERVER_PASSWORD=$(password)"
	} >clickhouse.env
fi
{
	echo "GF_SECURITY_ADMIN_PASSWORD=$(cat grafana/admin.password)"
	echo "CLICKHOUSE_USER=daybreak_grafana"
	echo "CLICKHOUSE_PASSWORD=$(cat grafana/clickhouse.password)"
} >grafana.env
chmod 600 clickhouse.env grafana.env
echo "secrets are in $(pwd)"
