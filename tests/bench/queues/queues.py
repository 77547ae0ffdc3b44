#!/usr/bin/env python3
"""queues - Tenure's consumer beside two job queues, graphile-worker and pg-boss, on one PostgreSQL server

usage: queues [--systems tenure,graphile-worker,pg-boss] [--messages N] [--rounds N] [--limit SECONDS]
              [--crashes N] [--handovers N] [--kills N] [--stream N] [--tenure FILE] [--packages DIR]

Each message becomes one row of a ledger. It starts its own PostgreSQL, with its default settings, and three ZooKeeper
servers; data goes to TMPDIR. The peers come from npm, with a Node.js of their own, into --packages; where that fails
it says so and measures the rest.

  --systems LIST    what is measured (all)
  --messages N      messages that wait when a worker starts (20000)
  --rounds N        rounds of all systems, each in another order; medians are shown (3)
  --limit SECONDS   a worker that is not done by then is measured by what it has done (20)
  --crashes N       kill -9 of each system's worker while it works; 0: leave that out (5)
  --handovers N     handovers between two replicas of Tenure; 0: none (20)
  --kills N         leaders of these that are killed; 0: none (10)
  --stream N        messages a second that come meanwhile (1000)
  --tenure FILE     the tool (tenure, of the build that this program stands in)
  --packages DIR    where the peers are installed (tenure-bench-queues in the user's cache folder)

Exits non-zero when Tenure lost, doubled or swapped a message.
"""

import sys

sys.dont_write_bytecode = True

import argparse
from pathlib import Path
from statistics import median

from ground import HOUSE, Ground
from measures import Crash, Replicas, backlog, measure_rate
from systems import Tenure, default_packages, graphile_workers, install, pg_bosses

FAMILIES = ("tenure", "graphile-worker", "pg-boss")


class Wishes(argparse.ArgumentParser):
    def error(self, message):
        print(f"queues: {message}; see --help", file=sys.stderr)
        sys.exit(64)


def wishes_from(words):
    here = Path(sys.argv[0]).absolute().parent
    beside = here.parent / "tenure"
    wishes = Wishes(add_help=False, allow_abbrev=False)
    wishes.add_argument("-h", "--help", action="store_true")
    wishes.add_argument("--systems", default=",".join(FAMILIES))
    numbers = {"messages": 20000, "rounds": 3, "limit": 20, "crashes": 5, "handovers": 20, "kills": 10, "stream": 1000}
    for name, otherwise in numbers.items():
        wishes.add_argument(f"--{name}", type=int, default=otherwise)
    wishes.add_argument("--tenure", type=Path, default=beside if beside.is_file() else HOUSE / "build/release/tenure")
    wishes.add_argument("--packages", type=Path, default=default_packages())
    asked = wishes.parse_args(words)
    asked.systems = asked.systems.split(",")
    for family in asked.systems:
        if family not in FAMILIES:
            wishes.error(f"no system '{family}'")
    if not asked.help and not asked.tenure.is_file():
        wishes.error(f"no tool at {asked.tenure}")
    return asked


def systems_of(wishes, ground):
    systems = [Tenure(ground, wishes.tenure.absolute())] if "tenure" in wishes.systems else []
    if wishes.systems == ["tenure"]:
        return systems
    why = install(wishes.packages)
    if why:
        print(f"\n*** THE PEERS ARE LEFT OUT: {why}\n", flush=True)
        return systems
    makers = {"graphile-worker": graphile_workers, "pg-boss": pg_bosses}
    for family in wishes.systems:
        if family in makers:
            systems += makers[family](ground, wishes.packages.absolute())
    return systems


def table(head, rows):
    """Aligned columns, the first two to the left."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        cells = [cell.ljust(width) if i < 2 else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip(), flush=True)


def tell(step):
    print(step, file=sys.stderr, flush=True)


def figure(number):
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}"


def yes_or(misplaced):
    return "yes" if misplaced == 0 else f"no ({misplaced:,})"


def rates(wishes, ground, systems):
    templates, measured = {}, {system: [] for system in systems}
    for system in systems:
        if system.sending not in templates:
            templates[system.sending] = backlog(ground, system, wishes.messages)
    for number in range(wishes.rounds):
        tell(f"round {number + 1} of {wishes.rounds}")
        shift = number % len(systems)
        for system in systems[shift:] + systems[:shift]:
            template = templates[system.sending]
            measured[system].append(measure_rate(ground, system, template, wishes.messages, wishes.limit))
    for template in templates.values():
        ground.postgres.drop(template)
    return measured


def show_rates(wishes, measured):
    first = next(iter(measured))
    base = median([rate.whole for rate in measured[first]])
    rows = []
    for system, of_it in measured.items():
        whole = median([rate.whole for rate in of_it])
        done = min(rate.rows for rate in of_it)
        rows.append((system.name, system.way, figure(whole), figure(median([rate.steady for rate in of_it])),
                     f"{whole / base:.2g}", f"{done:,}", yes_or(max(rate.misplaced for rate in of_it)),
                     system.promise))
    print(f"\n{wishes.messages:,} messages that wait, a row each; messages a second, medians of {wishes.rounds}")
    head = ("system", "settings", "from its start", "steady", f"of {first.name}", "done", "in order", "after a crash")
    table(head, rows)


def crashes(wishes, ground, systems, measured):
    """As many messages as take its worker a while."""
    aftermaths = {}
    for system in systems:
        if not system.is_crashed:
            continue
        tell(f"kill -9: {system.name}, {system.way}")
        rate = median([rate.whole for rate in measured[system]])
        messages = int(min(wishes.messages, max(20 * rate, 200)))
        aftermaths[system] = messages, Crash(ground, system, messages).run(wishes.crashes)
    return aftermaths


def show_crashes(wishes, aftermaths):
    rows = [(system.name, system.way, f"{messages:,}", f"{after.twice:,}", f"{after.missing:,}",
             yes_or(after.misplaced), f"{after.held:,}")
            for system, (messages, after) in aftermaths.items()]
    print(f"\nkill -9 of each worker while it works ({wishes.crashes}), and another one started each time")
    table(("system", "settings", "messages", "done twice", "missing", "in order", "held"), rows)
    if any(after.held for _, after in aftermaths.values()):
        print("held: not worked until what the dead worker had was freed: by graphile-worker after 4 hours, or by hand\n"
              "as here; by pg-boss after expireInSeconds (15 minutes, let pass here).")


def spread(gaps):
    return f"{len(gaps):4} {min(gaps):9.1f} {median(gaps):9.1f} {max(gaps):9.1f}"


def handovers(wishes, ground, tenure):
    tell("handovers")
    asked, killed, usual, wrong = Replicas(ground, tenure, wishes.stream).run(wishes.handovers, wishes.kills)
    print(f"\nTwo replicas of tenure consume --sql, and {wishes.stream:,} messages a second: milliseconds from the last\n"
          f"commit of a leader to the first of the next; between other commits {usual:.1f} (median)")
    print(f"{'':20} {'n':>4} {'min':>9} {'median':>9} {'max':>9}")
    for what, gaps in (("tenure handover", asked), ("kill -9", killed)):
        if gaps:
            print(f"{what:20} {spread(gaps)}")
    print(f"messages done twice {wrong.twice}, missing {wrong.missing}, misplaced {wrong.misplaced}", flush=True)
    return wrong.twice == wrong.missing == wrong.misplaced == 0


def measure(wishes, ground):
    ground.start()
    systems = systems_of(wishes, ground)
    print(f"PostgreSQL in {ground.folder.parent}, where a commit takes "
          f"{ground.postgres.milliseconds_of_a_commit():.1f} ms; three ZooKeeper servers for Tenure", flush=True)
    good = True
    measured = rates(wishes, ground, systems)
    if systems:
        show_rates(wishes, measured)
    if wishes.crashes > 0 and systems:
        aftermaths = crashes(wishes, ground, systems, measured)
        show_crashes(wishes, aftermaths)
    for system in systems:
        if system.name != "Tenure":
            continue
        good = good and not any(rate.twice or rate.misplaced for rate in measured[system])
        if wishes.crashes > 0:
            _, after = aftermaths[system]
            good = good and after.twice == after.missing == after.misplaced == 0
        if wishes.handovers + wishes.kills > 0:
            good = handovers(wishes, ground, system) and good
    return 0 if good else 1


def main():
    wishes = wishes_from(sys.argv[1:])
    if wishes.help:
        print(__doc__)
        return 0
    ground = Ground()
    try:
        return measure(wishes, ground)
    except KeyboardInterrupt:
        return 130
    finally:
        ground.end()


if __name__ == "__main__":
    sys.exit(main())
