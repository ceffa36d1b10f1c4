#!/usr/bin/env python3
"""Measures training on several hosts that hosts.sh plays on this machine, and prints the tables of docs/nodes.md.

    bench/nodes/run.sh                                (as root; builds what it needs)
    bench/nodes/measure.py --parts sums,train,cut --rates 100mbit,1gbit --mpis openmpi,mpich

sums   what the library needs to sum weights over all hosts, without hogwild, beside the formula
train  mlp:128 on MNIST on one host, and on all of them, from the report of node 0
cut    the link of one host goes down while they train: who ends when, what is saved, and that the
       same command continues

The hosts share the cores of this machine. So speeds say how much time communication takes, not how
much faster several machines train.
"""
import argparse, json, math, os, shutil, signal, statistics, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
HOSTS = os.path.join(HERE, "hosts.sh")
BUILD = os.path.join(HERE, "..", "..", "build", "nodes")
BITS = {"mbit": 1e6, "gbit": 1e9}


def hosts(*words, **more):
    return subprocess.run([HOSTS, *map(str, words)], check=True, text=True, stdout=subprocess.PIPE, **more).stdout


def rate(text):
    """Bytes per second of a rate as tc writes it."""
    return float(text[:-4]) * BITS[text[-4:]] / 8


def cost(n, size, bytes_per_second, latency):
    """Seconds for a sum of size bytes over n hosts: 2 ceil(log2 n) a + 2 (n-1)/n size/B."""
    return 2 * math.ceil(math.log2(n)) * latency + 2 * (n - 1) / n * size / bytes_per_second


def sums(a, link):
    for mpi in a.mpis:
        for floats, times in (100_000, 20), (10_000_000, 3):
            n, size = a.hosts, 4 * floats
            latency, took, sent = map(float, hosts("run", mpi, program(mpi, "allreduce"), floats, times).split()[2:])
            _, sleeping, sent_sleeping = map(float, hosts("run", mpi, program(mpi, "allreduce"), floats, times, "sleep").split()[2:])
            print(f"| {mpi} | {link} | {floats:,} | {2 * (n - 1) / n * size / 1e6:.2f} | {sent / 1e6:.2f} | {sent_sleeping / 1e6:.2f} | "
                  f"{cost(n, size, rate(link), latency):.3f} | {took:.3f} | {sleeping:.3f} |", flush=True)


def program(mpi, name):
    return os.path.abspath(os.path.join(BUILD, mpi, name))


def settings(a, folder, *more):
    return ["train", "--data", a.data, "--model", "mlp:128", "--seed", "1", "--run", folder, *more]


def train(a, link):
    """One host with as many workers in all, and then all hosts with one worker each."""
    for mpi in a.mpis:
        for rounds in a.rounds:
            report, wire = [], []
            for _ in range(a.repeat):
                folder = tempfile.mkdtemp(prefix="hogwild-nodes-")
                before = int(hosts("bytes"))
                out = hosts("run", mpi, program(mpi, "hogwild"), *settings(a, folder, "--workers", 1, "--epochs", a.epochs, "--rounds", rounds, "--json", "--quiet"))
                wire.append((int(hosts("bytes")) - before) / a.hosts)
                report.append(json.loads(out))
                shutil.rmtree(folder)
            row(a, mpi, link, rounds, report, wire)


def alone(a):
    """The same number of workers on one host: what the others are compared with."""
    report = []
    for _ in range(a.repeat):
        folder = tempfile.mkdtemp(prefix="hogwild-nodes-")
        words = settings(a, folder, "--workers", a.hosts, "--epochs", a.epochs, "--json", "--quiet")
        report.append(json.loads(subprocess.check_output([program(a.mpis[0], "hogwild"), *map(str, words)], text=True)))
        shutil.rmtree(folder)
    print(f"| one node, {a.hosts} workers | | | | | | | {middle(report, 'examples_per_second'):,.0f} | {middle(report, 'test_loss'):.4f} |", flush=True)


def middle(report, key):
    return statistics.median(r[key] for r in report)


def row(a, mpi, link, rounds, report, wire):
    r = sorted(report, key=lambda r: r["examples_per_second"])[len(report) // 2]
    on = r
    size, n = on["node_bytes"] / on["node_rounds"], a.hosts
    want = cost(n, size, rate(link), 50e-6)
    print(f"| {mpi} | {link} | {rounds} | {on['node_rounds']} | {2 * (n - 1) / n * size / 1e6:.3f} | {statistics.median(wire) / on['node_rounds'] / 1e6:.3f} | "
          f"{want:.3f}; {on['sum_seconds'] / on['node_rounds']:.3f} | {middle(report, 'examples_per_second'):,.0f} | {middle(report, 'test_loss'):.4f} |", flush=True)


def coordinators(a):
    """Which hosts still have a process called hogwild: coordinators and their workers."""
    left = []
    for i in range(1, a.hosts + 1):
        for pid in subprocess.run(["ip", "netns", "pids", f"hw{i}"], text=True, stdout=subprocess.PIPE).stdout.split():
            try:
                with open(f"/proc/{pid}/comm") as f:
                    if f.read().strip() == "hogwild" and i not in left:
                        left.append(i)
            except OSError:
                pass  # it has ended
    return left


def wait_for(what, seconds, condition):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"measure.py: no {what} within {seconds} s")
        time.sleep(0.05)


def cut(a, link):
    for mpi in a.mpis:
        folder, timeout = tempfile.mkdtemp(prefix="hogwild-nodes-"), 5
        words = settings(a, folder, "--workers", 1, "--epochs", 100_000, "--rounds", 8, "--node-timeout", f"{timeout}s", "--resume", folder, "--save-every", "0")
        command = [HOSTS, "run", mpi, program(mpi, "hogwild"), *map(str, words)]
        log = open(os.path.join(folder, "first.log"), "w")
        job = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        metrics = os.path.join(folder, "metrics.jsonl")
        wait_for("second epoch", 60, lambda: os.path.exists(metrics) and sum('"epoch"' in line for line in open(metrics)) >= 2)
        time.sleep(0.5)
        hosts("cut", a.hosts)
        start, gone = time.monotonic(), {}
        while len(gone) < a.hosts and time.monotonic() - start < 10 * timeout:
            left = coordinators(a)
            for i in range(1, a.hosts + 1):
                if i not in left:
                    gone.setdefault(i, time.monotonic() - start)
            time.sleep(0.02)
        try:
            status = f"{job.wait(30)} after {time.monotonic() - start:.1f} s"
        except subprocess.TimeoutExpired:
            status = "none: it waits for the host behind the link"
            os.killpg(job.pid, signal.SIGKILL)
        snapshot = os.path.join(folder, "snapshot.safetensors")
        print(f"{mpi}, {link}: coordinators ended " + ", ".join(f"host {i}: {gone.get(i, math.nan):.1f} s" for i in range(1, a.hosts + 1)) +
              f" after the cut (--node-timeout {timeout}s); the launcher's status: {status}; a snapshot: {'yes' if os.path.exists(snapshot) else 'NO'}", flush=True)
        print("".join("    " + line for line in open(log.name) if line.startswith("hogwild:")), end="")
        hosts("mend", a.hosts)
        for i in range(1, a.hosts + 1):
            for pid in subprocess.run(["ip", "netns", "pids", f"hw{i}"], text=True, stdout=subprocess.PIPE).stdout.split():
                os.kill(int(pid), signal.SIGKILL)
        time.sleep(2)
        epoch = 1 + max(json.loads(line).get("epoch", 0) for line in open(metrics) if '"epoch"' in line)
        words[words.index("--epochs") + 1] = epoch + 2
        again = subprocess.run([HOSTS, "run", mpi, program(mpi, "hogwild"), *map(str, words)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        print(f"{mpi}: the same command with the link up and {epoch + 2} epochs: status {again.returncode}")
        shown = [line for line in again.stdout.splitlines() if again.returncode or "epoch" in line or "resum" in line]
        print("".join("    " + line + "\n" for line in shown), end="", flush=True)
        shutil.rmtree(folder)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: text.split(",")
    p.add_argument("--parts", type=words, default=["sums", "train", "cut"])
    p.add_argument("--rates", type=words, default=["100mbit", "1gbit"])
    p.add_argument("--mpis", type=words, default=["openmpi", "mpich"])
    p.add_argument("--rounds", type=words, default=["1", "8", "auto"])
    p.add_argument("--hosts", type=int, default=4)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--data", default=os.path.join(os.environ.get("HOGWILD_DATA", os.path.join(HERE, "..", "..", "..", "shared", "data")), "mnist"))
    a = p.parse_args()
    a.data = os.path.abspath(a.data)
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:  # an exit passes through finally, which removes the hosts
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    for part in a.parts:
        head = {"sums": "| MPI | link | floats | MB a host: formula | MPI_Allreduce | as hogwild-mpi | seconds: formula | MPI_Allreduce | as hogwild-mpi |\n|---|---|---:|---:|---:|---:|---:|---:|---:|",
                "train": "| MPI | link | --rounds | rounds | MB a round and host: formula | measured | s a round: formula; measured | examples/s | test loss |\n|---|---|---:|---:|---:|---:|---:|---:|---:|",
                "cut": ""}[part]
        print("\n" + head, flush=True)
        if part == "train":
            alone(a)
        for link in a.rates if part != "cut" else a.rates[:1]:
            try:
                hosts("up", a.hosts, link)
                {"sums": sums, "train": train, "cut": cut}[part](a, link)
            finally:
                hosts("down")


if __name__ == "__main__":
    main()
