#!/usr/bin/env bash
# Installs what is in dist/ on a bare Debian without Rust, and follows the tutorial to its end: packaging/try.sh [FOLDER]
# Needs root and debootstrap; the system goes into FOLDER, a new one when not given.
set -euo pipefail
cd "$(dirname "$0")/.."
place=${1:-$(mktemp -d)}
[ -x "$place/bin/sh" ] || debootstrap --variant=minbase --include=python3,python3-venv,python3-pip,curl,ca-certificates bookworm "$place"
mkdir -p "$place/tamis/docs" "$place/tamis/examples" "$place/tamis/tests/docs"
cp dist/* "$place/tamis/"
cp docs/tutorial.md "$place/tamis/docs/"
cp examples/mail.csv "$place/tamis/examples/"
cp tests/docs/run_tutorial.py "$place/tamis/tests/docs/"
cp /etc/resolv.conf "$place/etc/resolv.conf"
for file in /etc/ssl/certs/ca-certificates.crt; do [ -f "$file" ] && mkdir -p "$place$(dirname "$file")" && cp "$file" "$place$file"; done
mountpoint -q "$place/proc" || mount -t proc proc "$place/proc"
trap 'umount "$place/proc"' EXIT
start=$(date +%s)
chroot "$place" /usr/bin/env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/root PIP_INDEX_URL="${PIP_INDEX_URL:-}" bash -euc '
  cd /tamis
  sha256sum --quiet --check SHA256SUMS
  dpkg --install tamis_*.deb
  python3 tests/docs/run_tutorial.py docs/tutorial.md /usr/bin/tamis
  [ -n "$PIP_INDEX_URL" ] || unset PIP_INDEX_URL
  python3 -m venv /tmp/venv
  /tmp/venv/bin/pip install --quiet ./*.whl
  /tmp/venv/bin/python -c "
import tamis
corpus = tamis.synth(300)
model = tamis.TextCategorizer(by=\"chi2max\", features=200, classifier=\"bayes\").fit(corpus[\"text\"], corpus[\"labels\"].tolist())
print(model.predict(corpus[\"text\"][:1]))"
'
echo "installed and followed in $(($(date +%s) - start)) s"
