"""Run a list of experiments side by side: a line of the plan is arguments for experiment.py, or for a script it names first.

python grid.py plan.txt --model MINILM --data GLUE_FOLDER --out scores.jsonl --workers 12 --seconds 560
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plan")
    parser.add_argument("--model", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--workers", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=560)
    parser.add_argument("--done", help="file of jobs that are finished; appended to, and skipped next time")
    args = parser.parse_args()
    jobs = [line for line in Path(args.plan).read_text().splitlines() if line.strip() and not line.startswith("#")]
    done = Path(args.done) if args.done else None
    if done is not None and done.exists():
        finished = set(done.read_text().splitlines())
        jobs = [job for job in jobs if job not in finished]
    here = Path(__file__).resolve().parent
    root = here.parent.parent
    paths = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    running: dict[subprocess.Popen[bytes], tuple[str, float]] = {}
    end = time.time() + args.seconds
    waiting = list(jobs)
    while waiting or running:
        while waiting and len(running) < args.workers and time.time() < end:
            job = waiting.pop(0)
            words = shlex.split(job)
            script = words.pop(0) if words[0].endswith(".py") else "experiment.py"
            given = ["--model", args.model, "--data", args.data, "--out", args.out]
            command = [sys.executable, str(here / script), *given, *words]  # a line's own --model counts: it comes last
            log = open(f"{args.out}.log", "ab")  # noqa: SIM115 - lives as long as the process
            running[subprocess.Popen(command, env=environment, stdout=log, stderr=log)] = (job, time.time())
        for process, (job, began) in list(running.items()):
            if process.poll() is not None:
                del running[process]
                if done is not None and process.returncode == 0:
                    with done.open("a") as file:
                        file.write(job + "\n")
                print(f"{time.time() - began:6.0f} s  rc {process.returncode}  {job}", flush=True)
        if time.time() > end:
            for process in running:
                process.kill()
            print(f"out of time: {len(running)} running and {len(waiting)} waiting experiments were not finished", flush=True)
            return
        time.sleep(0.2)


if __name__ == "__main__":
    main()
