"""
The servers that tests may use: found running, else started for the run's length.

A server that is neither running nor can be started is *absent*, with the reason in
words. Nothing that was running before is ever stopped.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

START_SECONDS = 60
STOP_SECONDS = 30

Environment = dict[str, str]


class Absent(Exception):
    """No such server is to be had here; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One kind of server, how to reach it and how to start one's own."""

    name: str
    defaults: Mapping[str, str]
    """The environment variables by which settings find it, with their defaults."""

    ping: Callable[[Mapping[str, str]], None]
    """Raise, with the driver's own error, unless the server answers."""

    commands: Callable[[Path, int], Iterator[list[str]]]
    """In a folder and on a port: what prepares the server, lastly what runs it."""

    account: str
    """Who runs it when this process is root."""

    variables: Callable[[int], Environment]
    """Where settings find the started one."""


@contextlib.contextmanager
def available(server: Server) -> Iterator[Environment]:
    """
    Yield the environment in which *server* is found; end what was started for it.

    Raises Absent when there is none and none can be started.
    """
    found = {
        name: os.environ.get(name, value) for name, value in server.defaults.items()
    }
    why = _refusal(server, found)
    if why is None:
        yield found
        return
    with _started(server, why) as started:
        yield started


def _refusal(server: Server, env: Mapping[str, str]) -> str | None:
    try:
        server.ping(env)
    except ImportError as error:
        raise Absent(f"its driver is not installed ({error})") from error
    # Each driver has an error tree of its own, and all mean: not reachable.
    except Exception as error:  # noqa: BLE001
        return " ".join(str(error).split())
    return None


@contextlib.contextmanager
def _started(server: Server, why: str) -> Iterator[Environment]:
    with tempfile.TemporaryDirectory(
        prefix=f"saga-{server.name.lower()}-", ignore_cleanup_errors=True
    ) as name:
        folder, port = Path(name), _free_port()
        account = server.account if os.geteuid() == 0 else None
        try:
            if account:
                shutil.chown(folder, account)
            process = _launch(server, folder, port, account)
        except (OSError, LookupError, subprocess.CalledProcessError) as error:
            raise Absent(f"none answers ({why}) and none starts: {error}") from error
        try:
            env = os.environ | server.variables(port)
            _await_answer(server, env, process, folder)
            yield server.variables(port)
        finally:
            _stop(process)


def _launch(
    server: Server, folder: Path, port: int, account: str | None
) -> subprocess.Popen[bytes]:
    *prepare, serve = server.commands(folder, port)
    with (folder / "log").open("ab") as log:
        for command in prepare:
            subprocess.run(
                command, check=True, stdout=log, stderr=log, user=account, cwd=folder
            )
        # A session of its own, so that Ctrl-C ends the tests before their server.
        return subprocess.Popen(
            serve,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            user=account,
            cwd=folder,
            start_new_session=True,
        )


def _await_answer(
    server: Server,
    env: Mapping[str, str],
    process: subprocess.Popen[bytes],
    folder: Path,
) -> None:
    deadline = monotonic() + START_SECONDS
    while (why := _refusal(server, env)) is not None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.2)
        if process.poll() is not None or monotonic() > deadline:
            log = (folder / "log").read_text(errors="replace")[-2000:]
            raise Absent(f"the one started does not answer ({why}):\n{log}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _program(*names: str) -> str:
    """Return the first of *names* that is on the path or where Debian hides it."""
    for name in names:
        places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
        found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        if found or places:
            return found or str(places[-1])
    raise LookupError(f"{' or '.join(names)} is not installed")


# ------------------------------------------------------------------ PostgreSQL


def _ping_postgresql(env: Mapping[str, str]) -> None:
    import psycopg

    psycopg.connect(
        host=env["PGHOST"],
        port=env["PGPORT"],
        user=env["PGUSER"],
        password=env["PGPASSWORD"],
        dbname="postgres",
        connect_timeout=3,
    ).close()


def _postgresql_commands(folder: Path, port: int) -> Iterator[list[str]]:
    data = str(folder / "data")
    yield [_program("initdb"), "-D", data, "-U", "postgres", "-A", "trust", "--no-sync"]
    yield [
        _program("postgres"),
        *("-D", data, "-k", str(folder), "-h", "127.0.0.1", "-p", str(port)),
        *("-c", "fsync=off", "-c", "max_connections=200"),
    ]


POSTGRESQL = Server(
    name="PostgreSQL",
    defaults={
        "PGHOST": "127.0.0.1",
        "PGPORT": "5432",
        "PGUSER": "postgres",
        "PGPASSWORD": "",
    },
    ping=_ping_postgresql,
    commands=_postgresql_commands,
    account="postgres",
    variables=lambda port: {
        "PGHOST": "127.0.0.1",
        "PGPORT": str(port),
        "PGUSER": "postgres",
        "PGPASSWORD": "",
    },
)

# --------------------------------------------------------------------- MariaDB


def _ping_mariadb(env: Mapping[str, str]) -> None:
    import MySQLdb

    connection = MySQLdb.connect(
        host=env["MYSQL_HOST"],
        port=int(env["MYSQL_TCP_PORT"]),
        user=env["MYSQL_USER"],
        password=env["MYSQL_PWD"],
        connect_timeout=3,
    )
    connection.close()


def _mariadb_commands(folder: Path, port: int) -> Iterator[list[str]]:
    data = f"--datadir={folder / 'data'}"
    yield [
        _program("mariadb-install-db", "mysql_install_db"),
        "--no-defaults",
        data,
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
    ]
    yield [
        _program("mariadbd", "mysqld"),
        "--no-defaults",
        data,
        f"--socket={folder / 'socket'}",
        f"--pid-file={folder / 'pid'}",
        "--bind-address=127.0.0.1",
        f"--port={port}",
        "--innodb-flush-log-at-trx-commit=0",
    ]


MARIADB = Server(
    name="MariaDB",
    defaults={
        "MYSQL_HOST": "127.0.0.1",
        "MYSQL_TCP_PORT": "3306",
        "MYSQL_USER": "root",
        "MYSQL_PWD": "",
    },
    ping=_ping_mariadb,
    commands=_mariadb_commands,
    account="mysql",
    variables=lambda port: {
        "MYSQL_HOST": "127.0.0.1",
        "MYSQL_TCP_PORT": str(port),
        "MYSQL_USER": "root",
        "MYSQL_PWD": "",
    },
)

# ----------------------------------------------------------------------- Redis


def _ping_redis(env: Mapping[str, str]) -> None:
    import redis

    client: Any = redis.Redis(
        host=env["REDIS_HOST"], port=int(env["REDIS_PORT"]), socket_timeout=3
    )
    client.ping()
    client.close()


def _redis_commands(folder: Path, port: int) -> Iterator[list[str]]:
    yield [
        _program("redis-server"),
        *("--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder)),
        *("--save", "", "--appendonly", "no"),
    ]


REDIS = Server(
    name="Redis",
    defaults={"REDIS_HOST": "127.0.0.1", "REDIS_PORT": "6379"},
    ping=_ping_redis,
    commands=_redis_commands,
    account="nobody",
    variables=lambda port: {"REDIS_HOST": "127.0.0.1", "REDIS_PORT": str(port)},
)
