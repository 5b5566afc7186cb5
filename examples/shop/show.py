"""The demo's course: a fresh shop, its services, its orders, the table."""

from __future__ import annotations

import json
import secrets
import signal
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.error import HTTPError

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.urls import reverse

from examples.shop import drive, gate, outcome, processes, report
from examples.shop.backend import stock
from examples.shop.drive import Drive
from examples.shop.folder import Folder
from examples.shop.orders import read_catalogue, read_orders
from examples.shop.processes import Service, ServiceDied
from examples.shop.progress import Progress
from examples.shop.report import Report

_LIMIT_SECONDS = 150.0
_CLUSTER_PATIENCE = 15.0
_WEB_PATIENCE = 5.0
_WEB_READY_SECONDS = 30.0
_WEB_LOOK_SECONDS = 0.2
_PREFERRED_PORT = 8000
_LOGIN = "demo"


def run(folder: Folder, *, once: bool) -> int:
    """
    Run the demo in *folder*; return the exit code.

    Raises ServiceDied when the cluster or the web server ends by itself.
    """
    began = time.monotonic()
    progress = Progress()
    progress.say(f"a fresh shop in {folder.root}")
    password = _open_shop()
    port = processes.free_port(_PREFERRED_PORT)
    with _services(folder, port) as services:
        console = _console(port, services[1])
        result = _take_orders(folder, services, progress, began=began, once=once)
        print(report.table(result), flush=True)
        if result.faults:
            _point_to_logs(services)
        if not once:
            _stay(services, console, password)
    if once:
        print(json.dumps(report.figures(result), sort_keys=True), flush=True)
    return 1 if result.faults else 0


def _open_shop() -> str:
    """Make tables, stock and an operator; return the operator's password."""
    call_command("migrate", verbosity=0, interactive=False)
    for article in read_catalogue():
        stock.receive(article.sku, article.name, article.pieces)
    password = secrets.token_urlsafe(9)
    get_user_model().objects.create_superuser(
        username=_LOGIN, email="demo@shop.example", password=password
    )
    return password


@contextmanager
def _services(folder: Folder, port: int) -> Iterator[tuple[Service, Service]]:
    cluster = processes.start(
        "cluster", "qcluster", folder=folder, patience=_CLUSTER_PATIENCE
    )
    try:
        web = processes.start(
            "web",
            "runserver",
            "--noreload",
            f"127.0.0.1:{port}",
            folder=folder,
            patience=_WEB_PATIENCE,
        )
        try:
            yield cluster, web
        finally:
            _undisturbed()
            processes.stop(web)
    finally:
        _undisturbed()
        processes.stop(cluster)


def _undisturbed() -> None:
    # A second Ctrl-C while stopping would leave processes behind; stopping ends
    # within the services' patience anyway.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _take_orders(
    folder: Folder,
    services: tuple[Service, Service],
    progress: Progress,
    *,
    began: float,
    once: bool,
) -> Report:
    orders = read_orders()
    victim = orders[0].order_id
    gate.shut(folder.gates, victim)
    under_way = Drive(
        orders=orders,
        decided_for=drive.deciders(orders, all_of_them=once),
        folder=folder,
        services=services,
        progress=progress,
        deadline=began + _LIMIT_SECONDS,
        victim=victim,
    )
    progress.say(f"the cluster works, {len(orders)} orders come in")
    drive.start_all(under_way)
    found = drive.watch(under_way)
    return outcome.weigh(under_way, found, time.monotonic() - began)


def _point_to_logs(services: tuple[Service, ...]) -> None:
    print("  Look for the cause in:")
    for service in services:
        print(f"    {service.log}")
    print(flush=True)


def _console(port: int, web: Service) -> str:
    """Return the console's address once it answers; raises ServiceDied."""
    address = f"http://127.0.0.1:{port}{reverse('saga_dashboard:home')}"
    limit = time.monotonic() + _WEB_READY_SECONDS
    # A proxy of the environment would not find this machine's own port.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        processes.check(web)
        try:
            with direct.open(address, timeout=5):
                return address
        except OSError as error:
            # What answers with an error will not get better by waiting.
            if isinstance(error, HTTPError) or time.monotonic() > limit:
                raise ServiceDied(
                    f"the console at {address} does not answer ({error}); see {web.log}"
                ) from error
        time.sleep(_WEB_LOOK_SECONDS)


def _stay(services: tuple[Service, ...], console: str, password: str) -> None:
    forever = threading.Event()
    try:
        print(f"  Console   {console}")
        print(f"  Login     {_LOGIN}  /  {password}")
        print("  Approve or cancel what waits; Ctrl-C ends the demo.\n", flush=True)
        while not forever.wait(1):
            for service in services:
                processes.check(service)
    except KeyboardInterrupt:
        _undisturbed()
        print("\n  Stopping the cluster and the web server ...", flush=True)
