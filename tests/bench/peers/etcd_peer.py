"""A replica that leads while `etcdctl lock` runs and says that it has the lock."""

import subprocess

from replica import Replica

replica = Replica()
lease = str(max(1, int(replica.session_ms) // 1000))
command = ["etcdctl", "--endpoints", replica.hosts, "lock", "--ttl", lease, replica.election]

while True:
    replica.stand_by()
    lock = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        if lock.stdout.readline():
            replica.lead(lambda: lock.poll() is None)
    finally:
        lock.terminate()
        lock.wait()
