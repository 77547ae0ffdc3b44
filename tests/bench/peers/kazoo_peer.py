"""A replica that leads by kazoo's Election, and stops working while its connection is not known to be good."""

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import KazooException

from replica import Replica

replica = Replica()
client = KazooClient(hosts=replica.hosts, timeout=int(replica.session_ms) / 1000)
trusted = False


def watch_connection(state):
    global trusted
    if state != KazooState.CONNECTED:
        trusted = False


def work():
    global trusted
    trusted = client.state == KazooState.CONNECTED
    replica.lead(lambda: trusted)


client.add_listener(watch_connection)
client.start(timeout=60)
while True:
    replica.stand_by()
    try:
        client.Election("/kazoo/" + replica.election, replica.id).run(work)
    except KazooException:
        pass  # the session is gone: contend again with the next
