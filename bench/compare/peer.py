# What people write today: both files into dictionaries, then one loop. Amounts are exact decimals.
import csv
import sys
from decimal import Decimal


def load(path, key, amount, currency, state, means):
    out = {}
    with open(path, newline="", encoding="utf-8") as f:
        for row in csv.DictReader(f):
            entry = (Decimal(row[amount]), row[currency], means.get(row[state], row[state]))
            out.setdefault(row[key], []).append(entry)
    return out


def text(amount):
    return format(amount.normalize(), "f") if amount else "0"


ledger = load(sys.argv[1], "order_no", "amount", "currency", "state", {"PAID": "success"})
channel = load(sys.argv[2], "out_trade_no", "total", "fee_type", "trade_state", {"SUCCESS": "success"})
found = []
for key in ledger.keys() | channel.keys():
    a, b = ledger.get(key, []), channel.get(key, [])
    if len(a) > 1 or len(b) > 1:
        kind = "duplicate"
    elif not b:
        kind = "missing_in_channel"
    elif not a:
        kind = "missing_in_ledger"
    elif a[0][1] != b[0][1]:
        kind = "currency"
    elif a[0][0] != b[0][0]:
        kind = "amount"
    elif a[0][2] != b[0][2]:
        kind = "status"
    else:
        continue
    found.append(f"{key} {kind} {text(sum(e[0] for e in a))} {text(sum(e[0] for e in b))}")
for line in sorted(found):
    print(line)
