"""FastAPI + uvicorn + scikit-learn doing the same job, measured by the same client (the Rust half with --load)."""

import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

from common import newsgroups

ROOT = pathlib.Path(__file__).resolve().parents[2]

SERVICE = '''
import os, pickle
from fastapi import FastAPI
from pydantic import BaseModel

with open(os.environ["PEER_MODEL"], "rb") as file:
    vectorizer, classifier, names = pickle.load(file)

class Request(BaseModel):
    text: str

app = FastAPI()

@app.get("/healthz")
def healthz():
    return {}

@app.post("/v1/classify")
def classify(request: Request):
    return {"labels": [names[classifier.predict(vectorizer.transform([request.text]))[0]]]}
'''


def main():
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.svm import LinearSVC

    texts, labels = newsgroups(("training",))
    names = sorted(set(labels))
    vectorizer = TfidfVectorizer()
    matrix = vectorizer.fit_transform(texts)
    classifier = LinearSVC().fit(matrix, [names.index(label) for label in labels])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "service.py").write_text(SERVICE, encoding="utf-8")
        with open(folder / "model.pickle", "wb") as file:
            pickle.dump((vectorizer, classifier, names), file)
        # One process for each core, as its documentation advises; one thread of BLAS each.
        environment = {**os.environ, "PEER_MODEL": str(folder / "model.pickle"), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "uvicorn", "service:app", "--port", "8976", "--workers", str(os.cpu_count())]
        log = open(folder / "log", "w", encoding="utf-8")
        server = subprocess.Popen([*command, "--no-access-log"], cwd=folder, env=environment, stderr=log)
        try:
            for _ in range(600):
                try:
                    urllib.request.urlopen("http://127.0.0.1:8976/healthz", timeout=5).close()
                    break
                except OSError:
                    time.sleep(0.1)
            time.sleep(2)
            load = ["bench", "--quiet", "--package", "tamis-serve", "--bench", "serve", "--", "--load", "127.0.0.1:8976"]
            done = subprocess.run([os.environ.get("CARGO", "cargo"), *load], cwd=ROOT, check=True, stdout=subprocess.PIPE)
            for line in done.stdout.decode().splitlines():
                if line.startswith("{"):
                    print(re.sub(r'"note":""', '"note":"peer: FastAPI, uvicorn, scikit-learn"', line), flush=True)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
