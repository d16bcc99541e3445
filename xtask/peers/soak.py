"""A server under mixed load: good clients, swaps of its model, files that are no models, and bad clients.

    soak.py TAMIS SECONDS [SEED]

Every answer is compared with what `tamis classify` says; a swap may answer with either model. Prints what was done by kind, what
went wrong, and the memory of the server over time. Exit code 1 when an answer was lost or wrong, or memory grew by half.
Loopback only; a bounded number of clients.
"""

import http.client
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

tamis, seconds = sys.argv[1], float(sys.argv[2])
seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
folder = Path(tempfile.mkdtemp(prefix="tamis-soak-"))
done, wrong, notes = Counter(), Counter(), []
lock = threading.Lock()
end = None


def run(*arguments):
    return subprocess.run([tamis, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


run("synth", "-n", "3000", "docs.jsonl")
for name, classifier in (("a", "svm"), ("b", "bayes")):
    run("fit", "docs.jsonl", "-o", f"{name}.model", "--by", "chi2max@1", "--features", "2000", "--classifier", classifier)
documents = [json.loads(line) for line in (folder / "docs.jsonl").open()]
documents = [{"id": d["id"], "text": d["text"]} for d in documents][:1000]
(folder / "ask.jsonl").write_text("".join(json.dumps(d) + "\n" for d in documents))
expected = {}
for name in "ab":
    for line in run("classify", f"{name}.model", "ask.jsonl").splitlines():
        answer = json.loads(line)
        expected.setdefault(answer["id"], []).append(answer["labels"])

shutil.copy(folder / "a.model", folder / "served.model")
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
log = (folder / "log").open("w")
server = subprocess.Popen([tamis, "serve", "served.model", "--port", str(port), "--threads", "2"], cwd=folder, stderr=log)


def memory():
    for line in Path(f"/proc/{server.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def count(kind, bad=None):
    with lock:
        done[kind] += 1
        if bad:
            wrong[kind] += 1
            if len(notes) < 20:
                notes.append(f"{kind}: {bad}")


def right(answer):
    return answer.get("labels") in expected[answer["id"]]


def single(rng):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for _ in range(50):
        document = rng.choice(documents)
        connection.request("POST", "/v1/classify", json.dumps(document), {"Content-Type": "application/json"})
        response = connection.getresponse()
        body = response.read()
        if response.status == 503:
            # A server that is full says so; nothing is lost, and a client comes again.
            count("told to come again")
            time.sleep(0.05)
            continue
        bad = None if response.status == 200 and right(json.loads(body) | {"id": document["id"]}) else f"{response.status} {body[:200]}"
        count("single requests", bad)
    connection.close()


def batch(rng):
    some = rng.sample(documents, 50)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/v1/classify", json.dumps({"documents": some}), {"Content-Type": "application/json"})
    response = connection.getresponse()
    body = response.read()
    if response.status == 503:
        count("told to come again")
        return
    answers = json.loads(body).get("documents", [])
    good = response.status == 200 and [a["id"] for a in answers] == [d["id"] for d in some] and all(map(right, answers))
    count("batches of 50", None if good else f"{response.status} {body[:200]}")


def stream(rng):
    some = rng.choices(documents, k=400)
    lines = [json.dumps(d) for d in some]
    bad_at = rng.randrange(400)
    lines[bad_at] = '{"text": 5'
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("POST", "/v1/classify", "\n".join(lines) + "\n", {"Content-Type": "application/x-ndjson"})
    response = connection.getresponse()
    body = response.read()
    if response.status == 503:
        count("told to come again")
        return
    answers = [json.loads(line) for line in body.splitlines()]
    good = len(answers) == 400 and answers[bad_at].get("line") == bad_at + 1
    good = good and all(right(a) and a["id"] == d["id"] for i, (a, d) in enumerate(zip(answers, some)) if i != bad_at)
    count("streams of 400 lines", None if good else f"{len(answers)} lines, {body[:200]}")


def health(rng):
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", rng.choice(["/healthz", "/readyz", "/metrics"]))
        response = connection.getresponse()
        response.read()
        count("health checks", None if response.status == 200 else response.status)
    except OSError as error:
        count("health checks", repr(error))
    time.sleep(0.2)


def swap(rng):
    """Another model, or something that is none: then the old one goes on."""
    kind = rng.choice(["a", "b", "garbage", "half", "nothing", "link"])
    new = folder / "new.model"
    new.unlink(missing_ok=True)
    if kind in "ab":
        shutil.copy(folder / f"{kind}.model", new)
    elif kind == "garbage":
        new.write_bytes(rng.randbytes(5000))
    elif kind == "half":
        new.write_bytes((folder / "a.model").read_bytes()[: rng.randrange(20_000)])
    elif kind == "nothing":
        (folder / "served.model").unlink(missing_ok=True)
        time.sleep(1)
        shutil.copy(folder / "a.model", new)
    else:
        os.symlink(folder / "b.model", new)
    os.replace(new, folder / "served.model")
    count("swaps of the file")
    time.sleep(rng.uniform(0.5, 3))


def bad_client(rng):
    kind = rng.choice(["garbage", "half a body", "no reader", "a byte a second", "long line", "nothing"])
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as s:
            head = b"POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
            if kind == "garbage":
                s.sendall(rng.randbytes(2000))
            elif kind == "half a body":
                s.sendall(head + b"Content-Length: 1000000\r\n\r\n" + b'{"text":' * 1000)
            elif kind == "no reader":
                s.sendall(head + b"Content-Length: 300000\r\n\r\n" + (json.dumps(documents[0]) + "\n").encode() * 50)
                time.sleep(2)
            elif kind == "a byte a second":
                s.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
                for _ in range(10):
                    s.sendall(b"1\r\n{\r\n")
                    time.sleep(1)
            elif kind == "long line":
                s.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
                for _ in range(12):
                    s.sendall(b"100000\r\n" + b"x" * 0x100000 + b"\r\n")
            else:
                time.sleep(3)
    except OSError:
        pass
    count("bad clients")


def forever(work, number):
    rng = random.Random(seed * 1000 + number)
    while time.monotonic() < end:
        try:
            work(rng)
        except Exception as error:  # a client that fails is what this looks for
            count(work.__name__, repr(error))


for _ in range(200):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        break
    except OSError:
        time.sleep(0.05)
end = time.monotonic() + seconds
workers = [single, single, batch, stream, stream, health, swap, bad_client, bad_client, bad_client]
threads = [threading.Thread(target=forever, args=(work, i)) for i, work in enumerate(workers)]
for thread in threads:
    thread.start()
begin, samples = time.monotonic(), []
while any(thread.is_alive() for thread in threads):
    time.sleep(min(5.0, max(seconds / 20, 0.5)))
    samples.append((time.monotonic() - begin, memory()))
time.sleep(3)
after = memory()
server.terminate()
code = server.wait(20)
first = [m for t, m in samples if t < seconds / 4] or [after]
last = [m for t, m in samples if t >= seconds * 3 / 4] or [after]
print(f"{seconds:.0f} s of mixed load, seed {seed}")
for kind, n in sorted(done.items()):
    print(f"  {kind}: {n:,}, {wrong[kind]} wrong")
print(f"  memory: {max(first):.0f} MB at most in the first quarter, {max(last):.0f} MB in the last, {after:.0f} MB after; exit code {code}")
for note in notes:
    print("  !", note)
shutil.rmtree(folder)
grew = max(last) > 1.5 * max(first) + 16
sys.exit(1 if wrong.total() or grew or code != 0 else 0)
