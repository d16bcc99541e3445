"""Runs the commands of a page and compares what they print with what the page shows; with --write, writes it into the page.

    python tests/docs/run_tutorial.py docs/tutorial.md target/debug/tamis [--write]

Commands stand in ```console blocks after `$ `; below each is what it prints. All run in one folder, into which examples/mail.csv is
copied. One that ends in `&` runs until the page ends. Sizes of files and versions are not compared.
"""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def alike(text):
    """What must be the same: not sizes in bytes, versions, times, nor how a table is padded."""
    text = re.sub(r"[\d,]+ bytes", "N bytes", text)
    text = re.sub(r"tamis \d+\.\d+\.\d+", "tamis N", text)
    text = re.sub(r"\d+(\.\d+)? (MB|GB|s)\b", "N", text)
    return [re.sub(r"\s+", " ", line).strip() for line in text.strip().splitlines()]


class Shell:
    def __init__(self, program):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tamis-tutorial-"))
        self.port = free_port()
        (self.folder / "bin").mkdir()
        (self.folder / "bin/tamis").symlink_to(pathlib.Path(program).resolve())
        (self.folder / "work").mkdir()
        shutil.copy(ROOT / "examples/mail.csv", self.folder / "work")
        path = f"{self.folder}/bin:{os.environ['PATH']}"
        self.env = {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "100"}
        self.background = []

    def run(self, command):
        """What a command prints."""
        real = command.replace("8080", self.port)
        if "tamis serve" in real:
            real = real.replace("tamis serve", f"tamis serve --port {self.port}")
        options = {"cwd": self.folder / "work", "env": self.env, "text": True}
        if real.endswith("&"):
            server = subprocess.Popen(["sh", "-c", f"exec {real[:-1]}"], stderr=subprocess.PIPE, **options)
            self.background.append(server)
            for line in server.stderr:
                if "http://" in line:
                    return ""
            raise SystemExit(f"{command} ended")
        done = subprocess.run(["sh", "-c", real], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False, **options)
        if done.returncode != 0:
            raise SystemExit(f"{command} ended with {done.returncode}:\n{done.stdout}")
        lines = [line.rstrip() for line in done.stdout.replace(self.port, "8080").rstrip().splitlines()]
        return "\n".join(lines)

    def close(self):
        for server in self.background:
            server.send_signal(signal.SIGTERM)
            server.wait(60)
        shutil.rmtree(self.folder)


def main():
    page, program, write = pathlib.Path(sys.argv[1]), sys.argv[2], "--write" in sys.argv
    text = page.read_text(encoding="utf-8")
    shell, wrong, start = Shell(program), [], time.monotonic()
    try:
        def block(match):
            shown = re.split(r"(?m)^\$ ", match[1])[1:]
            if not shown:
                raise SystemExit(f"{page}: a console block without a command")
            made = []
            for part in shown:
                command, _, expected = part.partition("\n")
                output = shell.run(command)
                cut = "…" in expected.splitlines() if expected else False
                if cut:
                    # A page may show the beginning only.
                    keep = expected.splitlines().index("…")
                    output = "\n".join([*output.splitlines()[:keep], "…"])
                if alike(output) != alike(expected):
                    wrong.append(f"$ {command}\n--- the page\n{expected}\n--- now\n{output}\n")
                made.append(f"$ {command}\n{output}\n" if output else f"$ {command}\n")
            return "```console\n" + "".join(made) + "```"

        new = re.sub(r"```console\n(.*?)```", block, text, flags=re.S)
    finally:
        shell.close()
    if write:
        page.write_text(new, encoding="utf-8")
        print(f"{page}: written in {time.monotonic() - start:.0f} s")
    elif wrong:
        raise SystemExit(f"{page} shows something else than the program prints; run cargo xtask docs\n\n" + "\n".join(wrong))
    else:
        print(f"{page}: {text.count('$ ')} commands print what it shows, in {time.monotonic() - start:.0f} s")


main()
