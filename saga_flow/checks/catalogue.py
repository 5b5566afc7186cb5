"""Every problem that a system check can report, in one list (docs/operations.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.core import checks
from django.core.checks import CheckMessage


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding: ids are stable, so that a host can silence it by its id."""

    number: str
    """E with a number for what can't work, W for a risk."""

    when: str
    remedy: str

    @property
    def id(self) -> str:
        """How Django names it, and ``SILENCED_SYSTEM_CHECKS`` too."""
        return f"saga_flow.{self.number}"

    @property
    def level(self) -> str:
        """error or warning."""
        return "error" if self.number.startswith("E") else "warning"

    def found(self, seen: str) -> CheckMessage:
        """Report it; *seen* names the setting, its value and what is legal."""
        kind = checks.Error if self.level == "error" else checks.Warning
        return kind(seen, hint=self.remedy, id=self.id)


BAD_OPTION: Final = Problem(
    "E001",
    "SAGA_FLOW has an unknown key or a value that is not legal",
    "Correct it; docs/operations.md lists every option.",
)
NAIVE_TIMES: Final = Problem(
    "E002",
    "USE_TZ is false",
    "Set USE_TZ = True: deadlines need times that mean one moment.",
)
NO_DATABASE: Final = Problem(
    "E003",
    "SAGA_FLOW['DATABASE'] names no alias of DATABASES",
    "Name one of the aliases, or add this one to DATABASES.",
)
OTHER_VENDOR: Final = Problem(
    "E004",
    "The engine's database is not SQLite, PostgreSQL or MariaDB",
    "Point SAGA_FLOW['DATABASE'] at one of these; Oracle and MySQL won't do.",
)
OLD_SERVER: Final = Problem(
    "E005",
    "SQLite is older than 3.35, PostgreSQL than 13, or MariaDB than 10.6",
    "Upgrade the database.",
)
ISOLATION: Final = Problem(
    "E006",
    "PostgreSQL or MariaDB at another isolation level than READ COMMITTED",
    "Leave isolation_level out of OPTIONS, or set it to READ COMMITTED.",
)
LATE_LOCK: Final = Problem(
    "E007",
    "SQLite without transaction_mode IMMEDIATE or EXCLUSIVE",
    "Use saga_flow.presets.sqlite_options() as OPTIONS.",
)
NO_DJANGO_Q: Final = Problem(
    "E008",
    "EXECUTOR is django_q and django_q is not in INSTALLED_APPS",
    "Add 'django_q' to INSTALLED_APPS, or choose the executor inline or none.",
)
OLD_DJANGO_Q: Final = Problem(
    "E009",
    "django-q2 is missing or older than 1.11",
    "Install django-q2 1.11 or newer; its predecessor django-q won't do.",
)
NO_BROKER_DATABASE: Final = Problem(
    "E010",
    "Q_CLUSTER['orm'] names no alias of DATABASES",
    "Name the alias that holds the engine's tables.",
)
NOT_A_COUNT: Final = Problem(
    "E011",
    "workers, queue_limit, bulk or retry is not a whole number of at least 1",
    "Use saga_flow.presets.q_cluster(), which refuses such a value by name.",
)
NO_TIMEOUT: Final = Problem(
    "E012",
    "timeout is unset or not a whole number of at least 1",
    "Set it in whole seconds: without it a job may run for ever, and a fraction "
    "fails each job.",
)
GUARD_CYCLE: Final = Problem(
    "E013",
    "guard_cycle is not 0.25, 0.5 or 1",
    "Leave it out for 0.5: with other values an overdue worker is never stopped.",
)
SYNC: Final = Problem(
    "E014",
    "sync is true outside of tests",
    "Remove it: jobs would run inside the request and transaction that send them. "
    "Tests want the executor inline.",
)
SHORT_RETRY: Final = Problem(
    "E015",
    "retry < timeout × (1 + ⌈(queue_limit + bulk) / workers⌉) + 10",
    "Leave retry to saga_flow.presets.q_cluster(): a shorter one runs the same job "
    "twice at once.",
)
LONG_SLICE: Final = Problem(
    "E016",
    "SAGA_FLOW['SLICE'] + 5 s > timeout",
    "Raise timeout or shorten SLICE: a pass must end before its job is stopped.",
)
POOL: Final = Problem(
    "E017",
    "A cluster process with OPTIONS['pool'] on PostgreSQL",
    "Give the cluster settings without the pool: it does not survive the fork.",
)
BAD_CODEC: Final = Problem(
    "E018",
    "SAGA_FLOW['CODEC'] can't be imported, or does not give back what it was given",
    "Name a class with encode_text and decode_text, made without arguments; "
    "docs/authoring.md has one.",
)
BAD_HOOK: Final = Problem(
    "E019",
    "A tenancy hook can't be imported or called, or restores what nothing captures",
    "Name a function without arguments as TENANCY_CAPTURE, and one that returns a "
    "context manager as TENANCY_RESTORE; docs/tenancy.md has both.",
)
NOT_ROUTED: Final = Problem(
    "W001",
    "Django's routers send the engine's tables to another alias than DATABASE",
    "Add 'saga_flow.routers.SagaFlowRouter' to DATABASE_ROUTERS, before others.",
)
ATOMIC_REQUESTS: Final = Problem(
    "W002",
    "ATOMIC_REQUESTS on the engine's database",
    "Know that a start joins the request's transaction: its run begins when the "
    "request ends, and waiting for its result in the same request raises "
    "RunNotCommitted. Views that wait need transaction.non_atomic_requests.",
)
NO_WAL: Final = Problem(
    "W003",
    "SQLite whose journal_mode is not WAL",
    "Use saga_flow.presets.sqlite_options() as OPTIONS, on a disk of this host: "
    "without WAL readers and the writer block each other.",
)
IMPATIENT: Final = Problem(
    "W004",
    "SQLite with a timeout below 20 seconds",
    "Use saga_flow.presets.sqlite_options(): a cluster that meets a locked database "
    "loses results and runs jobs again.",
)
SHORT_CONNECTIONS: Final = Problem(
    "W005",
    "CONN_MAX_AGE is 0 on PostgreSQL or MariaDB",
    "Set CONN_MAX_AGE = None and CONN_HEALTH_CHECKS = True: a new connection for "
    "each job is ten times slower.",
)
NO_HEALTH_CHECKS: Final = Problem(
    "W006",
    "CONN_MAX_AGE is not 0 and CONN_HEALTH_CHECKS is false",
    "Set CONN_HEALTH_CHECKS = True: a worker must notice that the server dropped "
    "its connection.",
)
LONG_QUEUE: Final = Problem(
    "W007",
    "queue_limit > workers",
    "Set queue_limit to the number of workers: what was fetched waits behind other "
    "jobs and prolongs every stop.",
)
LARGE_BULK: Final = Problem(
    "W008",
    "bulk > workers",
    "Set bulk to 1: jobs fetched beyond the workers wait where no other cluster "
    "can take them.",
)
AT_MOST_ONCE: Final = Problem(
    "W009",
    "The broker is Redis",
    "Keep SAGA_FLOW['SWEEPS'] on: a job whose worker dies is lost, and only the "
    "sweeps find its run. Or use the ORM broker on the engine's database.",
)
OTHER_BROKER_DATABASE: Final = Problem(
    "W010",
    "Q_CLUSTER['orm'] is another alias than SAGA_FLOW['DATABASE']",
    "Use one alias for both: then a job is committed together with what it is about.",
)
ENDLESS: Final = Problem(
    "W011",
    "max_attempts is 0",
    "Set max_attempts, such as 5: a job that always fails would come back for ever.",
)
UNACKNOWLEDGED: Final = Problem(
    "W012",
    "ack_failures is false",
    "Set ack_failures = True: a job that failed would come back after retry.",
)
CATCH_UP: Final = Problem(
    "W013",
    "catch_up is true",
    "Set catch_up = False: after a downtime every missed slot of a schedule would "
    "run at once.",
)
KEPT_SUCCESSES: Final = Problem(
    "W014",
    "save_limit is 0 or more",
    "Set save_limit = -1: saving a success costs more than the job. Silence this "
    "if jobs of your own need their results.",
)
UNKNOWN_CLUSTER: Final = Problem(
    "W015",
    "The variable Q_CLUSTER_NAME names no cluster of Q_CLUSTER",
    "Add the name to Q_CLUSTER['ALT_CLUSTERS'], or unset the variable; without any "
    "ALT_CLUSTERS django-q2 refuses to load.",
)
UNSERVED_QUEUE: Final = Problem(
    "W016",
    "A queue that a workflow, an action or SAGA_FLOW['QUEUE'] names and no cluster "
    "serves",
    "Add the queue to Q_CLUSTER['ALT_CLUSTERS'] and start a cluster for it, or "
    "correct the name.",
)
NO_SCHEDULE: Final = Problem(
    "W017",
    "A sweep has no row in django-q2's schedule",
    "Run manage.py migrate, which adds it.",
)
POOL_ELSEWHERE: Final = Problem(
    "W018",
    "OPTIONS['pool'] on PostgreSQL, seen by a process that is no cluster",
    "Make sure that the cluster's settings have no pool; it refuses to start on one.",
)
LONG_STEP: Final = Problem(
    "W019",
    "An action's timeout + SAGA_FLOW['SLICE'] + 5 s > timeout",
    "Raise the cluster's timeout: a step that begins at the end of its slice must "
    "reach its own limit before its job is stopped.",
)

PROBLEMS: Final = tuple(each for each in globals().values() if type(each) is Problem)
"""All of them, errors first, by number."""
