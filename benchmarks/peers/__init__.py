"""Peers in an environment of their own, asked for samples in turns with us."""

from __future__ import annotations

from benchmarks.peers.process import Peer


def on(db: str) -> list[Peer]:
    """The peers that know *db*. Raises SystemExit where there is none."""
    found = {
        "sqlite": [Peer("DBOS", "dbos_peer", db)],
        "postgresql": [
            Peer("DBOS", "dbos_peer", db),
            Peer("absurd", "absurd_peer", db),
        ],
    }
    if db not in found:
        raise SystemExit(f"No peer runs on {db}; use --db sqlite or postgresql.")
    return found[db]
