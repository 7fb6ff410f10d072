"""Real servers for the tests. ``TANGLEWOOD`` names the binary."""

import os
import shutil
import signal
import socket
import subprocess
import time

import pytest


def binary():
    found = os.environ.get("TANGLEWOOD") or shutil.which("tanglewood")
    if not found:
        pytest.skip("needs the binary: set TANGLEWOOD")
    return found


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Group:
    """Replicas in processes of their own."""

    def __init__(self, folder, replicas, flags=()):
        self.folder, self.flags = folder, list(flags)
        self.addresses = ["127.0.0.1:%d" % port for port in free_ports(replicas)]
        self.processes = [None] * replicas
        for at in range(replicas):
            self.start(at)

    def start(self, at):
        command = [binary(), "kronos", "--listen", self.addresses[at], "--data", str(self.folder / str(at))]
        if len(self.addresses) > 1:
            command += ["--peers", ",".join(self.addresses)]
        log = open(self.folder / ("%d.log" % at), "a")
        self.processes[at] = subprocess.Popen(command + self.flags, stdout=log, stderr=log)
        host, port = self.addresses[at].split(":")
        until = time.monotonic() + 30
        while True:
            try:
                socket.create_connection((host, int(port)), 1).close()
                return
            except OSError:
                assert time.monotonic() < until and self.processes[at].poll() is None, "it does not listen"
                time.sleep(0.02)

    def kill(self, at):
        self.processes[at].send_signal(signal.SIGKILL)
        self.processes[at].wait()

    def end(self):
        for process in self.processes:
            if process and process.poll() is None:
                process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture
def group(tmp_path):
    """Starts groups, and ends them."""
    made = []

    def start(replicas=1, flags=()):
        made.append(Group(tmp_path, replicas, flags))
        return made[-1]

    yield start
    for one in made:
        one.end()
